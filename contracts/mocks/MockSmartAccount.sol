// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title Smart account with one owner, who signs for it (ERC-1271) and orders its calls (ERC-4337)
contract MockSmartAccount is IERC1271 {
    /// @notice An operation, as ERC-4337 has it.
    struct PackedUserOperation {
        address sender;
        uint256 nonce;
        bytes initCode;
        bytes callData;
        bytes32 accountGasLimits;
        uint256 preVerificationGas;
        bytes32 gasFees;
        bytes paymasterAndData;
        bytes signature;
    }

    /// @notice The contract that brings operations.
    address public constant ENTRY_POINT = 0x0000000071727De22E5E9d8BAf0edAc6f37da032;

    /// @notice The account whose signatures and orders this one follows.
    address public owner;

    /// @notice The caller is neither the owner nor the entry point.
    /// @param caller The caller.
    error NotAllowed(address caller);

    /// @param owner_ The account whose signatures and orders this one follows.
    constructor(address owner_) {
        owner = owner_;
    }

    /// @notice Calls another contract as this account.
    /// @param target The contract.
    /// @param data The calldata.
    /// @return result The returned data, ABI encoded.
    function execute(address target, bytes calldata data) external returns (bytes memory result) {
        require(msg.sender == owner || msg.sender == ENTRY_POINT, NotAllowed(msg.sender));
        return Address.functionCall(target, data);
    }

    /// @notice Tells the entry point if the owner signed an operation.
    /// @param userOp The operation.
    /// @param userOpHash What the owner signed.
    /// @return validationData 0 if so, 1 if not.
    function validateUserOp(
        PackedUserOperation calldata userOp,
        bytes32 userOpHash,
        uint256
    ) external view returns (uint256 validationData) {
        return _isSigned(userOpHash, userOp.signature) ? 0 : 1;
    }

    /// @inheritdoc IERC1271
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4 magicValue) {
        return _isSigned(hash, signature) ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }

    function _isSigned(bytes32 hash, bytes calldata signature) private view returns (bool) {
        (address signer, , ) = ECDSA.tryRecoverCalldata(hash, signature);
        return signer == owner;
    }
}
