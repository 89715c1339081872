// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ICollector} from "./MockChannels.sol";
import {MockPermit2} from "./MockPermit2.sol";

/// @title Collector of deposits by Permit2
contract MockPermit2Collector is ICollector {
    MockPermit2 private constant PERMIT2 = MockPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    string private constant WITNESS = "DepositWitness(bytes32 channelId)";

    /// @inheritdoc ICollector
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external {
        (uint256 nonce, uint256 deadline, bytes memory signature, ) = abi.decode(
            data,
            (uint256, uint256, bytes, bytes)
        );
        PERMIT2.permitWitnessTransferFrom(
            MockPermit2.PermitTransferFrom(MockPermit2.TokenPermissions(token, amount), nonce, deadline),
            MockPermit2.SignatureTransferDetails(msg.sender, amount),
            payer,
            keccak256(abi.encode(keccak256(bytes(WITNESS)), channelId)),
            string.concat("DepositWitness witness)", WITNESS, "TokenPermissions(address token,uint256 amount)"),
            signature
        );
    }
}
