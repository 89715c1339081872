// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC721} from "solady/src/tokens/ERC721.sol";
import {EIP712} from "solady/src/utils/EIP712.sol";
import {LibBytes} from "solady/src/utils/LibBytes.sol";
import {LibString} from "solady/src/utils/LibString.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {RevertReasons} from "../libraries/RevertReasons.sol";
import {Signatures} from "../libraries/Signatures.sol";
import {AgentDirectory} from "./AgentDirectory.sol";

/// @title Identity registry of ERC-8004 (January 2026), with the agent directory of EIP-8004a
/// @notice Immutable: it has no owner and no proxy, and cannot be paused. The manuals are `IIdentityRegistry` and
/// `IAgentDirectory`.
contract IdentityRegistry is AgentDirectory, EIP712, IIdentityRegistry {
    using LibBytes for LibBytes.BytesStorage;
    using LibString for LibString.StringStorage;

    /// @notice The longest time from now to the deadline of a wallet signature, in seconds.
    uint256 public constant MAX_DEADLINE_DELAY = 5 minutes;

    /// @dev The hash of the wallet's metadata key. `_metadata` does not store the wallet.
    bytes32 private constant AGENT_WALLET_KEY_HASH = keccak256("agentWallet");

    bytes32 private constant AGENT_WALLET_SET_TYPEHASH = keccak256(
        "AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"
    );

    /// @dev The interface id of ERC-4906.
    bytes4 private constant ERC4906_INTERFACE_ID = 0x49064906;

    /// @dev The URI of an agent's registration file.
    mapping(uint256 agentId => LibString.StringStorage uri) private _agentURIs;

    /// @dev Metadata values by the hash of their key, excluding the wallet.
    mapping(uint256 agentId => mapping(bytes32 keyHash => LibBytes.BytesStorage value)) private _metadata;

    /// @dev The wallet of an agent whose token has the bit `EXPLICIT_WALLET`; 0 if it has no wallet. Unset without that
    /// bit.
    mapping(uint256 agentId => address wallet) private _wallets;

    /// @inheritdoc IIdentityRegistry
    function register() external returns (uint256 agentId) {
        return _enrol("");
    }

    /// @inheritdoc IIdentityRegistry
    function register(string calldata agentURI) external returns (uint256 agentId) {
        return _enrol(agentURI);
    }

    /// @inheritdoc IIdentityRegistry
    function register(string calldata agentURI, MetadataEntry[] calldata metadata) external returns (uint256 agentId) {
        agentId = _enrol(agentURI);
        for (uint256 i = 0; i < metadata.length; ++i) {
            _setMetadata(agentId, metadata[i].metadataKey, metadata[i].metadataValue);
        }
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentURI(uint256 agentId, string calldata newURI) external {
        _requireAuthorized(agentId);
        _agentURIs[agentId].set(newURI);
        emit MetadataUpdate(agentId);
        emit URIUpdated(agentId, newURI, msg.sender);
    }

    /// @inheritdoc IIdentityRegistry
    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) external {
        _requireAuthorized(agentId);
        _setMetadata(agentId, metadataKey, metadataValue);
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external {
        address owner = _requireAuthorized(agentId);
        require(newWallet != address(0), RevertReasons.BAD_WALLET);
        require(block.timestamp <= deadline, RevertReasons.EXPIRED);
        require(deadline <= block.timestamp + MAX_DEADLINE_DELAY, RevertReasons.DEADLINE_TOO_FAR);
        bytes32 digest = _hashTypedData(
            keccak256(abi.encode(AGENT_WALLET_SET_TYPEHASH, agentId, newWallet, owner, deadline))
        );
        require(Signatures.isSignedBy(newWallet, digest, signature), RevertReasons.INVALID_WALLET_SIG);

        _replaceWallet(agentId, newWallet, owner);
        _speakAsFirst(newWallet, agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function unsetAgentWallet(uint256 agentId) external {
        address owner = _requireAuthorized(agentId);
        _replaceWallet(agentId, address(0), owner);
    }

    /// @inheritdoc IIdentityRegistry
    function getMetadata(
        uint256 agentId,
        string calldata metadataKey
    ) external view returns (bytes memory metadataValue) {
        bytes32 keyHash = keccak256(bytes(metadataKey));
        if (keyHash != AGENT_WALLET_KEY_HASH) return _metadata[agentId][keyHash].get();
        address wallet = getAgentWallet(agentId);
        return wallet == address(0) ? bytes("") : abi.encodePacked(wallet);
    }

    /// @inheritdoc IIdentityRegistry
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized) {
        return _isAuthorized(ownerOf(agentId), spender, agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function getVersion() external pure returns (string memory version) {
        return "2.0.0";
    }

    /// @inheritdoc IIdentityRegistry
    function getAgentWallet(
        uint256 agentId
    ) public view override(AgentDirectory, IIdentityRegistry) returns (address wallet) {
        uint256 ownership = _token(agentId).ownership;
        return ownership & EXPLICIT_WALLET == 0 ? address(uint160(ownership)) : _wallets[agentId];
    }

    /// @inheritdoc ERC721
    function tokenURI(uint256 id) public view override returns (string memory uri) {
        ownerOf(id);
        return _agentURIs[id].get();
    }

    /// @inheritdoc ERC721
    function supportsInterface(bytes4 interfaceId) public view override returns (bool supported) {
        return
            interfaceId == type(IIdentityRegistry).interfaceId ||
            interfaceId == type(IAgentDirectory).interfaceId ||
            interfaceId == ERC4906_INTERFACE_ID ||
            super.supportsInterface(interfaceId);
    }

    /// @inheritdoc AgentDirectory
    function _enrol(string memory agentURI) internal override returns (uint256 agentId) {
        agentId = _mintNextAgent();
        if (bytes(agentURI).length != 0) _agentURIs[agentId].set(agentURI);
        emit Registered(agentId, agentURI, msg.sender);
        _emitWalletSet(agentId, msg.sender);
    }

    /// @dev Clears the wallet, which does not survive a transfer.
    function _beforeHandOver(address to, uint256 agentId, uint256 ownership) internal override {
        if (ownership & EXPLICIT_WALLET != 0) _replaceExplicitWallet(agentId, address(0), to);
        _emitWalletSet(agentId, address(0));
    }

    /// @inheritdoc EIP712
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("ERC8004IdentityRegistry", "1");
    }

    /// @dev Sets the wallet of an agent; zero clears it.
    function _replaceWallet(uint256 agentId, address newWallet, address owner) private {
        _token(agentId).ownership |= EXPLICIT_WALLET;
        _replaceExplicitWallet(agentId, newWallet, owner);
        _emitWalletSet(agentId, newWallet);
    }

    /// @dev Replaces the wallet. The agent is no longer the primary agent of the previous wallet, unless that is
    /// `owner`: the owner of the agent now, or after the transfer in progress.
    function _replaceExplicitWallet(uint256 agentId, address newWallet, address owner) private {
        address formerWallet = _wallets[agentId];
        if (formerWallet == newWallet) return;
        if (formerWallet != address(0) && formerWallet != owner) _ceaseToSpeakAs(formerWallet, agentId);
        _wallets[agentId] = newWallet;
    }

    function _setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) private {
        bytes32 keyHash = keccak256(bytes(metadataKey));
        require(keyHash != AGENT_WALLET_KEY_HASH, RevertReasons.RESERVED_KEY);
        _metadata[agentId][keyHash].setCalldata(metadataValue);
        emit MetadataSet(agentId, metadataKey, metadataKey, metadataValue);
    }

    /// @dev Emits `MetadataSet(agentId, "agentWallet", "agentWallet", value)`. The value consists of the wallet's 20
    /// bytes, or is empty for the zero address. Every registration and every transfer emits this event, and Solidity's
    /// own encoding of two constant strings costs 850 gas more.
    function _emitWalletSet(uint256 agentId, address wallet) private {
        bytes32 signature = MetadataSet.selector;
        bytes32 keyHash = AGENT_WALLET_KEY_HASH;
        assembly ("memory-safe") {
            let data := mload(0x40)
            let length := mul(20, iszero(iszero(wallet)))
            mstore(data, 0x40) // offset of the key
            mstore(add(data, 0x20), 0x80) // offset of the value
            mstore(add(data, 0x40), 11)
            mstore(add(data, 0x60), "agentWallet")
            mstore(add(data, 0x80), length)
            mstore(add(data, 0xa0), shl(96, wallet))
            log3(data, add(0xa0, shl(5, iszero(iszero(length)))), signature, agentId, keyHash)
        }
    }

    function _requireAuthorized(uint256 agentId) private view returns (address owner) {
        owner = ownerOf(agentId);
        require(_isAuthorized(owner, msg.sender, agentId), RevertReasons.NOT_AUTHORIZED);
    }
}
