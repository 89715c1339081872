// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentTokenWithPermit} from "./MockPaymentTokenWithPermit.sol";
import {MockPermit2} from "./MockPermit2.sol";

/// @title What both proxies of x402 have in common
/// @notice They stand at their own addresses by `anvil_setCode`, so they have no constructor and no immutables.
abstract contract MockPermit2Proxy {
    /// @notice A permit of the token for Permit2 (EIP-2612).
    struct EIP2612Permit {
        uint256 value;
        uint256 deadline;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    MockPermit2 internal constant PERMIT2 = MockPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    /// @notice A payment was settled.
    event Settled();

    /// @notice A payment was settled after a permit of the token.
    event SettledWithPermit();

    /// @notice The amount is zero.
    error InvalidAmount();

    /// @notice The owner is the zero address.
    error InvalidOwner();

    /// @notice The payee is the zero address.
    error InvalidDestination();

    /// @notice The time is before `validAfter`.
    error PaymentTooEarly();

    /// @notice The permit of the token is about another amount than the payment.
    error Permit2612AmountMismatch();

    /// @dev Uses a permit of the token. A failure is ignored: somebody else may have used it first.
    function _approve(
        EIP2612Permit calldata permit2612,
        MockPermit2.PermitTransferFrom calldata permit,
        address owner
    ) internal {
        require(permit2612.value == permit.permitted.amount, Permit2612AmountMismatch());
        MockPaymentTokenWithPermit token = MockPaymentTokenWithPermit(permit.permitted.token);
        (uint8 v, bytes32 r, bytes32 s) = (permit2612.v, permit2612.r, permit2612.s);
        // solhint-disable-next-line no-empty-blocks
        try token.permit(owner, address(PERMIT2), permit2612.value, permit2612.deadline, v, r, s) {} catch {}
    }

    /// @dev Moves the money by Permit2.
    function _transfer(
        MockPermit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        address to,
        uint256 validAfter,
        bytes32 witness,
        string memory witnessType,
        bytes calldata signature
    ) internal {
        require(amount > 0, InvalidAmount());
        require(owner != address(0), InvalidOwner());
        require(to != address(0), InvalidDestination());
        require(block.timestamp >= validAfter, PaymentTooEarly());
        MockPermit2.SignatureTransferDetails memory details = MockPermit2.SignatureTransferDetails(to, amount);
        string memory types = string.concat(
            "Witness witness)TokenPermissions(address token,uint256 amount)",
            witnessType
        );
        PERMIT2.permitWitnessTransferFrom(permit, details, owner, witness, types, signature);
    }
}
