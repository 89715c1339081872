// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Service that asks for a buyer's tier before it serves
/// @notice `BuyerTierGated` implements it.
interface IBuyerTierGate {
    /// @notice The given address is not a buyer reputation registry: it does not support the interfaces by ERC-165, or
    /// it is an account with an EIP-7702 delegation.
    /// @param registry The given address.
    error NotABuyerRegistry(address registry);

    /// @notice The tier is too low.
    /// @param account The buyer, or the holder of a credential.
    /// @param tier Its tier.
    /// @param minimum The lowest tier that passes.
    error TierTooLow(address account, BuyerTier tier, BuyerTier minimum);

    /// @notice The credential names another holder.
    /// @param holder The holder.
    /// @param caller The caller.
    error CredentialOfAnother(address holder, address caller);

    /// @notice The attestor did not sign the credential, or it is not valid now.
    /// @param holder The holder.
    error CredentialNotValid(address holder);

    /// @notice Returns the registry of the buyers.
    /// @return registry The address of the registry.
    function getBuyerRegistry() external view returns (address registry);
}
