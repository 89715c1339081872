"""Credentials that prove a buyer's tier from another address, signed by the attestor (EIP-712)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bilateral.buyer_terms import MAX_CREDENTIAL_LIFETIME, BuyerTier, TierCredential
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import checksummed
from bilateral.signatures import Domain, recover_signer, signer_errors

if TYPE_CHECKING:
    from bilateral.client import Client
    from bilateral.client.inputs import TransactionSigner


def issue_credential(
    holder: str, tier: BuyerTier, policy: bytes, *, lifetime: int = 3_600, at: int | None = None
) -> TierCredential:
    """Make a credential that is not signed yet.

    Args:
        holder: The address that may use it. A fresh one does not show the buyer's main wallet.
        tier: The tier of the buyer.
        policy: The hash of the scoring policy's name.
        lifetime: Seconds for which it is valid, at most a day.
        at: The first second in which it is valid, in Unix time; by default now.

    Raises:
        InvalidArgumentError: The lifetime is not 1 second to a day.
    """
    if not 0 < lifetime <= MAX_CREDENTIAL_LIFETIME:
        raise InvalidArgumentError(f"lifetime {lifetime} is out of range 1..{MAX_CREDENTIAL_LIFETIME} seconds")
    begin = int(time.time()) if at is None else at
    return TierCredential(checksummed(holder), begin, begin + lifetime, policy, tier)


def sign_credential(credential: TierCredential, domain: Domain, attestor: TransactionSigner) -> bytes:
    """Sign a credential with the attestor's key.

    Args:
        credential: The credential.
        domain: The domain of the registry.
        attestor: The attestor's account.

    Returns:
        The signature, 65 bytes.

    Raises:
        SignerFailedError: The signer fails.
    """
    signable = credential.signable(domain)
    with signer_errors():
        return bytes(attestor.sign_message(signable).signature)


def is_valid_at(credential: TierCredential, at: int) -> bool:
    """Tell whether a credential is valid at a time, as the registry decides.

    Args:
        credential: The credential.
        at: The time, in Unix time.
    """
    lifetime = credential.valid_until - credential.issued_at
    return credential.issued_at <= at <= credential.valid_until and lifetime <= MAX_CREDENTIAL_LIFETIME


def verify_credential(
    credential: TierCredential, signature: bytes, domain: Domain, attestor: str, *, at: int | None = None
) -> bool:
    """Tell whether the key of the attestor signed a credential that is valid. Needs no node.

    Compare the holder with the account that presents it. For an attestor that is a contract, use
    `verify_credential_on_chain`.

    Args:
        credential: The credential.
        signature: The signature.
        domain: The domain of the registry.
        attestor: The attestor.
        at: The time, in Unix time; by default now.
    """
    if not is_valid_at(credential, int(time.time()) if at is None else at):
        return False
    return recover_signer(credential.digest(domain), signature) == checksummed(attestor)


def verify_credential_on_chain(
    credential: TierCredential, signature: bytes, client: Client, *, at: int | None = None
) -> bool:
    """Tell whether the present attestor signed a credential that is valid. The attestor may be a contract (ERC-1271).

    Args:
        credential: The credential.
        signature: The signature.
        client: A client whose deployment has the registry of buyers.
        at: The time, in Unix time; by default now. The chain checks the time of its latest block too.
    """
    if not is_valid_at(credential, int(time.time()) if at is None else at):
        return False
    return client.verify_credential(credential, signature)
