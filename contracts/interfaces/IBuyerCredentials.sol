// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Credentials that prove a buyer's tier from another address
/// @notice A contract accepts a credential that the attestor signed.
/// @dev A credential names a holder, which may be a fresh address: the buyer shows its tier, and not its main wallet.
/// EIP-712, domain `BuyerReputationRegistry` version `1`, type
/// `TierCredential(address holder,uint64 issuedAt,uint64 validUntil,bytes32 policy,uint8 tier,bytes32 scope,bytes32
/// pseudonym)`, on one line. It is valid for a day at most. It ends at once when the attestor hands its role over.
///
/// WARNING: the attestor knows which buyer a holder is, and that two credentials are of one buyer is its word alone. A
/// buyer can let somebody else use a holder's key.
///
/// WARNING: `verifyCredential` compares neither holder, policy nor scope, and does not count. `BuyerTierGated` does all
/// but the last. Count customers by `pseudonym`: one buyer may have several holders.
interface IBuyerCredentials {
    /// @notice A statement of the attestor on the buyer behind an address.
    /// @param holder The address that may use the credential.
    /// @param issuedAt The first second, in Unix time, in which the credential is valid.
    /// @param validUntil The last second, in Unix time; at most a day later.
    /// @param policy The keccak-256 hash of the name of the scoring policy, as `brp-1.0`.
    /// @param tier The tier of the buyer behind the holder.
    /// @param scope The place where it is used: `BuyerTierGated` says how a gate's is made.
    /// @param pseudonym The buyer in that scope on the UTC day of `issuedAt`, the same for all its holders.
    struct TierCredential {
        address holder;
        uint64 issuedAt;
        uint64 validUntil;
        bytes32 policy;
        BuyerTier tier;
        bytes32 scope;
        bytes32 pseudonym;
    }

    /// @notice Tells whether a credential is signed by the attestor and valid now.
    /// @dev False for a wrong signature, before `issuedAt`, after `validUntil`, and for a credential of more than a
    /// day. The caller compares the holder. The attestor may be a contract (ERC-1271).
    /// @param credential The credential.
    /// @param signature The attestor's signature.
    /// @return valid True if it is.
    function verifyCredential(
        TierCredential calldata credential,
        bytes calldata signature
    ) external view returns (bool valid);

    /// @notice Returns the digest of a credential, which the attestor signs (EIP-712).
    /// @param credential The credential.
    /// @return digest The digest.
    function getCredentialHash(TierCredential calldata credential) external view returns (bytes32 digest);
}
