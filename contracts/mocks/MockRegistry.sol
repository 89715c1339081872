// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title A registry that knows its identity registry, and nothing else
/// @notice For tests of deployments: it depends on another contract, and that one must be there first.
contract MockRegistry {
    /// @dev The identity registry.
    address private immutable IDENTITY_REGISTRY;

    /// @notice The identity registry has no code.
    /// @param identityRegistry What was given.
    error NotAContract(address identityRegistry);

    /// @param identityRegistry The identity registry.
    constructor(address identityRegistry) {
        require(identityRegistry.code.length != 0, NotAContract(identityRegistry));
        IDENTITY_REGISTRY = identityRegistry;
    }

    /// @notice The identity registry that this registry relies on.
    /// @return identityRegistry Its address.
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return IDENTITY_REGISTRY;
    }
}
