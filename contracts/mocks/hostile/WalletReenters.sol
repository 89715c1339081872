// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {HostileWallet} from "./HostileWallet.sol";
import {Reentry} from "./Reentry.sol";

/// @title Wallet that tries a call of its own during every ERC-1271 request
/// @notice It accepts the signature if that call fails.
contract WalletReenters is HostileWallet, Reentry {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external override returns (bytes32 answer) {
        return _getsIn() ? bytes4(0xffffffff) : IERC1271.isValidSignature.selector;
    }
}
