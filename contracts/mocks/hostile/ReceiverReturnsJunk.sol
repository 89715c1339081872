// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Receiver that returns the right selector with junk after it
contract ReceiverReturnsJunk {
    /// @notice Answers any call with the selector of `onERC721Received` and 28 bytes that should be zero.
    fallback(bytes calldata data) external returns (bytes memory answer) {
        return abi.encodePacked(bytes4(data), type(uint224).max);
    }
}
