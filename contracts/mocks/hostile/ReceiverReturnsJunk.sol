// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title A contract that takes part in a safe transfer with the right selector and junk behind it
contract ReceiverReturnsJunk {
    /// @notice Answers whatever call with the selector of `onERC721Received` and 28 bytes that should be zero.
    fallback(bytes calldata data) external returns (bytes memory answer) {
        return abi.encodePacked(bytes4(data), type(uint224).max);
    }
}
