// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Token that transfers nothing, and returns false or nothing at all
contract TokenReturnsFalse {
    bool private immutable IS_SILENT;

    /// @param isSilent True if a transfer returns nothing.
    constructor(bool isSilent) {
        IS_SILENT = isSilent;
    }

    /// @notice Takes every other call for a transfer, and returns false or nothing.
    // solhint-disable-next-line no-complex-fallback
    fallback() external {
        if (IS_SILENT) return;
        assembly ("memory-safe") {
            mstore(0x00, 0)
            return(0x00, 0x20)
        }
    }

    /// @notice Returns the decimals.
    /// @return count Six.
    function decimals() external pure returns (uint8 count) {
        return 6;
    }

    /// @notice Returns the same balance for every account.
    /// @return balance A million.
    function balanceOf(address) external pure returns (uint256 balance) {
        return 1_000_000;
    }
}
