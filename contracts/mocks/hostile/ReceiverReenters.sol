// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Receiver that makes a call of its own while it receives a token
contract ReceiverReenters is IERC721Receiver {
    /// @inheritdoc IERC721Receiver
    /// @dev `data` is the ABI encoding of the target and the calldata. Reverts with the reason of a failed call.
    function onERC721Received(address, address, uint256, bytes calldata data) external returns (bytes4 selector) {
        (address target, bytes memory call) = abi.decode(data, (address, bytes));
        Address.functionCall(target, call);
        return IERC721Receiver.onERC721Received.selector;
    }
}
