// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title On-chain anchors of a reputation service's state
/// @notice Once per epoch, a service posts the Merkle root of the states of all its buyers. Anyone can then check the
/// service's answers against the chain.
/// @dev The tree is OpenZeppelin's standard Merkle tree: a leaf is the double hash of the ABI-encoded `BuyerState`, and
/// each pair of nodes is sorted. The anchorer is set at deployment; see `IBuyerAttestation` for how it hands over its
/// role.
///
/// WARNING: a root proves that the service made the same statement to everyone at that time. It does not prove that the
/// statement was true; to verify that, compare the state with the chain's events.
///
/// Sample:
/// ```
/// require(registry.verifyBuyer(state, epoch, proof));
/// ```
interface IBuyerAnchors {
    /// @notice The state of a buyer, to which a leaf commits.
    /// @param buyer The account.
    /// @param chainId The EIP-155 id of the chain on which it paid.
    /// @param score Its score, 0 to 100.
    /// @param tier Its tier.
    /// @param payments The number of payments.
    /// @param volume The sum of their amounts, in millionths of a dollar.
    /// @param firstPaymentAt The time of the first payment, as a Unix timestamp.
    /// @param lastPaymentAt The time of the last payment, as a Unix timestamp.
    /// @param reviews The number of reviews that the buyer gave.
    /// @param reviewSum The sum of their scores.
    /// @param feedbackSellers The number of sellers that have given feedback on the buyer.
    /// @param feedbackSum The sum of their votes, rounded half up. The score is computed from the exact sum.
    /// @param disputes The number of disputes.
    /// @param policy The keccak-256 hash of the name of the scoring policy, such as `brp-1.0`.
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
    /// @param epoch The epoch passed by the caller.
    /// @param expected The next epoch.
    error UnexpectedEpoch(uint256 epoch, uint256 expected);

    /// @notice The root is zero.
    error EmptyRoot();

    /// @notice No root was posted for the epoch.
    /// @param epoch The epoch.
    error UnknownEpoch(uint256 epoch);

    /// @notice Posts the root of the next epoch.
    /// @dev Can only be called by the anchorer. The caller passes the epoch, so a repeated call reverts instead of
    /// posting the root twice. Emits `Anchored`. Reverts with the first applicable error: `NotRoleHolder`,
    /// `UnexpectedEpoch`, `EmptyRoot`. Protocol, section 8.
    /// @param epoch The epoch: 1 for the first root, and one more than the previous epoch for each later root.
    /// @param root The root of the tree.
    function anchorRoot(uint64 epoch, bytes32 root) external;

    /// @notice Returns the epoch of the next root, which is one more than the number of roots posted so far.
    /// @return epoch The epoch; 1 if no root has been posted yet.
    function getNextEpoch() external view returns (uint256 epoch);

    /// @notice Returns the root of an epoch.
    /// @param epoch The epoch.
    /// @return root The root; zero if there is none.
    function rootOf(uint256 epoch) external view returns (bytes32 root);

    /// @notice Returns whether a state is in the tree of an epoch.
    /// @dev Reverts with `UnknownEpoch`. Costs about 550 gas per element of the proof.
    /// @param state The state.
    /// @param epoch The epoch.
    /// @param proof The sibling hashes, from the leaf upwards.
    /// @return anchored True if the state is in the tree.
    function verifyBuyer(
        BuyerState calldata state,
        uint256 epoch,
        bytes32[] calldata proof
    ) external view returns (bool anchored);
}
