// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title Permit2 of the tests: transfers by signature, and the allowances of a spender
/// @notice Stands at Permit2's own address by `anvil_setCode`, so it has no constructor and no immutables.
contract MockPermit2 {
    /// @notice A token, and the most of it that may be moved.
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    /// @notice The signed terms of a transfer.
    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    /// @notice Where money goes, and how much of it.
    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    bytes32 private constant DOMAIN = keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    string private constant PERMITTED = "TokenPermissions(address token,uint256 amount)";
    string private constant FIELDS = "(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline";

    /// @notice Returns a word of the bitmap of used and cancelled nonces, by the nonce without its lowest byte.
    mapping(address owner => mapping(uint256 word => uint256 bits)) public nonceBitmap;
    mapping(address owner => mapping(address token => mapping(address spender => uint160 amount))) private _allowances;

    /// @notice An owner cancelled nonces.
    /// @param owner The owner.
    /// @param word The number of the word of the bitmap.
    /// @param mask The cancelled bits.
    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    /// @notice The deadline is over.
    /// @param deadline The deadline, in Unix time.
    error SignatureExpired(uint256 deadline);

    /// @notice More is requested than was signed.
    /// @param maxAmount The signed amount.
    error InvalidAmount(uint256 maxAmount);

    /// @notice The nonce was used or cancelled.
    error InvalidNonce();

    /// @notice The signature of an account without code has neither 64 nor 65 bytes.
    error InvalidSignatureLength();

    /// @notice The signature is none of any account.
    error InvalidSignature();

    /// @notice Another account signed.
    error InvalidSigner();

    /// @notice The owner, a contract, does not accept the signature.
    error InvalidContractSignature();

    /// @notice The token returned false.
    error TransferFailed();

    /// @notice Moves money by a signature that covers a witness. The caller is the signed spender.
    /// @param permit The signed terms.
    /// @param transferDetails Where money goes.
    /// @param owner The account that signed and pays.
    /// @param witness The hash of the witness.
    /// @param witnessTypeString The rest of the EIP-712 type, from the field of the witness on.
    /// @param signature The owner's signature.
    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 types = keccak256(abi.encodePacked("PermitWitnessTransferFrom", FIELDS, ",", witnessTypeString));
        _transfer(permit, transferDetails, owner, abi.encodePacked(_fields(types, permit), witness), signature);
    }

    /// @notice Moves money by a signature without a witness. The caller is the signed spender.
    /// @param permit The signed terms.
    /// @param transferDetails Where money goes.
    /// @param owner The account that signed and pays.
    /// @param signature The owner's signature.
    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 types = keccak256(abi.encodePacked("PermitTransferFrom", FIELDS, ")", PERMITTED));
        _transfer(permit, transferDetails, owner, _fields(types, permit), signature);
    }

    /// @notice Cancels nonces of the caller.
    /// @param word The number of the word of the bitmap.
    /// @param mask The bits to set.
    function invalidateUnorderedNonces(uint256 word, uint256 mask) external {
        nonceBitmap[msg.sender][word] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, word, mask);
    }

    /// @notice Allows a spender to move money of the caller without a signature.
    /// @param token The token.
    /// @param spender The spender.
    /// @param amount The amount.
    function approve(address token, address spender, uint160 amount, uint48) external {
        _allowances[msg.sender][token][spender] = amount;
    }

    /// @notice Moves money by an allowance of the caller.
    /// @param from The account that pays.
    /// @param to The account that is paid.
    /// @param amount The amount.
    /// @param token The token.
    function transferFrom(address from, address to, uint160 amount, address token) external {
        _allowances[from][token][msg.sender] -= amount;
        require(IERC20(token).transferFrom(from, to, amount), TransferFailed());
    }

    /// @notice Returns the hash of the EIP-712 domain, which has no version.
    /// @return separator The hash.
    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() public view returns (bytes32 separator) {
        return keccak256(abi.encode(DOMAIN, keccak256("Permit2"), block.chainid, address(this)));
    }

    /// @dev Uses the nonce up, checks the signature, and moves the money. Like Permit2, logs nothing.
    function _transfer(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes memory message,
        bytes calldata signature
    ) private {
        require(block.timestamp <= permit.deadline, SignatureExpired(permit.deadline));
        require(details.requestedAmount <= permit.permitted.amount, InvalidAmount(permit.permitted.amount));
        uint256 bit = 1 << (permit.nonce & 255);
        uint256 bits = nonceBitmap[owner][permit.nonce >> 8];
        require(bits & bit == 0, InvalidNonce());
        nonceBitmap[owner][permit.nonce >> 8] = bits | bit;
        _check(owner, keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), keccak256(message))), signature);
        IERC20 token = IERC20(permit.permitted.token);
        require(token.transferFrom(owner, details.to, details.requestedAmount), TransferFailed());
    }

    /// @dev Chooses by code, as Permit2 does: an account with code answers by ERC-1271 alone. Any `s` is valid.
    function _check(address owner, bytes32 digest, bytes calldata signature) private view {
        if (owner.code.length > 0) {
            bytes4 answer = IERC1271(owner).isValidSignature(digest, signature);
            require(answer == IERC1271.isValidSignature.selector, InvalidContractSignature());
            return;
        }
        require(signature.length == 64 || signature.length == 65, InvalidSignatureLength());
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(uint256(s) >> 255) + 27;
        if (signature.length == 65) v = uint8(signature[64]);
        else s &= bytes32(uint256(type(int256).max));
        address signer = ecrecover(digest, v, bytes32(signature[:32]), s);
        require(signer != address(0), InvalidSignature());
        require(signer == owner, InvalidSigner());
    }

    /// @dev Encodes the fields that a permit with and one without a witness have in common.
    function _fields(bytes32 types, PermitTransferFrom calldata permit) private view returns (bytes memory encoded) {
        bytes32 permitted = keccak256(abi.encode(keccak256(bytes(PERMITTED)), permit.permitted));
        return abi.encode(types, permitted, msg.sender, permit.nonce, permit.deadline);
    }
}
