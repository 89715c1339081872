// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {ERC20} from "solady/src/tokens/ERC20.sol";
import {EIP712} from "solady/src/utils/EIP712.sol";

/// @title Payment token of the tests
/// @notice An ERC-20 token with six decimals and transfers by signature (EIP-3009), as x402's `exact` scheme uses it.
contract MockPaymentToken is ERC20, EIP712 {
    bytes32 private constant TRANSFER_TYPEHASH = keccak256(
        // solhint-disable-next-line max-line-length
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant CANCEL_TYPEHASH = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    /// @notice Tells for an authorization of an account if it was used or cancelled.
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    /// @notice An authorization was used.
    /// @param authorizer The account that signed it.
    /// @param nonce Its nonce.
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    /// @notice An authorization was cancelled.
    /// @param authorizer The account that signed it.
    /// @param nonce Its nonce.
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    /// @notice The authorization is used or cancelled.
    /// @param nonce Its nonce.
    error AuthorizationIsUsed(bytes32 nonce);

    /// @notice The time is before `validAfter`, or not before `validBefore`.
    /// @param time The time of the block, in Unix time.
    error AuthorizationIsNotValidAt(uint256 time);

    /// @notice The authorizer did not sign this.
    /// @param authorizer The account that should have signed.
    error InvalidAuthorizationSignature(address authorizer);

    /// @notice Transfers tokens by an authorization, whose signature is in parts.
    /// @param from The account that pays and signed.
    /// @param to The account that is paid.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second before the authorization is valid.
    /// @param validBefore The first second after it.
    /// @param nonce Its nonce.
    /// @param v The signature's recovery id.
    /// @param r The signature's first half.
    /// @param s The signature's second half.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes memory signature = abi.encodePacked(r, s, v);
        _transferBy(TRANSFER_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature);
    }

    /// @notice Transfers tokens by an authorization.
    /// @param from The account that pays and signed.
    /// @param to The account that is paid.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second before the authorization is valid.
    /// @param validBefore The first second after it.
    /// @param nonce Its nonce.
    /// @param signature The signature: of a key, or one that a contract accepts (ERC-1271).
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        _transferBy(TRANSFER_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature);
    }

    /// @notice Cancels an authorization that is not used yet.
    /// @param authorizer The account that signed it, and this.
    /// @param nonce Its nonce.
    /// @param signature The signature of the cancellation.
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes calldata signature) external {
        _use(authorizer, nonce, keccak256(abi.encode(CANCEL_TYPEHASH, authorizer, nonce)), signature);
        emit AuthorizationCanceled(authorizer, nonce);
    }

    /// @notice Gives tokens to an account.
    /// @param account The account.
    /// @param value The amount, in the token's smallest unit.
    function mint(address account, uint256 value) external {
        _mint(account, value);
    }

    /// @inheritdoc ERC20
    function decimals() public view virtual override returns (uint8 count) {
        return 6;
    }

    /// @inheritdoc ERC20
    function name() public pure override returns (string memory) {
        return "Test Dollar";
    }

    /// @inheritdoc ERC20
    function symbol() public pure override returns (string memory) {
        return "TUSD";
    }

    /// @dev Transfers tokens by an authorization that is valid between two times.
    function _transferBy(
        bytes32 typehash,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) internal {
        bool isValid = validAfter < block.timestamp && block.timestamp < validBefore;
        require(isValid, AuthorizationIsNotValidAt(block.timestamp));
        bytes32 message = keccak256(abi.encode(typehash, from, to, value, validAfter, validBefore, nonce));
        _use(from, nonce, message, signature);
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    /// @inheritdoc EIP712
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("Test Dollar", "2");
    }

    /// @dev Checks the signature of an authorization, and marks its nonce as used.
    function _use(address authorizer, bytes32 nonce, bytes32 message, bytes memory signature) private {
        mapping(bytes32 nonce => bool) storage states = authorizationState[authorizer];
        require(!states[nonce], AuthorizationIsUsed(nonce));
        bytes32 digest = _hashTypedData(message);
        (address signer, , ) = ECDSA.tryRecover(digest, signature);
        // The signer's code is looked at only if ECDSA fails, which saves a payment 2,600 gas.
        bool isSigned = signer == authorizer || SignatureChecker.isValidSignatureNow(authorizer, digest, signature);
        require(isSigned && authorizer != address(0), InvalidAuthorizationSignature(authorizer));
        states[nonce] = true;
    }
}
