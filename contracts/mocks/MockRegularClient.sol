// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Client that repeats one call
/// @notice Fills a registry quickly: many calls in one transaction.
contract MockRegularClient {
    /// @notice Calls another contract several times.
    /// @dev Reverts with the reason of the first failed call.
    /// @param target The contract.
    /// @param data The calldata of each call.
    /// @param times The number of calls.
    function repeatCall(address target, bytes calldata data, uint256 times) external {
        for (uint256 i = 0; i < times; ++i) {
            Address.functionCall(target, data);
        }
    }
}
