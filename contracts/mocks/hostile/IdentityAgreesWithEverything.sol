// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Contract that answers every question with yes
contract IdentityAgreesWithEverything {
    /// @notice Answers any view.
    fallback(bytes calldata) external returns (bytes memory answer) {
        return abi.encode(true);
    }
}
