// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Service that serves a buyer by a private proof of its tier
/// @notice `PrivateTierGated` implements it.
interface IPrivateTierGate {
    /// @notice The given address is not a contract of private tier proofs.
    /// @param tierProofs The given address.
    error NotTierProofs(address tierProofs);

    /// @notice The buyer behind the proof was served here on that day before.
    /// @param nullifier The nullifier of the proof.
    error TierAlreadyUsed(uint256 nullifier);

    /// @notice Returns the contract that checks proofs.
    /// @return tierProofs Its address.
    function getTierProofs() external view returns (address tierProofs);

    /// @notice Returns the scoring policy whose tiers count.
    /// @return policy The keccak-256 hash of its name.
    function getPrivateTierPolicy() external view returns (bytes32 policy);

    /// @notice Returns the scope of proofs for a day. It has no tier, so a buyer has one nullifier for all tiers.
    /// @param epoch The UTC day, in days since the beginning of Unix time.
    /// @return scope The keccak-256 hash of `abi.encode("bilateral-tier", chainId, gate, policy, epoch)`.
    function getPrivateTierScope(uint64 epoch) external view returns (bytes32 scope);

    /// @notice Tells whether a nullifier was used.
    /// @param nullifier The nullifier.
    /// @return used True if it was.
    function isNullifierUsed(uint256 nullifier) external view returns (bool used);
}
