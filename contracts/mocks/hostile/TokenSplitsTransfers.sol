// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentTokenWithPermit} from "../MockPaymentTokenWithPermit.sol";

/// @title Token that sends a tenth of what a spender moves to another account
/// @notice The payee's transfer is less than the payer signed.
contract TokenSplitsTransfers is MockPaymentTokenWithPermit {
    /// @notice The account that gets the fee.
    address public constant COLLECTOR = address(0xFEE);

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        super.transferFrom(from, COLLECTOR, amount / 10);
        return super.transferFrom(from, to, amount - amount / 10);
    }
}
