// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Anchors of a reputation service's state
/// @notice A service posts the Merkle root of all its buyers' states, once an epoch. Anybody then checks an answer of
/// the service against the chain.
/// @dev The tree is OpenZeppelin's standard tree: a leaf is the twice hashed ABI encoding of `BuyerState`, and each
/// pair of nodes is sorted. The anchorer is named at the deployment; `IBuyerAttestation` says how it hands its role
/// over.
///
/// WARNING: a root proves that the service said something, at that time, to everybody alike. It does not prove that it
/// was true: compare the state with the chain's events for that.
///
/// Sample:
/// ```
/// require(registry.verifyBuyer(state, epoch, proof));
/// ```
interface IBuyerAnchors {
    /// @notice The state of a buyer, which a leaf commits to.
    /// @param buyer The account.
    /// @param chainId The EIP-155 id of the chain of its payments.
    /// @param score Its score, 0 to 100.
    /// @param tier Its tier.
    /// @param payments The number of payments.
    /// @param volume The sum of their amounts, in millionths of a dollar.
    /// @param firstPaymentAt The time of the first payment, in Unix time.
    /// @param lastPaymentAt The time of the last payment, in Unix time.
    /// @param reviews The number of reviews that the buyer gave.
    /// @param reviewSum The sum of their scores.
    /// @param feedbackSellers The number of sellers that gave feedback on the buyer.
    /// @param feedbackSum The sum of their votes, rounded half up. The score is of the exact sum.
    /// @param disputes The number of disputes.
    /// @param policy The keccak-256 hash of the name of the scoring policy, as `brp-1.0`.
    /// @param blockNumber The last block of that chain that the state takes into account.
    struct BuyerState {
        address buyer;
        uint256 chainId;
        uint8 score;
        BuyerTier tier;
        uint256 payments;
        uint256 volume;
        uint256 firstPaymentAt;
        uint256 lastPaymentAt;
        uint256 reviews;
        uint256 reviewSum;
        uint256 feedbackSellers;
        uint256 feedbackSum;
        uint256 disputes;
        bytes32 policy;
        uint256 blockNumber;
    }

    /// @notice Emitted when a root is posted.
    /// @param epoch The epoch.
    /// @param root The root.
    event Anchored(uint256 indexed epoch, bytes32 root);

    /// @notice The epoch is not the next one.
    /// @param epoch The given epoch.
    /// @param expected The next epoch.
    error UnexpectedEpoch(uint256 epoch, uint256 expected);

    /// @notice The root is zero.
    error EmptyRoot();

    /// @notice No root was posted for the epoch.
    /// @param epoch The epoch.
    error UnknownEpoch(uint256 epoch);

    /// @notice Posts the root of the next epoch.
    /// @dev For the anchorer. The caller names the epoch, so a repeated call does nothing twice. Emits `Anchored`.
    /// Reverts, in this order, with `NotRoleHolder`, `UnexpectedEpoch`, `EmptyRoot`. Protocol, section 8.
    /// @param epoch The epoch: one more than the last, the first being 1.
    /// @param root The root of the tree.
    function anchorRoot(uint64 epoch, bytes32 root) external;

    /// @notice Returns the epoch of the next root, which is one more than the number of roots.
    /// @return epoch The epoch; 1: no root was posted yet.
    function getNextEpoch() external view returns (uint256 epoch);

    /// @notice Returns the root of an epoch.
    /// @param epoch The epoch.
    /// @return root The root; zero: none.
    function rootOf(uint256 epoch) external view returns (bytes32 root);

    /// @notice Tells whether a state is in the tree of an epoch.
    /// @dev Reverts with `UnknownEpoch`. Costs some 550 gas for each element of the proof.
    /// @param state The state.
    /// @param epoch The epoch.
    /// @param proof The sibling hashes, from the leaf up.
    /// @return anchored True if it is.
    function verifyBuyer(
        BuyerState calldata state,
        uint256 epoch,
        bytes32[] calldata proof
    ) external view returns (bool anchored);
}
