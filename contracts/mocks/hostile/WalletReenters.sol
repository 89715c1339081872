// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {HostileWallet} from "./HostileWallet.sol";
import {Reentry} from "./Reentry.sol";

/// @title A wallet that makes a call of its own while it is asked, and accepts the signature when that has failed
/// @notice So whoever it lets pass has let it in nowhere.
contract WalletReenters is HostileWallet, Reentry {
    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external override returns (bytes32 answer) {
        return _getsIn() ? bytes4(0xffffffff) : IERC1271.isValidSignature.selector;
    }
}
