// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Commit and reveal of one rating a pair, as textbooks have it
/// @notice The measure beside which the gas of blind ratings stands. Each side sends two transactions.
contract MockCommitReveal {
    mapping(address rater => mapping(address subject => bytes32 commitment)) private _commitments;
    mapping(address rater => mapping(address subject => uint256 rating)) private _ratings;

    /// @notice Both sides have not committed, the rating is already open, or it is not the committed one.
    error NotOpenable();

    /// @notice The caller has already committed.
    error AlreadyCommitted();

    /// @notice Stores a commitment.
    /// @param subject The rated account.
    /// @param commitment The keccak256 of the rating and a salt.
    function commit(address subject, bytes32 commitment) external {
        require(_commitments[msg.sender][subject] == 0, AlreadyCommitted());
        _commitments[msg.sender][subject] = commitment;
    }

    /// @notice Opens the caller's rating after both sides committed.
    /// @param subject The rated account.
    /// @param rating The rating.
    /// @param salt The salt.
    function reveal(address subject, uint8 rating, bytes32 salt) external {
        require(_commitments[subject][msg.sender] != 0, NotOpenable());
        require(_commitments[msg.sender][subject] == keccak256(abi.encodePacked(rating, salt)), NotOpenable());
        require(_ratings[msg.sender][subject] == 0, NotOpenable());
        _ratings[msg.sender][subject] = uint256(rating) + 1;
    }
}
