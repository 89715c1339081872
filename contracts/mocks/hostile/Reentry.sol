// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title What the contracts have in common that re-enter
/// @notice They make a call that was prepared while somebody else waits for them.
abstract contract Reentry {
    /// @dev What the call may use up, so that who waits can go on when it fails.
    uint256 private constant GAS = 1_000_000;

    /// @dev Whom to call; zero: nobody.
    address private _target;

    /// @dev The calldata.
    bytes private _data;

    /// @notice Prepares the call.
    /// @dev For anybody.
    /// @param target Whom to call.
    /// @param data The calldata.
    function prepare(address target, bytes calldata data) external {
        _target = target;
        _data = data;
    }

    /// @dev Whether a call was prepared and succeeds.
    function _getsIn() internal returns (bool success) {
        if (_target == address(0)) return false;
        // Unlike a library's call, it does not use up more than it needs.
        // solhint-disable-next-line avoid-low-level-calls
        (success, ) = _target.call{gas: GAS}(_data);
    }
}
