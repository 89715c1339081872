// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title A witness that hears hundreds of views in one call
/// @notice It passes on hashes of what it hears, so that whoever knows what to expect compares a few bytes.
contract MockWitness {
    /// @notice Asks questions, and says for each what came back.
    /// @param questions The questions one after the other: whom to ask in 20 bytes, the calldata's length in 2, the
    /// calldata.
    /// @param count How many they are.
    /// @return answers For each the keccak256 of one byte, 1 if the call succeeded and 0 if it reverted, followed by
    /// what it returned or reverted with.
    function hear(bytes calldata questions, uint256 count) external view returns (bytes32[] memory answers) {
        answers = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 end = 22 + uint16(bytes2(questions[20:22]));
            (bool success, bytes memory data) = address(bytes20(questions[:20])).staticcall(questions[22:end]);
            answers[i] = keccak256(abi.encodePacked(success, data));
            questions = questions[end:];
        }
    }

    /// @notice How much ether an account has.
    /// @param account The account.
    /// @return amount In wei.
    function etherOf(address account) external view returns (uint256 amount) {
        return account.balance;
    }
}
