// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IBuyerTierProofs} from "../interfaces/IBuyerTierProofs.sol";
import {IPrivateTierGate} from "../interfaces/IPrivateTierGate.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Base of services for buyers that prove a tier privately
/// @notice To use it in your own contract, inherit it and guard a function with `usesTier`. A buyer is served once per
/// day.
/// @dev The proof is bound to the caller and to a request, so that nobody can steal it from the mempool.
///
/// WARNING: yesterday's roots also count, so a buyer may be served twice within a day: once for each epoch.
///
/// Sample:
/// ```
/// function serve(IBuyerTierProofs.TierProof calldata proof, uint64 epoch)
///     external
///     usesTier(proof, BuyerTier.Trusted, epoch, 0)
/// { … }
/// ```
abstract contract PrivateTierGated is IPrivateTierGate {
    /// @dev The contract that verifies proofs.
    address internal immutable TIER_PROOFS;

    /// @dev The hash of the name of the scoring policy whose tiers count.
    bytes32 internal immutable TIER_POLICY;

    mapping(uint256 nullifier => bool used) private _usedNullifiers;

    /// @dev Requires a valid proof by the caller, and marks it as used. Reverts with `TierAlreadyUsed`, or otherwise as
    /// `IBuyerTierProofs.verifyTier` does.
    /// @param proof The proof.
    /// @param minimum The lowest tier that passes.
    /// @param epoch The UTC day of the proof: today or yesterday.
    /// @param request The hash of the request that the proof is for; zero if only the caller matters.
    modifier usesTier(IBuyerTierProofs.TierProof calldata proof, BuyerTier minimum, uint64 epoch, bytes32 request) {
        _useTier(proof, minimum, epoch, request);
        _;
    }

    /// @dev Reverts with `NotTierProofs`.
    /// @param tierProofs The contract that verifies proofs.
    /// @param policy The keccak-256 hash of the name of the scoring policy whose tiers count.
    constructor(address tierProofs, bytes32 policy) {
        bool isProofs =
            ERC165Checker.supportsInterface(tierProofs, type(IBuyerTierProofs).interfaceId) &&
                EIP7702Utils.fetchDelegate(tierProofs) == address(0);
        if (!isProofs) revert NotTierProofs(tierProofs);
        TIER_PROOFS = tierProofs;
        TIER_POLICY = policy;
    }

    /// @inheritdoc IPrivateTierGate
    function getTierProofs() external view returns (address tierProofs) {
        return TIER_PROOFS;
    }

    /// @inheritdoc IPrivateTierGate
    function getPrivateTierPolicy() external view returns (bytes32 policy) {
        return TIER_POLICY;
    }

    /// @inheritdoc IPrivateTierGate
    function isNullifierUsed(uint256 nullifier) external view returns (bool used) {
        return _usedNullifiers[nullifier];
    }

    /// @inheritdoc IPrivateTierGate
    function getPrivateTierScope(uint64 epoch) public view returns (bytes32 scope) {
        return keccak256(abi.encode("bilateral-tier", block.chainid, address(this), TIER_POLICY, epoch));
    }

    /// @dev Implements `usesTier`. The call is a view, so reentrancy is impossible.
    function _useTier(
        IBuyerTierProofs.TierProof calldata proof,
        BuyerTier minimum,
        uint64 epoch,
        bytes32 request
    ) internal {
        if (_usedNullifiers[proof.nullifier]) revert TierAlreadyUsed(proof.nullifier);
        _usedNullifiers[proof.nullifier] = true;
        bytes32 message = keccak256(abi.encode(msg.sender, request));
        bytes32 scope = getPrivateTierScope(epoch);
        IBuyerTierProofs(TIER_PROOFS).verifyTier(proof, TIER_POLICY, minimum, epoch, scope, message);
    }
}
