// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockWalletToken} from "../MockWalletToken.sol";

/// @title Token of which every id has an owner
contract IdentityHasEveryAgent is MockWalletToken {
    /// @notice Names an owner.
    /// @return owner This contract.
    function ownerOf(uint256) public view override returns (address owner) {
        return address(this);
    }
}
