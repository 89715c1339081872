// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockSmartAccount} from "./MockSmartAccount.sol";

/// @title Factory of smart accounts, whose addresses are fixed before they are deployed
contract MockSmartAccountFactory {
    /// @notice Deploys an account. Does nothing if it is there.
    /// @param owner Its owner.
    /// @param salt Tells accounts of one owner apart.
    /// @return account Its address.
    function createAccount(address owner, uint256 salt) external returns (address account) {
        account = getAddress(owner, salt);
        if (account.code.length == 0) new MockSmartAccount{salt: bytes32(salt)}(owner);
    }

    /// @notice Returns the address of an account.
    /// @param owner Its owner.
    /// @param salt Tells accounts of one owner apart.
    /// @return account Its address.
    function getAddress(address owner, uint256 salt) public view returns (address account) {
        bytes32 code = keccak256(abi.encodePacked(type(MockSmartAccount).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", this, salt, code)))));
    }
}
