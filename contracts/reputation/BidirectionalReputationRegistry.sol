// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {LibBitmap} from "solady/src/utils/LibBitmap.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {IBidirectionalRatings} from "../interfaces/IBidirectionalRatings.sol";
import {IBidirectionalReputationRegistry} from "../interfaces/IBidirectionalReputationRegistry.sol";
import {IBlindRatings} from "../interfaces/IBlindRatings.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {BlindRatings} from "./BlindRatings.sol";
import {ReputationRegistry} from "./ReputationRegistry.sol";

/// @title Reputation registry of ERC-8004 (January 2026) with EIP-8004a's ratings of clients and validators
/// @notice A superset of `ReputationRegistry`, whose storage keeps its slots. The manuals are `IReputationRegistry`,
/// `IBidirectionalRatings`, `IBlindRatings` and `IBidirectionalReputationRegistry`.
contract BidirectionalReputationRegistry is BlindRatings, IBidirectionalReputationRegistry {
    using LibBitmap for LibBitmap.Bitmap;

    /// @dev The clients that each server has authorised, one bit each. 256 neighbouring ids share a word.
    mapping(uint256 serverId => LibBitmap.Bitmap clients) private _authorizedClients;

    /// @dev The sealed pairs. They follow the older variables, which keep their slots. `BlindRatings` shows the layout
    /// of a word.
    // Written through the reference that `_pairs` returns.
    // slither-disable-next-line uninitialized-state
    mapping(uint256 serverId => mapping(uint256 clientId => uint256 word)) private _sealedPairs;

    /// @param identityRegistry The identity registry of the agents.
    constructor(address identityRegistry) ReputationRegistry(identityRegistry) {}

    /// @inheritdoc IBidirectionalReputationRegistry
    function acceptFeedback(uint256 agentClientId, uint256 agentServerId) external {
        IAgentDirectory directory = IAgentDirectory(IDENTITY_REGISTRY);
        require(directory.agentExists(agentClientId), AgentNotFound());
        // An agent whose wallet is the caller exists. The wallet is usually the owner, so one call is enough. The zero
        // address is checked because calls can be simulated from it, and it is also the answer for an agent without a
        // wallet.
        address wallet = IIdentityRegistry(IDENTITY_REGISTRY).getAgentWallet(agentServerId);
        if (wallet != msg.sender || wallet == address(0)) {
            require(directory.agentExists(agentServerId), AgentNotFound());
            require(IERC721(IDENTITY_REGISTRY).ownerOf(agentServerId) == msg.sender, UnauthorizedFeedback());
        }
        require(agentClientId != agentServerId, SelfFeedbackNotAllowed());
        LibBitmap.Bitmap storage authorized = _authorizedClients[agentServerId];
        require(!authorized.get(agentClientId), FeedbackAlreadyAuthorized());

        authorized.set(agentClientId);
        emit AuthFeedback(agentClientId, agentServerId, _authId(agentClientId, agentServerId));
    }

    /// @inheritdoc IBidirectionalReputationRegistry
    function isFeedbackAuthorized(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool isAuthorized, bytes32 feedbackAuthId) {
        feedbackAuthId = getFeedbackAuthId(agentClientId, agentServerId);
        return (feedbackAuthId != 0, feedbackAuthId);
    }

    /// @inheritdoc IBidirectionalReputationRegistry
    function getFeedbackAuthId(
        uint256 agentClientId,
        uint256 agentServerId
    ) public view returns (bytes32 feedbackAuthId) {
        if (!_authorizedClients[agentServerId].get(agentClientId)) return 0;
        return _authId(agentClientId, agentServerId);
    }

    /// @inheritdoc ReputationRegistry
    function supportsInterface(bytes4 interfaceId) public view override returns (bool supported) {
        return
            interfaceId == type(IBidirectionalRatings).interfaceId ||
            interfaceId == type(IBlindRatings).interfaceId ||
            interfaceId == type(IBidirectionalReputationRegistry).interfaceId ||
            super.supportsInterface(interfaceId);
    }

    /// @inheritdoc BlindRatings
    function _pairs()
        internal
        view
        override
        returns (mapping(uint256 serverId => mapping(uint256 clientId => uint256 word)) storage pairs)
    {
        return _sealedPairs;
    }

    /// @dev Returns the id of a pair's only authorisation.
    function _authId(uint256 agentClientId, uint256 agentServerId) private view returns (bytes32 feedbackAuthId) {
        return keccak256(abi.encode(agentClientId, agentServerId, address(this), block.chainid));
    }
}
