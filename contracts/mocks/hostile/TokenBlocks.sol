// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentToken} from "../MockPaymentToken.sol";

/// @title Token that blocks accounts
contract TokenBlocks is MockPaymentToken {
    mapping(address account => bool) private _blocked;

    /// @notice The account is blocked.
    /// @param account The account.
    error AccountIsBlocked(address account);

    /// @notice Blocks an account.
    /// @param account The account.
    function blockAccount(address account) external {
        _blocked[account] = true;
    }

    function _beforeTokenTransfer(address from, address to, uint256) internal view override {
        require(!_blocked[from], AccountIsBlocked(from));
        require(!_blocked[to], AccountIsBlocked(to));
    }
}
