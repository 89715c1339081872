// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Makes many calls in one transaction, as Multicall3 does
/// @notice Stands at Multicall3's own address by `anvil_setCode`. Any caller may use it.
contract MockMulticall {
    /// @notice A call.
    struct Call {
        address target;
        bytes callData;
    }

    /// @notice A call that may be allowed to fail.
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    /// @notice The answer to a call.
    struct Result {
        bool success;
        bytes returnData;
    }

    /// @notice Makes calls.
    /// @param requireSuccess True to revert if one fails.
    /// @param calls The calls.
    /// @return results Their answers.
    function tryAggregate(bool requireSuccess, Call[] calldata calls) external returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _call(calls[i].target, calls[i].callData, !requireSuccess);
        }
    }

    /// @notice Makes calls, each of which may be allowed to fail.
    /// @param calls The calls.
    /// @return results Their answers.
    function aggregate3(Call3[] calldata calls) external returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _call(calls[i].target, calls[i].callData, calls[i].allowFailure);
        }
    }

    function _call(address target, bytes calldata data, bool mayFail) private returns (Result memory result) {
        // solhint-disable-next-line avoid-low-level-calls
        (bool success, bytes memory answer) = target.call(data);
        if (!mayFail) Address.verifyCallResult(success, answer);
        return Result(success, answer);
    }
}
