// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Service that checks a buyer's tier before serving it
/// @notice Implemented by `BuyerTierGated`.
interface IBuyerTierGate {
    /// @notice The address is not a buyer reputation registry: it does not report support for the interfaces through
    /// ERC-165, or it is an account with an EIP-7702 delegation.
    /// @param registry The rejected address.
    error NotABuyerRegistry(address registry);

    /// @notice The tier is too low.
    /// @param account The buyer, or the holder of a credential.
    /// @param tier Its tier.
    /// @param minimum The lowest tier that passes.
    error TierTooLow(address account, BuyerTier tier, BuyerTier minimum);

    /// @notice The caller is not the holder named in the credential.
    /// @param holder The holder.
    /// @param caller The caller.
    error CredentialOfAnother(address holder, address caller);

    /// @notice The credential's tier was assigned under a scoring policy other than the gate's.
    /// @param policy The hash of the credential's policy.
    /// @param expected The hash of the gate's policy.
    error PolicyMismatch(bytes32 policy, bytes32 expected);

    /// @notice The credential is for another gate or another use.
    /// @param scope The credential's scope.
    /// @param expected The gate's scope.
    error ScopeMismatch(bytes32 scope, bytes32 expected);

    /// @notice The credential was issued on another UTC day. A buyer's pseudonym changes every day.
    /// @param day The day of `issuedAt`, in days since the Unix epoch.
    /// @param today The day of the block.
    error EpochOver(uint256 day, uint256 today);

    /// @notice The attestor did not sign the credential, or the credential is not currently valid.
    /// @param holder The holder.
    error CredentialNotValid(address holder);

    /// @notice Returns the buyer reputation registry.
    /// @return registry The address of the registry.
    function getBuyerRegistry() external view returns (address registry);

    /// @notice Returns the scoring policy of the credentials that the gate accepts.
    /// @return policy The keccak-256 hash of its name.
    function getTierPolicy() external view returns (bytes32 policy);

    /// @notice Returns the scope of the credentials that the gate accepts.
    /// @return scope The keccak-256 hash of `abi.encode("bilateral-tier", chainId, gate)`.
    function getTierScope() external view returns (bytes32 scope);
}
