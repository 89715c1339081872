// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Credentials that prove a buyer's tier from another address
/// @notice Contracts can accept a credential that the attestor has signed.
/// @dev A credential names a holder, which may be a fresh address, so a buyer can prove its tier without revealing its
/// main wallet. A credential is EIP-712 typed data in the domain `BuyerReputationRegistry` version `1`, of the type
/// `TierCredential(address holder,uint64 issuedAt,uint64 validUntil,bytes32 policy,uint8 tier,bytes32 scope,bytes32
/// pseudonym)`, on one line. It is valid for at most one day, and becomes invalid immediately when the attestor hands
/// over its role.
///
/// WARNING: the attestor knows which buyer is behind a holder, and there is only its word for it that two credentials
/// belong to the same buyer. A buyer can let someone else use a holder's key.
///
/// WARNING: `verifyCredential` does not check the holder, the policy or the scope, and does not count uses.
/// `BuyerTierGated` does all of this except counting. Count customers by `pseudonym`, because one buyer may have
/// several holders.
interface IBuyerCredentials {
    /// @notice A statement by the attestor about the buyer behind an address.
    /// @param holder The address that may use the credential.
    /// @param issuedAt The first second in which the credential is valid, as a Unix timestamp.
    /// @param validUntil The last second in which it is valid, as a Unix timestamp; at most one day later.
    /// @param policy The keccak-256 hash of the name of the scoring policy, such as `brp-1.0`.
    /// @param tier The tier of the buyer behind the holder.
    /// @param scope The place where it is used; see `BuyerTierGated` for how the scope of a gate is derived.
    /// @param pseudonym The buyer's pseudonym in that scope on the UTC day of `issuedAt`, which is the same for all its
    /// holders.
    struct TierCredential {
        address holder;
        uint64 issuedAt;
        uint64 validUntil;
        bytes32 policy;
        BuyerTier tier;
        bytes32 scope;
        bytes32 pseudonym;
    }

    /// @notice Returns whether a credential was signed by the attestor and is currently valid.
    /// @dev Returns false if the signature is invalid, before `issuedAt`, after `validUntil`, and if the credential is
    /// valid for more than one day. The caller of this function must check the holder. The attestor may be a contract
    /// (ERC-1271).
    /// @param credential The credential.
    /// @param signature The attestor's signature.
    /// @return valid True if the credential is valid.
    function verifyCredential(
        TierCredential calldata credential,
        bytes calldata signature
    ) external view returns (bool valid);

    /// @notice Returns the digest of a credential, which the attestor signs (EIP-712).
    /// @param credential The credential.
    /// @return digest The digest.
    function getCredentialHash(TierCredential calldata credential) external view returns (bytes32 digest);
}
