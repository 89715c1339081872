// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IIdentityRegistry} from "../../interfaces/IIdentityRegistry.sol";
import {RevertReasons} from "../../libraries/RevertReasons.sol";
import {Signatures} from "../../libraries/Signatures.sol";
import {MockDeployedRegistry} from "./MockDeployedRegistry.sol";

/// @title Stand-in for the deployed identity registry
/// @notice It differs from `IdentityRegistry` as the deployed one does: the first agent has id 0, a contract that
/// registers must accept tokens, the code can be replaced, and there is no directory and no primary agent.
contract MockDeployedIdentityRegistry is MockDeployedRegistry, ERC721URIStorage, EIP712 {
    uint256 private constant MAX_DEADLINE_DELAY = 5 minutes;
    string private constant AGENT_WALLET = "agentWallet";
    bytes32 private constant AGENT_WALLET_SET_TYPEHASH = keccak256(
        "AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"
    );

    /// @dev Metadata of each agent by key, with the wallet.
    mapping(uint256 agentId => mapping(string key => bytes value)) private _metadata;

    /// @dev The id of the next agent. The first is 0.
    uint256 private _nextAgentId;

    constructor() ERC721("", "") EIP712("ERC8004IdentityRegistry", "1") {}

    /// @notice Prepares a proxy.
    /// @param owner The account that can replace the code.
    function initialize(address owner) external initializer {
        _transferOwnership(owner);
    }

    /// @notice Registers an agent without a URI.
    /// @return agentId Its id.
    function register() external returns (uint256 agentId) {
        agentId = _mintNext();
        _announce(agentId, "");
    }

    /// @notice Registers an agent.
    /// @param agentURI The URI of its registration file.
    /// @return agentId Its id.
    function register(string calldata agentURI) external returns (uint256 agentId) {
        return _register(agentURI);
    }

    /// @notice Registers an agent with metadata.
    /// @param agentURI The URI of its registration file.
    /// @param metadata The metadata, without the wallet.
    /// @return agentId Its id.
    function register(
        string calldata agentURI,
        IIdentityRegistry.MetadataEntry[] calldata metadata
    ) external returns (uint256 agentId) {
        agentId = _register(agentURI);
        for (uint256 i = 0; i < metadata.length; ++i) {
            _setOpenMetadata(agentId, metadata[i].metadataKey, metadata[i].metadataValue);
        }
    }

    /// @notice Replaces the URI of an agent.
    /// @param agentId The agent.
    /// @param newURI The new URI.
    function setAgentURI(uint256 agentId, string calldata newURI) external {
        _requireAuthorized(agentId);
        _setTokenURI(agentId, newURI);
        emit IIdentityRegistry.URIUpdated(agentId, newURI, msg.sender);
    }

    /// @notice Sets a metadata value.
    /// @param agentId The agent.
    /// @param metadataKey Any key but `agentWallet`.
    /// @param metadataValue The value.
    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) external {
        _requireAuthorized(agentId);
        _setOpenMetadata(agentId, metadataKey, metadataValue);
    }

    /// @notice Sets the wallet of an agent.
    /// @param agentId The agent.
    /// @param newWallet The wallet, which signed its consent.
    /// @param deadline The last second of the signature, at most five minutes ahead.
    /// @param signature The signature.
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external {
        address owner = _requireAuthorized(agentId);
        require(newWallet != address(0), RevertReasons.BAD_WALLET);
        require(block.timestamp <= deadline, RevertReasons.EXPIRED);
        require(deadline - block.timestamp <= MAX_DEADLINE_DELAY, RevertReasons.DEADLINE_TOO_FAR);
        bytes32 message = keccak256(abi.encode(AGENT_WALLET_SET_TYPEHASH, agentId, newWallet, owner, deadline));
        bool consents = Signatures.isSignedBy(newWallet, _hashTypedDataV4(message), signature);
        require(consents, RevertReasons.INVALID_WALLET_SIG);
        _setMetadata(agentId, AGENT_WALLET, abi.encodePacked(newWallet));
    }

    /// @notice Clears the wallet of an agent.
    /// @param agentId The agent.
    function unsetAgentWallet(uint256 agentId) external {
        _requireAuthorized(agentId);
        _setMetadata(agentId, AGENT_WALLET, "");
    }

    /// @notice Returns a metadata value.
    /// @param agentId The agent.
    /// @param metadataKey The key.
    /// @return metadataValue The value; empty if there is none.
    function getMetadata(
        uint256 agentId,
        string calldata metadataKey
    ) external view returns (bytes memory metadataValue) {
        return _metadata[agentId][metadataKey];
    }

    /// @notice Returns the wallet of an agent.
    /// @param agentId The agent.
    /// @return wallet The wallet; zero if there is none.
    function getAgentWallet(uint256 agentId) external view returns (address wallet) {
        return address(bytes20(_metadata[agentId][AGENT_WALLET]));
    }

    /// @notice Tells whether an account may act for an agent.
    /// @dev Reverts for an unknown agent.
    /// @param spender The account.
    /// @param agentId The agent.
    /// @return authorized True for its owner, operators and approved address.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized) {
        return _isAuthorized(ownerOf(agentId), spender, agentId);
    }

    /// @inheritdoc ERC721
    /// @dev A proxy has none of the storage that the token's constructor wrote.
    function name() public pure override returns (string memory) {
        return "AgentIdentity";
    }

    /// @inheritdoc ERC721
    function symbol() public pure override returns (string memory) {
        return "AGENT";
    }

    /// @dev A transfer clears the wallet first.
    function _update(address to, uint256 tokenId, address auth) internal override returns (address from) {
        if (_ownerOf(tokenId) != address(0)) _setMetadata(tokenId, AGENT_WALLET, "");
        return super._update(to, tokenId, auth);
    }

    function _register(string calldata agentURI) private returns (uint256 agentId) {
        agentId = _mintNext();
        _setTokenURI(agentId, agentURI);
        _announce(agentId, agentURI);
    }

    function _mintNext() private returns (uint256 agentId) {
        agentId = _nextAgentId;
        _nextAgentId = agentId + 1;
        _metadata[agentId][AGENT_WALLET] = abi.encodePacked(msg.sender);
        _safeMint(msg.sender, agentId);
    }

    function _announce(uint256 agentId, string memory agentURI) private {
        emit IIdentityRegistry.Registered(agentId, agentURI, msg.sender);
        _emitMetadata(agentId, AGENT_WALLET, abi.encodePacked(msg.sender));
    }

    function _setOpenMetadata(uint256 agentId, string calldata key, bytes calldata value) private {
        require(keccak256(bytes(key)) != keccak256(bytes(AGENT_WALLET)), RevertReasons.RESERVED_KEY);
        _setMetadata(agentId, key, value);
    }

    function _setMetadata(uint256 agentId, string memory key, bytes memory value) private {
        _metadata[agentId][key] = value;
        _emitMetadata(agentId, key, value);
    }

    function _emitMetadata(uint256 agentId, string memory key, bytes memory value) private {
        emit IIdentityRegistry.MetadataSet(agentId, key, key, value);
    }

    function _requireAuthorized(uint256 agentId) private view returns (address owner) {
        owner = ownerOf(agentId);
        require(_isAuthorized(owner, msg.sender, agentId), RevertReasons.NOT_AUTHORIZED);
    }
}
