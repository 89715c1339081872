// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {HostileWallet} from "./HostileWallet.sol";

/// @title Wallet that accepts every signature
contract WalletAcceptsEverything is HostileWallet {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external pure override returns (bytes32 answer) {
        return IERC1271.isValidSignature.selector;
    }
}
