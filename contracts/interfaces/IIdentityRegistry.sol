// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Identity registry of ERC-8004 (January 2026)
/// @notice Gives an agent an identity: an ERC-721 token whose id is the agent's id and whose URI names the agent's
/// registration file, with on-chain metadata and a proven wallet.
/// @dev Who may act for an agent: its owner, an operator approved for all of the owner's tokens, and the address
/// approved for the token. Everybody else is refused with `Error("Not authorized")`. Functions that need the owner
/// revert with ERC-6093's `ERC721NonexistentToken(agentId)` for an unknown agent. The reason texts are those of the
/// registries that are already deployed, because their clients match on them.
///
/// Sample:
/// ```
/// uint256 agentId = registry.register("https://agent.example/registration.json");
/// address payTo = registry.getAgentWallet(agentId);
/// ```
interface IIdentityRegistry {
    /// @notice One piece of on-chain metadata.
    /// @param metadataKey The key; any string but `agentWallet`, which is reserved.
    /// @param metadataValue The value, of any length.
    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    /// @notice An agent was registered.
    /// @param agentId The new agent's id.
    /// @param agentURI The URI of its registration file; empty when it registered without one.
    /// @param owner The account that registered it and now owns its token.
    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);

    /// @notice A metadata value was set, the agent's wallet included (key `agentWallet`, value of 20 bytes or none).
    /// @param agentId The agent.
    /// @param indexedMetadataKey The key, hashed, for filters.
    /// @param metadataKey The key in clear.
    /// @param metadataValue The new value; empty when the wallet was cleared.
    event MetadataSet(
        uint256 indexed agentId,
        string indexed indexedMetadataKey,
        string metadataKey,
        bytes metadataValue
    );

    /// @notice The URI of an agent's registration file was replaced.
    /// @param agentId The agent.
    /// @param newURI The new URI.
    /// @param updatedBy The owner, operator or approved address that replaced it.
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);

    /// @notice Registers the caller's agent without a URI; it can be set later by `setAgentURI`.
    /// @dev Emits, in this order, `Transfer`, `Registered` and `MetadataSet` for `agentWallet`.
    /// @return agentId The new id: one more than the last, the first being 1.
    function register() external returns (uint256 agentId);

    /// @notice Registers the caller's agent.
    /// @dev Emits, in this order, `Transfer`, `Registered` and `MetadataSet` for `agentWallet`. FeedbackAuth FR-001 to
    /// FR-005.
    /// @param agentURI The URI of the registration file, of any length; empty is allowed.
    /// @return agentId The new id: one more than the last, the first being 1.
    function register(string calldata agentURI) external returns (uint256 agentId);

    /// @notice Registers the caller's agent with on-chain metadata.
    /// @dev Emits, in this order, `Transfer`, `Registered`, `MetadataSet` for `agentWallet`, and one `MetadataSet` per
    /// entry. Reverts with "reserved key" if an entry's key is `agentWallet`. Of equal keys the last counts.
    /// @param agentURI The URI of the registration file, of any length; empty is allowed.
    /// @param metadata The entries.
    /// @return agentId The new id: one more than the last, the first being 1.
    function register(string calldata agentURI, MetadataEntry[] calldata metadata) external returns (uint256 agentId);

    /// @notice Replaces the URI of an agent's registration file.
    /// @dev For the owner, an operator or the approved address. Emits `MetadataUpdate` (ERC-4906) and `URIUpdated`.
    /// @param agentId The agent.
    /// @param newURI The new URI, of any length; empty is allowed.
    function setAgentURI(uint256 agentId, string calldata newURI) external;

    /// @notice Sets a metadata value.
    /// @dev For the owner, an operator or the approved address. Emits `MetadataSet`. Reverts with "reserved key" for
    /// `agentWallet`, which only `setAgentWallet` may set.
    /// @param agentId The agent.
    /// @param metadataKey The key.
    /// @param metadataValue The new value, of any length.
    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) external;

    /// @notice Sets the wallet that receives the agent's payments and may speak as the agent, on proof that the wallet
    /// agrees.
    /// @dev For the owner, an operator or the approved address. The proof is an EIP-712 signature by `newWallet` over
    /// `AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)`, `owner` being the token's
    /// owner, in the domain `ERC8004IdentityRegistry` version `1`: ECDSA (65 bytes, low `s`) first, ERC-1271 else.
    /// Reverts, in this order, with "bad wallet" for the zero address, "expired" after the deadline, "deadline too far"
    /// for a deadline more than 5 minutes ahead, "invalid wallet sig". Emits `MetadataSet`. Makes the agent the
    /// wallet's primary agent if it has none, and ends the former wallet's speaking for it, unless that is the owner.
    /// WARNING: a signature may be used again until its deadline, by those who may act for the agent, as long as or as
    /// soon as the owner is the one whom it names.
    /// @param agentId The agent.
    /// @param newWallet The wallet: an externally owned account, a delegated one (EIP-7702), or a contract.
    /// @param deadline The last second, in Unix time, in which the signature is taken.
    /// @param signature The wallet's signature.
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external;

    /// @notice Leaves the agent without a wallet.
    /// @dev For the owner, an operator or the approved address. Emits `MetadataSet` with an empty value.
    /// @param agentId The agent.
    function unsetAgentWallet(uint256 agentId) external;

    /// @notice Reads a metadata value.
    /// @param agentId The agent.
    /// @param metadataKey The key; `agentWallet` answers with the 20 bytes of the wallet, or nothing if there is none.
    /// @return metadataValue The value; empty if it was never set or the agent is unknown.
    function getMetadata(
        uint256 agentId,
        string calldata metadataKey
    ) external view returns (bytes memory metadataValue);

    /// @notice The wallet that receives the agent's payments.
    /// @dev At registration it is the owner. Every transfer and `unsetAgentWallet` leave none.
    /// @param agentId The agent.
    /// @return wallet The wallet; zero if there is none or the agent is unknown.
    function getAgentWallet(uint256 agentId) external view returns (address wallet);

    /// @notice Whether an account may act for an agent: it owns the token, is an operator of the owner, or is approved
    /// for the token.
    /// @dev The wallet alone may not. The reputation registries use this to refuse feedback on one's own agent.
    /// @param spender The account.
    /// @param agentId The agent.
    /// @return authorized Whether it may.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized);

    /// @notice The version of the ERC-8004 surface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
