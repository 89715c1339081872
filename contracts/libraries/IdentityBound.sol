// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {RevertReasons} from "./RevertReasons.sol";

/// @title A registry that is bound to one identity registry for ever
abstract contract IdentityBound {
    /// @dev The identity registry that says who owns an agent and who may act for it.
    address internal immutable IDENTITY_REGISTRY;

    /// @dev Reverts with "bad identity" for the zero address and any other without code.
    constructor(address identityRegistry) {
        require(identityRegistry.code.length != 0, RevertReasons.BAD_IDENTITY);
        IDENTITY_REGISTRY = identityRegistry;
    }

    /// @notice The identity registry that this registry asks.
    /// @return identityRegistry Its address.
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return IDENTITY_REGISTRY;
    }
}
