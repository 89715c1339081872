// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockPaymentToken} from "./MockPaymentToken.sol";

/// @title Payment token of the tests that Permit2 needs an allowance of, as USDC
/// @notice Has permits (EIP-2612) and `receiveWithAuthorization` (EIP-3009). Reads no immutables, so that
/// `anvil_setCode` may put it anywhere.
contract MockPaymentTokenWithPermit is MockPaymentToken {
    bytes32 private constant RECEIVE_TYPEHASH = keccak256(
        // solhint-disable-next-line max-line-length
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    /// @notice The caller is not the account to be paid.
    /// @param caller The caller.
    error CallerIsNotPayee(address caller);

    /// @notice Transfers tokens to the caller by an authorization.
    /// @param from The account that pays and signed.
    /// @param to The account that is paid, and calls.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second before the authorization is valid.
    /// @param validBefore The first second after it.
    /// @param nonce Its nonce.
    /// @param signature The signature.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        require(to == msg.sender, CallerIsNotPayee(msg.sender));
        _transferBy(RECEIVE_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature);
    }

    function _domainNameAndVersionMayChange() internal pure override returns (bool) {
        return true;
    }

    function _givePermit2InfiniteAllowance() internal pure override returns (bool) {
        return false;
    }

    /// @dev Permits have the domain of the other signatures.
    function _versionHash() internal pure override returns (bytes32) {
        return keccak256("2");
    }
}
