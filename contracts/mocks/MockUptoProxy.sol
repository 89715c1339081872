// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPermit2} from "./MockPermit2.sol";
import {MockPermit2Proxy} from "./MockPermit2Proxy.sol";

/// @title Proxy of x402's scheme `upto`
/// @notice The signed facilitator settles, once, any amount up to the signed one.
contract MockUptoProxy is MockPermit2Proxy {
    /// @notice What a payer signs beside the permit.
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    string private constant WITNESS = "Witness(address to,address facilitator,uint256 validAfter)";

    /// @notice More is charged than was signed.
    error AmountExceedsPermitted();

    /// @notice The caller is not the signed facilitator.
    error UnauthorizedFacilitator();

    /// @notice Pays an amount.
    /// @param permit The signed permit.
    /// @param amount The amount.
    /// @param owner The account that pays.
    /// @param witness The signed payee, facilitator and first second.
    /// @param signature The owner's signature.
    function settle(
        MockPermit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        _settle(permit, amount, owner, witness, signature);
        emit Settled();
    }

    /// @notice Pays an amount after a permit of the token.
    /// @param permit2612 The permit of the token.
    /// @param permit The signed permit.
    /// @param amount The amount.
    /// @param owner The account that pays.
    /// @param witness The signed payee, facilitator and first second.
    /// @param signature The owner's signature.
    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        MockPermit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        _approve(permit2612, permit, owner);
        _settle(permit, amount, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _settle(
        MockPermit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        require(msg.sender == witness.facilitator, UnauthorizedFacilitator());
        require(amount <= permit.permitted.amount, AmountExceedsPermitted());
        bytes32 hash = keccak256(abi.encode(keccak256(bytes(WITNESS)), witness));
        _transfer(permit, amount, owner, witness.to, witness.validAfter, hash, WITNESS, signature);
    }
}
