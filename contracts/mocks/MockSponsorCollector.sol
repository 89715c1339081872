// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {ICollector} from "./MockChannels.sol";

/// @title Collector that takes the money from an account other than the payer
/// @notice Anybody may choose it, so a deposit in the name of a payer proves nothing about the payer.
contract MockSponsorCollector is ICollector {
    /// @notice The token returned false.
    error TransferFailed();

    /// @inheritdoc ICollector
    /// @dev `data` is the sponsor's address. The sponsor approves this contract before.
    function collect(address, address token, uint256 amount, bytes32, bytes calldata data) external {
        require(IERC20(token).transferFrom(abi.decode(data, (address)), msg.sender, amount), TransferFailed());
    }
}
