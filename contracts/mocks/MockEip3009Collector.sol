// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {ICollector} from "./MockChannels.sol";
import {MockPaymentTokenWithPermit} from "./MockPaymentTokenWithPermit.sol";

/// @title Collector of deposits by EIP-3009
contract MockEip3009Collector is ICollector {
    /// @notice The token returned false.
    error TransferFailed();

    /// @inheritdoc ICollector
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external {
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) = abi.decode(
            data,
            (uint256, uint256, uint256, bytes)
        );
        bytes32 nonce = keccak256(abi.encode(channelId, salt));
        MockPaymentTokenWithPermit(token).receiveWithAuthorization(
            payer,
            address(this),
            amount,
            validAfter,
            validBefore,
            nonce,
            signature
        );
        require(IERC20(token).transfer(msg.sender, amount), TransferFailed());
    }
}
