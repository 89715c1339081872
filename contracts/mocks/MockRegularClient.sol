// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title A client that says the same thing many times
/// @notice Fills a registry quickly: many calls in one transaction.
contract MockRegularClient {
    /// @notice Calls another contract, again and again.
    /// @dev Reverts with the reason of the first call that does.
    /// @param target The contract.
    /// @param data The calldata of each call.
    /// @param times How many calls.
    function repeatCall(address target, bytes calldata data, uint256 times) external {
        for (uint256 i = 0; i < times; ++i) {
            Address.functionCall(target, data);
        }
    }
}
