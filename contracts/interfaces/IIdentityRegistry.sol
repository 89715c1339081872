// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Identity registry of ERC-8004 (January 2026)
/// @notice Gives an agent an identity: an ERC-721 token whose id is the agent's id and whose URI points to the agent's
/// registration file, with on-chain metadata and a verified wallet.
/// @dev Three kinds of accounts may act for an agent: its owner, an operator approved for all of the owner's tokens,
/// and the address approved for the token. For any other caller, functions revert with `Error("Not authorized")`.
/// Functions that need the owner revert with ERC-6093's `ERC721NonexistentToken(agentId)` for an unknown agent. The
/// revert strings are those of the deployed registries, because clients compare them.
///
/// Sample:
/// ```
/// uint256 agentId = registry.register("https://agent.example/registration.json");
/// address payTo = registry.getAgentWallet(agentId);
/// ```
interface IIdentityRegistry {
    /// @notice An entry of on-chain metadata.
    /// @param metadataKey The key; any string except `agentWallet`, which is reserved.
    /// @param metadataValue The value, of any length.
    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    /// @notice Emitted when an agent is registered.
    /// @param agentId The new agent's id.
    /// @param agentURI The URI of its registration file; empty if it has none.
    /// @param owner The account that registered it and now owns its token.
    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);

    /// @notice Emitted when a metadata value changes. The wallet has the key `agentWallet`; its value has 20 bytes or
    /// is empty.
    /// @param agentId The agent.
    /// @param indexedMetadataKey The hash of the key, for filtering.
    /// @param metadataKey The key.
    /// @param metadataValue The new value; empty for a cleared wallet.
    event MetadataSet(
        uint256 indexed agentId,
        string indexed indexedMetadataKey,
        string metadataKey,
        bytes metadataValue
    );

    /// @notice Emitted when the URI of an agent's registration file changes.
    /// @param agentId The agent.
    /// @param newURI The new URI.
    /// @param updatedBy The owner, operator or approved address that changed it.
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);

    /// @notice Registers an agent for the caller without a URI, which can be set later with `setAgentURI`.
    /// @dev Emits, in this order, `Transfer`, `Registered` and `MetadataSet` for `agentWallet`.
    /// @return agentId The new id: 1 for the first agent, and one more than the previous id for each later agent.
    function register() external returns (uint256 agentId);

    /// @notice Registers an agent for the caller with a URI.
    /// @dev Emits, in this order, `Transfer`, `Registered` and `MetadataSet` for `agentWallet`. FeedbackAuth FR-001 to
    /// FR-005.
    /// @param agentURI The URI of the registration file, of any length; may be empty.
    /// @return agentId The new id: 1 for the first agent, and one more than the previous id for each later agent.
    function register(string calldata agentURI) external returns (uint256 agentId);

    /// @notice Registers an agent for the caller with a URI and on-chain metadata.
    /// @dev Emits, in this order, `Transfer`, `Registered`, `MetadataSet` for `agentWallet`, and one `MetadataSet` per
    /// entry. Reverts with "reserved key" if an entry's key is `agentWallet`. If several entries have the same key, the
    /// last one wins.
    /// @param agentURI The URI of the registration file, of any length; may be empty.
    /// @param metadata The entries.
    /// @return agentId The new id: 1 for the first agent, and one more than the previous id for each later agent.
    function register(string calldata agentURI, MetadataEntry[] calldata metadata) external returns (uint256 agentId);

    /// @notice Replaces the URI of an agent's registration file.
    /// @dev Can only be called by the owner, an operator, or the approved address. Emits `MetadataUpdate` (ERC-4906)
    /// and `URIUpdated`.
    /// @param agentId The agent.
    /// @param newURI The new URI, of any length; may be empty.
    function setAgentURI(uint256 agentId, string calldata newURI) external;

    /// @notice Sets a metadata value.
    /// @dev Can only be called by the owner, an operator, or the approved address. Emits `MetadataSet`. Reverts with
    /// "reserved key" for `agentWallet`, which only `setAgentWallet` may set.
    /// @param agentId The agent.
    /// @param metadataKey The key.
    /// @param metadataValue The new value, of any length.
    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) external;

    /// @notice Sets the wallet, which receives the agent's payments and may choose the agent as its primary agent. The
    /// wallet must prove its consent.
    /// @dev Can only be called by the owner, an operator, or the approved address. The proof is an EIP-712 signature by
    /// `newWallet` of `AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)`, where `owner`
    /// is the token's owner, in the domain `ERC8004IdentityRegistry` version `1`. It is verified with ECDSA (65 bytes,
    /// low `s`) first, and otherwise with ERC-1271. Reverts with the first applicable error: "bad wallet" for the zero
    /// address, "expired" after the deadline, "deadline too far" for a deadline more than 5 minutes ahead,
    /// "invalid wallet sig". Emits `MetadataSet`. If the wallet has no primary agent, the agent becomes its primary
    /// agent. It is no longer the primary agent of the previous wallet, unless that is the owner.
    /// WARNING: accounts that may act for the agent can reuse a signature until its deadline, as long as the agent
    /// belongs to the owner named in it.
    /// @param agentId The agent.
    /// @param newWallet The wallet: an externally owned account, a delegated account (EIP-7702), or a contract.
    /// @param deadline The last second in which the signature is valid, as a Unix timestamp.
    /// @param signature The wallet's signature.
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external;

    /// @notice Clears the wallet of an agent.
    /// @dev Can only be called by the owner, an operator, or the approved address. Emits `MetadataSet` with an empty
    /// value.
    /// @param agentId The agent.
    function unsetAgentWallet(uint256 agentId) external;

    /// @notice Returns a metadata value.
    /// @param agentId The agent.
    /// @param metadataKey The key; `agentWallet` returns the 20 bytes of the wallet, or no bytes if there is no wallet.
    /// @return metadataValue The value; empty if it was never set or the agent is unknown.
    function getMetadata(
        uint256 agentId,
        string calldata metadataKey
    ) external view returns (bytes memory metadataValue);

    /// @notice Returns the wallet, which receives the agent's payments.
    /// @dev At registration, the wallet is the owner. Every transfer clears it, and so does `unsetAgentWallet`.
    /// @param agentId The agent.
    /// @return wallet The wallet; zero if the agent has no wallet or is unknown.
    function getAgentWallet(uint256 agentId) external view returns (address wallet);

    /// @notice Returns whether an account may act for an agent: it owns the token, is an operator of the owner, or is
    /// approved for the token.
    /// @dev Being the wallet is not sufficient. The reputation registries use this function to reject self-feedback.
    /// @param spender The account.
    /// @param agentId The agent.
    /// @return authorized True if the account may act for the agent.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized);

    /// @notice Returns the version of the ERC-8004 interface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
