// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTierGated} from "bilateral/contracts/buyers/BuyerTierGated.sol";
import {BuyerTier} from "bilateral/contracts/libraries/BuyerScore.sol";

contract TrustedBuyers is BuyerTierGated {
    uint256 public served;

    constructor(address registry, bytes32 policy) BuyerTierGated(registry, policy) {}

    function serve() external onlyBuyerTier(msg.sender, BuyerTier.Trusted) {
        ++served;
    }
}
