// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentToken} from "../MockPaymentToken.sol";

/// @title Token whose decimals change
contract TokenChangesDecimals is MockPaymentToken {
    uint8 private _decimals = 6;

    /// @notice Changes the decimals.
    /// @param count The decimals from now on.
    function change(uint8 count) external {
        _decimals = count;
    }

    /// @inheritdoc MockPaymentToken
    function decimals() public view override returns (uint8 count) {
        return _decimals;
    }
}
