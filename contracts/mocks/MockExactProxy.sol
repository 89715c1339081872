// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPermit2} from "./MockPermit2.sol";
import {MockPermit2Proxy} from "./MockPermit2Proxy.sol";

/// @title Proxy of x402's scheme `exact`
/// @notice Anybody may settle, as the witness does not say who does.
contract MockExactProxy is MockPermit2Proxy {
    /// @notice What a payer signs beside the permit.
    struct Witness {
        address to;
        uint256 validAfter;
    }

    string private constant WITNESS = "Witness(address to,uint256 validAfter)";

    /// @notice Pays the signed amount.
    /// @param permit The signed permit.
    /// @param owner The account that pays.
    /// @param witness The signed payee and first second.
    /// @param signature The owner's signature.
    function settle(
        MockPermit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        _settle(permit, owner, witness, signature);
        emit Settled();
    }

    /// @notice Pays the signed amount after a permit of the token.
    /// @param permit2612 The permit of the token.
    /// @param permit The signed permit.
    /// @param owner The account that pays.
    /// @param witness The signed payee and first second.
    /// @param signature The owner's signature.
    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        MockPermit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        _approve(permit2612, permit, owner);
        _settle(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _settle(
        MockPermit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 hash = keccak256(abi.encode(keccak256(bytes(WITNESS)), witness));
        uint256 amount = permit.permitted.amount;
        _transfer(permit, amount, owner, witness.to, witness.validAfter, hash, WITNESS, signature);
    }
}
