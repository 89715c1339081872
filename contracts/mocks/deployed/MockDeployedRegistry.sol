// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

/// @title Base of the stand-ins for the deployed ERC-8004 registries
/// @notice Each stands behind `MockDeployedProxy`, and the proxy's owner can replace the code, as on the real chains.
/// The stand-ins have the functions, events and reason texts of the deployed registries, and none of their code.
abstract contract MockDeployedRegistry is Initializable, Ownable, UUPSUpgradeable {
    /// @dev The implementation itself cannot be initialised: only a proxy has an owner who can replace the code.
    constructor() Ownable(msg.sender) {
        _disableInitializers();
    }

    /// @notice Returns the version of the surface.
    /// @return version Always "2.0.0".
    function getVersion() external pure returns (string memory version) {
        return "2.0.0";
    }

    /// @inheritdoc UUPSUpgradeable
    function _authorizeUpgrade(address) internal view override {
        _checkOwner();
    }
}
