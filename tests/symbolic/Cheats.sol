// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title The cheat codes that the proofs use, Foundry's and halmos' own
interface ICheats {
    /// @notice Lets the next call come from an account.
    /// @param caller The account.
    function prank(address caller) external;

    /// @notice Writes a word of a contract's storage.
    /// @param target The contract.
    /// @param slot Where.
    /// @param value The word.
    function store(address target, bytes32 slot, bytes32 value) external;

    /// @notice Makes the storage of a contract unknown, but for the words that its constructor wrote.
    /// @param target The contract.
    function enableSymbolicStorage(address target) external;

    /// @notice Any account.
    /// @param name What it is called in a counterexample.
    /// @return value The account.
    function createAddress(string calldata name) external view returns (address value);

    /// @notice Any number.
    /// @param bitLength How many bits it has.
    /// @param name What it is called in a counterexample.
    /// @return value The number.
    function createUint(uint256 bitLength, string calldata name) external view returns (uint256 value);

    /// @notice Any word.
    /// @param name What it is called in a counterexample.
    /// @return value The word.
    function createBytes32(string calldata name) external view returns (bytes32 value);

    /// @notice A word of a contract's storage.
    /// @param target The contract.
    /// @param slot Where.
    /// @return value The word.
    function load(address target, bytes32 slot) external view returns (bytes32 value);

    /// @notice A switch from the environment.
    /// @param name Its name.
    /// @param otherwise What it is if it is not set.
    /// @return value Whether it is on.
    function envOr(string calldata name, bool otherwise) external view returns (bool value);

    /// @notice Leaves out all inputs for which the condition does not hold.
    /// @param condition The condition.
    function assume(bool condition) external pure;
}

/// @title Where the prover listens
abstract contract Cheats {
    /// @dev Foundry's cheat codes, of which halmos knows the most used.
    ICheats internal constant VM = ICheats(address(uint160(uint256(keccak256("hevm cheat code")))));

    /// @dev Halmos' own.
    ICheats internal constant SVM = ICheats(address(uint160(uint256(keccak256("svm cheat code")))));
}
