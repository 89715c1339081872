// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Cheat codes of Foundry and halmos that the proofs use
interface ICheats {
    /// @notice Sets the sender of the next call.
    /// @param caller The account.
    function prank(address caller) external;

    /// @notice Sets the time of the block.
    /// @param time The time, in Unix time.
    function warp(uint256 time) external;

    /// @notice Writes a word of a contract's storage.
    /// @param target The contract.
    /// @param slot The slot.
    /// @param value The word.
    function store(address target, bytes32 slot, bytes32 value) external;

    /// @notice Makes the storage of a contract symbolic, except the words that its constructor wrote.
    /// @param target The contract.
    function enableSymbolicStorage(address target) external;

    /// @notice Returns a symbolic account.
    /// @param name The name in a counterexample.
    /// @return value The account.
    function createAddress(string calldata name) external view returns (address value);

    /// @notice Returns a symbolic number.
    /// @param bitLength The number of bits.
    /// @param name The name in a counterexample.
    /// @return value The number.
    function createUint(uint256 bitLength, string calldata name) external view returns (uint256 value);

    /// @notice Returns a symbolic word.
    /// @param name The name in a counterexample.
    /// @return value The word.
    function createBytes32(string calldata name) external view returns (bytes32 value);

    /// @notice Returns a word of a contract's storage.
    /// @param target The contract.
    /// @param slot The slot.
    /// @return value The word.
    function load(address target, bytes32 slot) external view returns (bytes32 value);

    /// @notice Returns a boolean environment variable.
    /// @param name The name of the variable.
    /// @param otherwise The value if the variable is not set.
    /// @return value The value.
    function envOr(string calldata name, bool otherwise) external view returns (bool value);

    /// @notice Excludes all inputs that do not meet a condition.
    /// @param condition The condition.
    function assume(bool condition) external pure;
}

/// @title Addresses of the cheat codes
abstract contract Cheats {
    /// @dev Foundry's cheat codes. halmos implements the common ones.
    ICheats internal constant VM = ICheats(address(uint160(uint256(keccak256("hevm cheat code")))));

    /// @dev halmos' own cheat codes.
    ICheats internal constant SVM = ICheats(address(uint160(uint256(keccak256("svm cheat code")))));
}
