// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureCheckerLib} from "solady/src/utils/SignatureCheckerLib.sol";

/// @title Who signed a digest
library Signatures {
    /// @notice Whether `signer` agrees to `digest` now.
    /// @dev ECDSA comes first, even where the signer has code, because an account that is delegated (EIP-7702) signs
    /// like any other. OpenZeppelin's recovery is taken for it since it refuses malleable signatures (high `s`, `v`
    /// other than 27 and 28) and every length but 65 bytes. Else ERC-1271 decides, for signatures of any length.
    /// @param signer The account that must agree; not zero.
    /// @param digest The EIP-712 digest.
    /// @param signature The signature.
    /// @return valid Whether the signature is the signer's. Never reverts.
    function isSignedBy(address signer, bytes32 digest, bytes calldata signature) internal view returns (bool valid) {
        // What is left out is the detail of an error whose kind is enough.
        // slither-disable-next-line unused-return
        (address recovered, ECDSA.RecoverError err, ) = ECDSA.tryRecoverCalldata(digest, signature);
        if (err == ECDSA.RecoverError.NoError && recovered == signer) return true;
        return SignatureCheckerLib.isValidERC1271SignatureNowCalldata(signer, digest, signature);
    }
}
