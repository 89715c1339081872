// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Private proofs of a buyer's tier
/// @notice A buyer proves that it has at least a given tier, without revealing its account, its exact tier or its
/// history.
/// @dev Each UTC day, the attestor of the buyer registry posts the roots of three trees for each scoring policy,
/// containing the buyers that have at least the tier `Verified`, `Trusted` or `Premium` respectively. A leaf is a
/// buyer's Semaphore v4 identity commitment, and the trees are Semaphore's (LeanIMT, Poseidon). Anyone can build them
/// from the published list, to which the roots therefore commit. A proof is a Semaphore v4 proof for the circuit of
/// depth 20, so it reveals nothing about the number of members. Buyer Reputation Protocol, section 8.3.
///
/// WARNING: a proof hides which member acts, and nothing else. A wallet that was funded from the buyer's main wallet
/// gives the buyer away. In a group of five, anyone can tell that the buyer is one of these five.
///
/// WARNING: `verifyTier` does not count uses. A proof passes as often as it is presented, so store its nullifier, as
/// `PrivateTierGated` does. Never store the proof's points instead: anyone can change them to other points that also
/// verify.
///
/// WARNING: a buyer that has lost its tier can still prove it until the roots that include the buyer expire, at most
/// two days later.
interface IBuyerTierProofs {
    /// @notice A proof, with the numbers in Semaphore's order.
    /// @param nullifier Identifies the member within one scope: it is the same for every proof that uses the same
    /// secret, whatever the tier.
    /// @param points The three points of the Groth16 proof.
    struct TierProof {
        uint256 nullifier;
        uint256[8] points;
    }

    /// @notice Emitted when the roots of a day are posted. `rootsOf` returns them.
    /// @param epoch The UTC day, in days since the Unix epoch.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    event TierRootsPosted(uint256 indexed epoch, bytes32 indexed policy);

    /// @notice The address is not a buyer reputation registry.
    /// @param registry The rejected address.
    error NotABuyerRegistry(address registry);

    /// @notice The address of the verifier has no code, or has the code of an EIP-7702 delegation.
    /// @param verifier The rejected address.
    error NotAVerifier(address verifier);

    /// @notice The caller is not the attestor of the buyer registry.
    /// @param caller The caller.
    error NotTheAttestor(address caller);

    /// @notice The epoch is not today (for roots), or neither today nor yesterday (for a proof).
    /// @param epoch The epoch passed by the caller.
    /// @param today The UTC day of the block.
    error EpochOver(uint256 epoch, uint256 today);

    /// @notice The root is zero, or not below the order of the scalar field.
    /// @param root The root passed by the caller.
    error RootOutOfRange(uint256 root);

    /// @notice The roots for this policy and day have already been posted. Roots cannot be replaced.
    /// @param policy The hash of the policy's name.
    /// @param epoch The epoch.
    error RootsAlreadyPosted(bytes32 policy, uint256 epoch);

    /// @notice No root was posted for this policy, day and tier. There is never a root for `New`.
    /// @param policy The hash of the policy's name.
    /// @param epoch The epoch.
    /// @param minimum The tier.
    error UnknownRoot(bytes32 policy, uint256 epoch, BuyerTier minimum);

    /// @notice A number in the proof is not below the order of its field.
    /// @param number The number.
    error ProofMalformed(uint256 number);

    /// @notice The proof is not valid for this tree, scope and message.
    /// @param nullifier The proof's nullifier.
    error ProofRefused(uint256 nullifier);

    /// @notice Posts today's roots.
    /// @dev Can only be called by the attestor of the buyer registry, once per policy and day. The root of a tier
    /// without members is 1, which no tree has. Emits `TierRootsPosted`. Reverts with the first applicable error:
    /// `NotTheAttestor`, `EpochOver`, `RootsAlreadyPosted`, `RootOutOfRange`. The registry does not check the trees:
    /// compare them with the published list.
    /// @param epoch The UTC day of the block, in days since the Unix epoch.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    /// @param roots The roots of the trees for `Verified`, `Trusted` and `Premium`.
    function postTierRoots(uint64 epoch, bytes32 policy, uint256[3] calldata roots) external;

    /// @notice Verifies a proof. Returns nothing, and reverts if the proof is invalid.
    /// @dev Reverts with the first applicable error: `EpochOver`, `UnknownRoot`, `ProofMalformed`, `ProofRefused`. It
    /// also reverts if there is too little gas: a direct call needs about 300,000. The caller chooses the message; bind
    /// it to the account that may use the proof, as `PrivateTierGated` does.
    /// @param proof The proof.
    /// @param policy The keccak-256 hash of the name of the scoring policy.
    /// @param minimum The lowest tier that passes. Its tree also includes buyers of higher tiers.
    /// @param epoch The UTC day of the roots: today or yesterday.
    /// @param scope The place and day of use, for which each buyer has one nullifier.
    /// @param message The use to which the proof is bound.
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
    /// @param epoch The UTC day, in days since the Unix epoch.
    /// @return roots The roots for `Verified`, `Trusted` and `Premium`; all zero if none were posted.
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
