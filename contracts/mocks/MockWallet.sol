// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title A contract wallet with one key
/// @notice Signs by ERC-1271 whatever its key has signed, and sends whatever its key tells it to.
contract MockWallet is IERC1271, ERC721Holder {
    /// @notice The account whose signatures and orders the wallet follows.
    address public immutable KEY;

    /// @notice Only the key may send from the wallet.
    /// @param caller Who tried.
    error NotKey(address caller);

    /// @param key The account whose signatures and orders the wallet follows.
    constructor(address key) {
        KEY = key;
    }

    /// @notice Calls another contract as the wallet.
    /// @dev For the key only. Reverts with the reason of the call.
    /// @param target The contract.
    /// @param data The calldata.
    /// @return result What the call returned, ABI encoded.
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
