// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title Token without wallets that reverts with data for a function that it lacks
/// @notice As a diamond (ERC-2535) does. The revert looks like that for an unknown agent.
contract IdentityRefusesUnknownFunctions is ERC721 {
    /// @notice The contract lacks the function.
    /// @param selector The function.
    error UnknownFunction(bytes4 selector);

    constructor() ERC721("", "") {}

    /// @notice Reverts.
    fallback() external {
        revert UnknownFunction(msg.sig);
    }
}
