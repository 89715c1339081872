// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";

/// @title Proxy of a stand-in for a deployed registry (ERC-1967)
/// @notice OpenZeppelin's proxy under a name that the project's own build lists.
contract MockDeployedProxy is ERC1967Proxy {
    /// @param implementation The code of the registry.
    /// @param initialization The call that initialises it.
    constructor(address implementation, bytes memory initialization) ERC1967Proxy(implementation, initialization) {}
}
