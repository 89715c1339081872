// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

/// @title Code of an identity registry that gives every agent to one account
/// @notice An upgrade of a proxy to this code is the worst that its owner can do. Anybody may upgrade it again.
contract IdentityIsStolen is UUPSUpgradeable {
    /// @dev The account.
    address private immutable THIEF;

    /// @param thief The account that owns every agent.
    constructor(address thief) {
        THIEF = thief;
    }

    /// @notice Names the owner of any id.
    /// @return owner The thief.
    function ownerOf(uint256) external view returns (address owner) {
        return THIEF;
    }

    /// @notice Names the wallet of any id.
    /// @return wallet The thief.
    function getAgentWallet(uint256) external view returns (address wallet) {
        return THIEF;
    }

    /// @notice Lets the thief act for any id.
    /// @param spender The account.
    /// @return authorized True for the thief.
    function isAuthorizedOrOwner(address spender, uint256) external view returns (bool authorized) {
        return spender == THIEF;
    }

    /// @inheritdoc UUPSUpgradeable
    function _authorizeUpgrade(address) internal pure override {
        return;
    }
}
