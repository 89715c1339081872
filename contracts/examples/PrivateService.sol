// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {PrivateTierGated} from "../buyers/PrivateTierGated.sol";
import {IBuyerTierProofs} from "../interfaces/IBuyerTierProofs.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Example: a service for trusted buyers, which it cannot tell apart
/// @notice A buyer calls from a fresh account, and is served once per day.
contract PrivateService is PrivateTierGated {
    /// @notice Emitted when a buyer is served.
    /// @param nullifier Identifies the buyer, for this service and day only.
    /// @param request The hash of the request.
    event Served(uint256 indexed nullifier, bytes32 request);

    /// @param tierProofs The contract that verifies proofs.
    /// @param policy The keccak-256 hash of the name of the scoring policy whose tiers count.
    constructor(address tierProofs, bytes32 policy) PrivateTierGated(tierProofs, policy) {}

    /// @notice Serves the caller if a trusted buyer made the proof for it.
    /// @param proof The proof.
    /// @param epoch The UTC day of the proof: today or yesterday.
    /// @param request The hash of the request.
    function serve(
        IBuyerTierProofs.TierProof calldata proof,
        uint64 epoch,
        bytes32 request
    ) external usesTier(proof, BuyerTier.Trusted, epoch, request) {
        emit Served(proof.nullifier, request);
    }
}
