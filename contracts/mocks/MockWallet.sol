// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title Contract wallet with one key
/// @notice Accepts signatures of its key (ERC-1271), and sends the calls that its key orders.
contract MockWallet is IERC1271, ERC721Holder {
    /// @notice The account whose signatures and orders the wallet follows.
    address public immutable KEY;

    /// @notice The caller is not the key.
    /// @param caller The caller.
    error NotKey(address caller);

    /// @param key The account whose signatures and orders the wallet follows.
    constructor(address key) {
        KEY = key;
    }

    /// @notice Calls another contract as the wallet.
    /// @dev For the key only. Reverts with the reason of a failed call.
    /// @param target The contract.
    /// @param data The calldata.
    /// @return result The returned data, ABI encoded.
    function execute(address target, bytes calldata data) external returns (bytes memory result) {
        require(msg.sender == KEY, NotKey(msg.sender));
        return Address.functionCall(target, data);
    }

    /// @inheritdoc IERC1271
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4 magicValue) {
        (address signer, , ) = ECDSA.tryRecoverCalldata(hash, signature);
        return signer == KEY ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
