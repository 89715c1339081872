// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Caller of hundreds of views in one call
/// @notice Returns hashes of the answers, so a test compares a few bytes with its expectation.
contract MockWitness {
    /// @notice Calls views and returns a hash of each answer.
    /// @param questions The calls one after the other: the contract in 20 bytes, the length of the calldata in 2
    /// bytes, the calldata.
    /// @param count The number of calls.
    /// @return answers The keccak256 of each answer: one byte, 1 for success and 0 for a revert, then the returned
    /// data.
    function hear(bytes calldata questions, uint256 count) external view returns (bytes32[] memory answers) {
        answers = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 end = 22 + uint16(bytes2(questions[20:22]));
            (bool success, bytes memory data) = address(bytes20(questions[:20])).staticcall(questions[22:end]);
            answers[i] = keccak256(abi.encodePacked(success, data));
            questions = questions[end:];
        }
    }

    /// @notice Returns the ether of an account.
    /// @param account The account.
    /// @return amount In wei.
    function etherOf(address account) external view returns (uint256 amount) {
        return account.balance;
    }
}
