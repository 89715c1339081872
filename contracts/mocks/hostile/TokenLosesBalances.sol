// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Token that tells no balance
contract TokenLosesBalances {
    /// @notice True if the question for a balance reverts; false if it returns no data.
    bool public refuses;

    /// @notice No balance is told.
    /// @param account The account.
    error NoBalance(address account);

    /// @notice Makes the question for a balance revert.
    function refuse() external {
        refuses = true;
    }

    /// @notice Returns nothing, or reverts.
    /// @param account The account.
    function balanceOf(address account) external view {
        require(!refuses, NoBalance(account));
    }

    /// @notice Returns the decimals.
    /// @return count Six.
    function decimals() external pure returns (uint8 count) {
        return 6;
    }
}
