// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Registry with an identity registry and no other function
/// @notice For tests of deployments: it needs another contract, which must be deployed first.
contract MockRegistry {
    /// @dev The identity registry.
    address private immutable IDENTITY_REGISTRY;

    /// @notice The identity registry has no code.
    /// @param identityRegistry The given address.
    error NotAContract(address identityRegistry);

    /// @param identityRegistry The identity registry.
    constructor(address identityRegistry) {
        require(identityRegistry.code.length != 0, NotAContract(identityRegistry));
        IDENTITY_REGISTRY = identityRegistry;
    }

    /// @notice Returns the identity registry that this registry uses.
    /// @return identityRegistry Its address.
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return IDENTITY_REGISTRY;
    }
}
