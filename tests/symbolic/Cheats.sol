// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

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

    /// @notice Makes the storage of a contract unknown, whatever was written to it before.
    /// @param target The contract.
    function enableSymbolicStorage(address target) external;

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
