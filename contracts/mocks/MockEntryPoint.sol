// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockSmartAccount} from "./MockSmartAccount.sol";

/// @title Entry point of the tests: runs the operations of many accounts in one transaction (ERC-4337)
/// @notice Stands at the entry point's own address by `anvil_setCode`. It charges nothing and knows no paymasters.
contract MockEntryPoint {
    mapping(address account => mapping(uint256 nonce => bool isUsed)) private _used;

    /// @notice An operation was run. Its logs stand before this one.
    /// @param userOpHash The hash that its account signed.
    /// @param sender The account.
    /// @param paymaster The account that paid the gas; here always zero.
    /// @param nonce The operation's nonce.
    /// @param success False if its call failed.
    /// @param actualGasCost Here always zero.
    /// @param actualGasUsed Here always zero.
    event UserOperationEvent(
        bytes32 indexed userOpHash,
        address indexed sender,
        address indexed paymaster,
        uint256 nonce,
        bool success,
        uint256 actualGasCost,
        uint256 actualGasUsed
    );

    /// @notice An account refuses an operation, or its nonce was used.
    /// @param opIndex The operation's place.
    /// @param reason Why.
    error FailedOp(uint256 opIndex, string reason);

    /// @notice Runs operations. Anybody may, as the bundler. A call that fails leaves the others as they are.
    /// @param ops The operations.
    function handleOps(MockSmartAccount.PackedUserOperation[] calldata ops, address payable) external {
        for (uint256 i = 0; i < ops.length; ++i) {
            MockSmartAccount.PackedUserOperation calldata op = ops[i];
            bytes32 hash = getUserOpHash(op);
            require(!_used[op.sender][op.nonce], FailedOp(i, "AA25 invalid account nonce"));
            _used[op.sender][op.nonce] = true;
            require(MockSmartAccount(op.sender).validateUserOp(op, hash, 0) == 0, FailedOp(i, "AA24 signature error"));
            (bool success, ) = op.sender.call(op.callData); // solhint-disable-line avoid-low-level-calls
            emit UserOperationEvent(hash, op.sender, address(0), op.nonce, success, 0, 0);
        }
    }

    /// @notice Returns what an account signs.
    /// @param op The operation.
    /// @return hash The hash of all but the signature.
    function getUserOpHash(MockSmartAccount.PackedUserOperation calldata op) public view returns (bytes32 hash) {
        bytes32 call = keccak256(op.callData);
        return keccak256(abi.encode(op.sender, op.nonce, call, block.chainid, address(this)));
    }
}
