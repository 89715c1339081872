// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {RevertReasons} from "../libraries/RevertReasons.sol";

/// @title Base of registries that are permanently bound to one identity registry
abstract contract IdentityBound {
    /// @dev The identity registry, which knows the owner of each agent and the accounts that may act for it.
    address internal immutable IDENTITY_REGISTRY;

    /// @dev Reverts with "bad identity" for an address without code, and for an account with an EIP-7702 delegation,
    /// because the key of such an account can replace its code.
    constructor(address identityRegistry) {
        require(identityRegistry.code.length != 0, RevertReasons.BAD_IDENTITY);
        require(EIP7702Utils.fetchDelegate(identityRegistry) == address(0), RevertReasons.BAD_IDENTITY);
        IDENTITY_REGISTRY = identityRegistry;
    }

    /// @notice Returns the identity registry that this registry uses.
    /// @return identityRegistry The address of the identity registry.
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return IDENTITY_REGISTRY;
    }
}
