// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {HostileWallet} from "./HostileWallet.sol";

/// @title Wallet that accepts no signature
contract WalletRefuses is HostileWallet {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external pure override returns (bytes32 answer) {
        return bytes4(0xffffffff);
    }
}
