// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title A contract that makes many calls in one transaction
/// @notice Any caller may use it.
contract MockBatcher {
    /// @notice Calls another contract several times.
    /// @dev Reverts with the reason of the first failed call.
    /// @param target The contract.
    /// @param calls The calldata of each call.
    function executeAll(address target, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; ++i) {
            Address.functionCall(target, calls[i]);
        }
    }
}
