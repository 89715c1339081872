// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {HostileWallet} from "./HostileWallet.sol";

/// @title A wallet that reverts when it is asked
contract WalletReverts is HostileWallet {
    /// @notice The wallet does not answer.
    error NoAnswer();

    /// @inheritdoc HostileWallet
    function isValidSignature(bytes32, bytes calldata) external pure override returns (bytes32 answer) {
        revert NoAnswer();
    }
}
