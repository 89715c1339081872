// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTierGated} from "../buyers/BuyerTierGated.sol";
import {IBuyerCredentials} from "../interfaces/IBuyerCredentials.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Example: a service for trusted buyers
/// @notice Shows both gates: a buyer calls from its own account, or from a fresh one with a credential.
contract DiscountedService is BuyerTierGated {
    /// @notice The number of calls by account.
    mapping(address account => uint256 count) public served;

    /// @notice The number of calls by holders of credentials, by the pseudonym of the buyer behind them.
    mapping(bytes32 pseudonym => uint256 count) public servedHolders;

    /// @notice The number of pseudonyms that have been served.
    uint256 public pseudonyms;

    /// @param registry The buyer reputation registry.
    /// @param policy The keccak-256 hash of the name of the scoring policy whose tiers count in credentials.
    constructor(address registry, bytes32 policy) BuyerTierGated(registry, policy) {}

    /// @notice Serves the caller if it is a trusted buyer.
    function serve() external onlyBuyerTier(msg.sender, BuyerTier.Trusted) {
        ++served[msg.sender];
    }

    /// @notice Serves the caller if it holds a credential of a trusted buyer. All holders of a buyer count as one
    /// customer.
    /// @param credential The credential.
    /// @param signature The attestor's signature.
    function serveHolder(
        IBuyerCredentials.TierCredential calldata credential,
        bytes calldata signature
    ) external onlyTierHolder(credential, signature, BuyerTier.Trusted) {
        if (servedHolders[credential.pseudonym] == 0) ++pseudonyms;
        ++servedHolders[credential.pseudonym];
    }
}
