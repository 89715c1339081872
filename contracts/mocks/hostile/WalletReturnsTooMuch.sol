// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {HostileWallet} from "./HostileWallet.sol";

/// @title Wallet that accepts with a megabyte of extra data
/// @notice Whoever copies all of it pays dearly.
contract WalletReturnsTooMuch is HostileWallet {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external pure override returns (bytes32 answer) {
        bytes4 yes = IERC1271.isValidSignature.selector;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, yes)
            return(data, 1000000)
        }
    }
}
