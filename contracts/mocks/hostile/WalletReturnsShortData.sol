// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {HostileWallet} from "./HostileWallet.sol";

/// @title Wallet that accepts with 4 bytes instead of 32
contract WalletReturnsShortData is HostileWallet {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external pure override returns (bytes32 answer) {
        bytes4 yes = IERC1271.isValidSignature.selector;
        assembly ("memory-safe") {
            mstore(0x00, yes)
            return(0x00, 4)
        }
    }
}
