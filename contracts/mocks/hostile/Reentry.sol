// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Base of the contracts that re-enter
/// @notice They make a prepared call while their caller waits for them.
abstract contract Reentry {
    /// @dev The gas limit of the call. It leaves the caller enough gas to go on after a failure.
    uint256 private constant GAS = 1_000_000;

    /// @dev The target of the call; zero: no call.
    address private _target;

    /// @dev The calldata.
    bytes private _data;

    /// @notice Prepares the call.
    /// @dev For anybody.
    /// @param target The target.
    /// @param data The calldata.
    function prepare(address target, bytes calldata data) external {
        _target = target;
        _data = data;
    }

    /// @dev Makes the prepared call. Returns true if a call was prepared and succeeds.
    function _getsIn() internal returns (bool success) {
        if (_target == address(0)) return false;
        // Unlike a library's call, it does not use up more than it needs.
        // solhint-disable-next-line avoid-low-level-calls
        (success, ) = _target.call{gas: GAS}(_data);
    }
}
