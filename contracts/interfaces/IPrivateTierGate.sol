// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Service that checks a private proof of a buyer's tier before serving the buyer
/// @notice Implemented by `PrivateTierGated`.
interface IPrivateTierGate {
    /// @notice The address is not a contract that verifies private tier proofs.
    /// @param tierProofs The rejected address.
    error NotTierProofs(address tierProofs);

    /// @notice The buyer behind the proof has already been served here on that day.
    /// @param nullifier The nullifier of the proof.
    error TierAlreadyUsed(uint256 nullifier);

    /// @notice Returns the contract that verifies proofs.
    /// @return tierProofs Its address.
    function getTierProofs() external view returns (address tierProofs);

    /// @notice Returns the scoring policy whose tiers count.
    /// @return policy The keccak-256 hash of its name.
    function getPrivateTierPolicy() external view returns (bytes32 policy);

    /// @notice Returns the scope of proofs for a day. It does not include the tier, so a buyer has the same nullifier
    /// for all tiers.
    /// @param epoch The UTC day, in days since the Unix epoch.
    /// @return scope The keccak-256 hash of `abi.encode("bilateral-tier", chainId, gate, policy, epoch)`.
    function getPrivateTierScope(uint64 epoch) external view returns (bytes32 scope);

    /// @notice Returns whether a nullifier has been used.
    /// @param nullifier The nullifier.
    /// @return used True if it has been used.
    function isNullifierUsed(uint256 nullifier) external view returns (bool used);
}
