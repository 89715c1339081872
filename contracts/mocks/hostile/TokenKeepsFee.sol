// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentToken} from "../MockPaymentToken.sol";

/// @title Token that keeps a hundredth of each transfer
contract TokenKeepsFee is MockPaymentToken {
    function _afterTokenTransfer(address from, address to, uint256 amount) internal override {
        if (from != address(0) && to != address(0)) _burn(to, amount / 100);
    }
}
