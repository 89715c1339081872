// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {BuyerTierGated} from "../buyers/BuyerTierGated.sol";
import {IBuyerCredentials} from "../interfaces/IBuyerCredentials.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Example: a service for trusted buyers
/// @notice Shows both gates: a buyer calls from its own account, or from a fresh one with a credential.
contract DiscountedService is BuyerTierGated {
    /// @notice The number of calls by account.
    mapping(address account => uint256 count) public served;

    /// @param registry The registry of the buyers.
    constructor(address registry) BuyerTierGated(registry) {}

    /// @notice Serves the caller if it is a trusted buyer.
    function serve() external onlyBuyerTier(msg.sender, BuyerTier.Trusted) {
        ++served[msg.sender];
    }

    /// @notice Serves the caller if it holds a credential of a trusted buyer.
    /// @param credential The credential.
    /// @param signature The attestor's signature.
    function serveHolder(
        IBuyerCredentials.TierCredential calldata credential,
        bytes calldata signature
    ) external onlyTierHolder(credential, signature, BuyerTier.Trusted) {
        ++served[msg.sender];
    }
}
