// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {HostileWallet} from "./HostileWallet.sol";

/// @title Wallet that accepts with one bit set in the bytes that must be zero
contract WalletReturnsDirtyMagic is HostileWallet {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external pure override returns (bytes32 answer) {
        return bytes32(IERC1271.isValidSignature.selector) | bytes32(uint256(1));
    }
}
