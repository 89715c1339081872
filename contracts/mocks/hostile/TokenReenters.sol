// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentToken} from "../MockPaymentToken.sol";
import {Reentry} from "./Reentry.sol";

/// @title Token that makes a prepared call before each transfer
contract TokenReenters is MockPaymentToken, Reentry {
    /// @notice The number of prepared calls that succeeded.
    uint256 public entered;

    function _beforeTokenTransfer(address from, address, uint256) internal override {
        if (from != address(0) && entered == 0 && _getsIn()) ++entered;
    }
}
