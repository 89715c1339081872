// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureCheckerLib} from "solady/src/utils/SignatureCheckerLib.sol";

/// @title Signatures of plain accounts, delegated accounts and contracts
library Signatures {
    /// @notice Returns true if `signer` signed `digest`, or currently accepts the signature (ERC-1271).
    /// @dev Tries ECDSA first, even if the signer has code, because an account with an EIP-7702 delegation keeps its
    /// key. OpenZeppelin's recovery rejects malleable signatures (high `s`, `v` other than 27 and 28) and every length
    /// other than 65 bytes. If ECDSA fails, ERC-1271 decides, for signatures of any length. Never reverts.
    /// @param signer The account; not zero.
    /// @param digest The EIP-712 digest.
    /// @param signature The signature.
    /// @return valid True if the signature is valid.
    function isSignedBy(address signer, bytes32 digest, bytes calldata signature) internal view returns (bool valid) {
        // The third value is a detail of the error, whose kind is enough here.
        // slither-disable-next-line unused-return
        (address recovered, ECDSA.RecoverError err, ) = ECDSA.tryRecoverCalldata(digest, signature);
        if (err == ECDSA.RecoverError.NoError && recovered == signer) return true;
        return SignatureCheckerLib.isValidERC1271SignatureNowCalldata(signer, digest, signature);
    }
}
