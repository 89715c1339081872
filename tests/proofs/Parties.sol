// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Cheats} from "./Cheats.sol";
import {ObservedIdentityRegistry} from "./ObservedIdentityRegistry.sol";

/// @title Contract wallet that accepts or rejects a signature
contract UnpredictableWallet is Cheats {
    /// @notice Answers as ERC-1271 asks.
    /// @return answer Any value.
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4 answer) {
        return bytes4(SVM.createBytes32("answer"));
    }
}

/// @title Receiver that checks an invariant when it receives a token
contract WatchingReceiver {
    /// @notice True if the invariant held.
    bool public saw;

    ObservedIdentityRegistry private _registry;
    address private _account;

    /// @notice Sets the invariant to check.
    /// @param registry The registry.
    /// @param account The account of the invariant.
    function watch(ObservedIdentityRegistry registry, address account) external {
        (_registry, _account) = (registry, account);
    }

    /// @notice Checks the invariant, and accepts the token (ERC-721).
    /// @return magic The selector of this function.
    function onERC721Received(address, address, uint256, bytes calldata) external returns (bytes4 magic) {
        saw = _registry.speaksRightly(_account);
        return this.onERC721Received.selector;
    }
}

/// @title Identity registry with arbitrary answers
/// @notice The answers come from its storage, which is symbolic in the proofs.
contract UnpredictableIdentity {
    /// @notice The primary agent of an account.
    mapping(address account => uint256 agentId) public agentOf;

    /// @notice The number of agents.
    uint256 public getAgentCount;

    /// @notice True if an agent exists.
    mapping(uint256 agentId => bool exists) public agentExists;

    /// @notice The wallet of an agent.
    mapping(uint256 agentId => address wallet) public getAgentWallet;

    /// @notice The owner of an agent.
    mapping(uint256 agentId => address owner) public ownerOf;

    /// @notice True if an account may act for an agent.
    mapping(address spender => mapping(uint256 agentId => bool authorized)) public isAuthorizedOrOwner;

    /// @notice Returns the data that a rating needs.
    /// @param rater The account that rates.
    /// @param subjectId The rated agent.
    /// @return raterId The rating agent.
    /// @return subjectExists True if the rated agent exists.
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists) {
        return (agentOf[rater], agentExists[subjectId]);
    }
}
