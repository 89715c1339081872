// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Private proofs of a buyer's tier
/// @notice A buyer proves that it has at least a tier, and shows neither its account, its exact tier nor its history.
/// @dev Each UTC day, the attestor of the buyer registry posts the roots of three trees for each scoring policy: the
/// buyers that have at least `Verified`, `Trusted` and `Premium`. A leaf is a buyer's Semaphore v4 identity commitment,
/// and the trees are Semaphore's (LeanIMT, Poseidon). Everybody can build them from the published list, so the roots
/// commit to it. A proof is one of Semaphore v4, by the circuit of depth 20: it says nothing about the number of
/// members. Buyer Reputation Protocol, section 8.3.
///
/// WARNING: a proof hides which member acts, and nothing else. A wallet that the buyer's main wallet funded shows the
/// buyer. In a group of five, one of five acts.
///
/// WARNING: `verifyTier` does not count. One proof passes as often as it is shown: store the nullifier, as
/// `PrivateTierGated` does. Never store the proof's points instead: anybody can change them, and they still verify.
///
/// WARNING: a buyer that lost its tier proves it until the roots that contain it expire: two days at most.
interface IBuyerTierProofs {
    /// @notice A proof, in Semaphore's order of numbers.
    /// @param nullifier The member in one scope: the same for every proof of one secret there, whatever the tier.
    /// @param points The three points of the Groth16 proof.
    struct TierProof {
        uint256 nullifier;
        uint256[8] points;
    }

    /// @notice Emitted when the roots of a day are posted. `rootsOf` returns them.
    /// @param epoch The UTC day, in days since the beginning of Unix time.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    event TierRootsPosted(uint256 indexed epoch, bytes32 indexed policy);

    /// @notice The given address is not a buyer reputation registry.
    /// @param registry The given address.
    error NotABuyerRegistry(address registry);

    /// @notice The given address of the verifier has no code, or the code of an EIP-7702 delegation.
    /// @param verifier The given address.
    error NotAVerifier(address verifier);

    /// @notice The caller is not the attestor of the buyer registry.
    /// @param caller The caller.
    error NotTheAttestor(address caller);

    /// @notice The epoch is not today for roots, or neither today nor yesterday for a proof.
    /// @param epoch The given epoch.
    /// @param today The UTC day of the block.
    error EpochOver(uint256 epoch, uint256 today);

    /// @notice The root is zero, or not below the order of the scalar field.
    /// @param root The given root.
    error RootOutOfRange(uint256 root);

    /// @notice The roots of this policy and day were posted before. Nobody can replace a root.
    /// @param policy The hash of the policy's name.
    /// @param epoch The epoch.
    error RootsAlreadyPosted(bytes32 policy, uint256 epoch);

    /// @notice No root was posted for this policy, day and tier. There is never one for `New`.
    /// @param policy The hash of the policy's name.
    /// @param epoch The epoch.
    /// @param minimum The tier.
    error UnknownRoot(bytes32 policy, uint256 epoch, BuyerTier minimum);

    /// @notice A number of the proof is not below the order of its field.
    /// @param number The number.
    error ProofMalformed(uint256 number);

    /// @notice The proof is not valid for this tree, scope and message.
    /// @param nullifier The proof's nullifier.
    error ProofRefused(uint256 nullifier);

    /// @notice Posts the roots of today.
    /// @dev For the attestor of the buyer registry, once for each policy and day. A tier without members has root 1,
    /// which no tree has. Emits `TierRootsPosted`. Reverts, in this order, with `NotTheAttestor`, `EpochOver`,
    /// `RootsAlreadyPosted`, `RootOutOfRange`. The trees are not checked: compare them with the published list.
    /// @param epoch The UTC day of the block, in days since the beginning of Unix time.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    /// @param roots The roots of the trees for `Verified`, `Trusted` and `Premium`.
    function postTierRoots(uint64 epoch, bytes32 policy, uint256[3] calldata roots) external;

    /// @notice Checks a proof, and returns nothing. It reverts for a proof that is not valid.
    /// @dev Reverts, in this order, with `EpochOver`, `UnknownRoot`, `ProofMalformed`, `ProofRefused`. With too little
    /// gas it reverts too: a call by hand needs some 300,000. The message is of the caller's choice; bind it to the
    /// account that may use the proof, as `PrivateTierGated` does.
    /// @param proof The proof.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    /// @param minimum The lowest tier that passes. Buyers of higher tiers are in its tree, too.
    /// @param epoch The UTC day of the roots: today or yesterday.
    /// @param scope The place and day of use, for which there is one nullifier a buyer.
    /// @param message The use that the proof is bound to.
    function verifyTier(
        TierProof calldata proof,
        bytes32 policy,
        BuyerTier minimum,
        uint64 epoch,
        bytes32 scope,
        bytes32 message
    ) external view;

    /// @notice Returns the roots of a day.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    /// @param epoch The UTC day, in days since the beginning of Unix time.
    /// @return roots The roots for `Verified`, `Trusted` and `Premium`; all zero: none were posted.
    function rootsOf(bytes32 policy, uint256 epoch) external view returns (uint256[3] memory roots);

    /// @notice Returns the registry whose attestor posts the roots.
    /// @return registry The address of the registry.
    function getBuyerRegistry() external view returns (address registry);

    /// @notice Returns the identity registry of the buyer registry.
    /// @return identityRegistry The address of the identity registry.
    function getIdentityRegistry() external view returns (address identityRegistry);

    /// @notice Returns Semaphore's verifier.
    /// @return verifier The address of the verifier.
    function getProofVerifier() external view returns (address verifier);
}
