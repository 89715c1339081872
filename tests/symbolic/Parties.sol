// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Cheats} from "./Cheats.sol";
import {ObservedIdentityRegistry} from "./ObservedIdentityRegistry.sol";

/// @title A contract wallet that may agree to a signature or not
contract UnpredictableWallet is Cheats {
    /// @notice ERC-1271.
    /// @return answer Anything.
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4 answer) {
        return bytes4(SVM.createBytes32("answer"));
    }
}

/// @title A receiver of tokens that looks at an invariant when it gets one
contract WatchingReceiver {
    /// @notice Whether it held.
    bool public saw;

    ObservedIdentityRegistry private _registry;
    address private _account;

    /// @notice Says what to look at.
    /// @param registry The registry.
    /// @param account The account whose primary agent matters.
    function watch(ObservedIdentityRegistry registry, address account) external {
        (_registry, _account) = (registry, account);
    }

    /// @notice ERC-721.
    /// @return magic Its agreement.
    function onERC721Received(address, address, uint256, bytes calldata) external returns (bytes4 magic) {
        saw = _registry.speaksRightly(_account);
        return this.onERC721Received.selector;
    }
}

/// @title An identity registry of which nothing is known but that it answers
/// @notice Its answers are what happens to be in its storage, which the proofs leave unknown.
contract UnpredictableIdentity {
    /// @notice The agent that an account speaks as.
    mapping(address account => uint256 agentId) public agentOf;

    /// @notice How many agents there are.
    uint256 public getAgentCount;

    /// @notice Whether an agent exists.
    mapping(uint256 agentId => bool exists) public agentExists;

    /// @notice The wallet of an agent.
    mapping(uint256 agentId => address wallet) public getAgentWallet;

    /// @notice The owner of an agent.
    mapping(uint256 agentId => address owner) public ownerOf;

    /// @notice Whether somebody may act for an agent.
    mapping(address spender => mapping(uint256 agentId => bool authorized)) public isAuthorizedOrOwner;

    /// @notice What a rating needs to know.
    /// @param rater Who rates.
    /// @param subjectId The agent that is rated.
    /// @return raterId The agent that rates.
    /// @return subjectExists Whether the other one exists.
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists) {
        return (agentOf[rater], agentExists[subjectId]);
    }
}
