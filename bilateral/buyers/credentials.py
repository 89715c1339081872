"""Credentials with which another address can prove a buyer's tier, signed by the registry's attestor (EIP-712).

Only the attestor knows which buyer is behind an address or a pseudonym, so only the attestor can sign credentials.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bilateral.buyers.errors import CredentialRefusedError
from bilateral.core.contracts.buyer_terms import MAX_CREDENTIAL_LIFETIME, BuyerTier, TierCredential
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import Domain, recover_signer, signer_errors

if TYPE_CHECKING:
    from bilateral.client import Client
    from bilateral.client.state import TransactionSigner

DAY_SECONDS: Final = 86_400  # seconds; Unix time has no leap seconds

_SCOPE: Final = "bilateral-tier"


def gate_scope(chain_id: int, gate: str) -> bytes:
    """Return the credential scope for a contract that inherits `BuyerTierGated`, as its `getTierScope` does."""
    return keccak(encode(["string", "uint256", "address"], [_SCOPE, chain_id, checksummed(gate)]))


def agent_scope(chain_id: int, identity_registry: str, agent_id: int) -> bytes:
    """Return the credential scope for a seller that checks credentials itself, for example over HTTP.

    Args:
        chain_id: The EIP-155 id of the seller's chain.
        agent_id: The seller.
    """
    kinds = ["string", "uint256", "address", "uint256"]
    return keccak(encode(kinds, [_SCOPE, chain_id, checksummed(identity_registry), agent_id]))


def issue_credential(  # noqa: PLR0913  # the fields of a credential
    holder: str,
    tier: BuyerTier,
    policy: bytes,
    *,
    scope: bytes,
    pseudonym: bytes,
    lifetime: int = 3_600,
    at: int | None = None,
) -> TierCredential:
    """Create an unsigned credential. It expires no later than the end of the UTC day, when pseudonyms change.

    Args:
        holder: The address that may use the credential. A new address does not reveal the buyer's main wallet.
        tier: The buyer's tier.
        policy: The hash of the scoring policy's name.
        scope: The scope in which the credential is valid: a `gate_scope` or an `agent_scope`.
        pseudonym: Identifies the buyer in this scope today. It must be the same for all addresses of the buyer.
        lifetime: How long the credential is valid, in seconds; at most a day.
        at: The first second in which the credential is valid, in Unix time; now by default.

    Raises:
        InvalidArgumentError: The lifetime is not between 1 second and a day.
    """
    if not 0 < lifetime <= MAX_CREDENTIAL_LIFETIME:
        raise InvalidArgumentError(f"lifetime {lifetime} is out of range 1..{MAX_CREDENTIAL_LIFETIME} seconds")
    begin = int(time.time()) if at is None else at
    last = min(begin + lifetime, begin - begin % DAY_SECONDS + DAY_SECONDS - 1)
    return TierCredential(checksummed(holder), begin, last, policy, tier, scope, pseudonym)


def sign_credential(credential: TierCredential, domain: Domain, attestor: TransactionSigner) -> bytes:
    """Sign a credential with the attestor's key.

    Args:
        domain: The registry's EIP-712 domain.
        attestor: The attestor's account.

    Returns:
        The 65-byte signature.

    Raises:
        SignerFailedError: The signer failed.
    """
    signable = credential.signable(domain)
    with signer_errors():
        return bytes(attestor.sign_message(signable).signature)


def is_valid_at(credential: TierCredential, at: int) -> bool:
    """Return whether a credential is valid at a given time, according to the registry's rules.

    Args:
        at: The time, in Unix seconds.
    """
    lifetime = credential.valid_until - credential.issued_at
    return credential.issued_at <= at <= credential.valid_until and lifetime <= MAX_CREDENTIAL_LIFETIME


def require_use(  # noqa: PLR0913  # what a gate compares
    credential: TierCredential, holder: str, *, policy: bytes, scope: bytes, minimum: BuyerTier, at: int | None = None
) -> None:
    """Check that an account may use a credential for a given scope and time. The signature is not checked.

    `BuyerTierGated` performs the same checks in the same order. To count customers, use `credential.pseudonym`.

    Args:
        holder: The account that presents the credential.
        policy: The hash of the scoring policy whose tiers are accepted.
        scope: The scope in which the credential is presented.
        minimum: The lowest tier that is accepted.
        at: The time, in Unix seconds; by default now.

    Raises:
        CredentialRefusedError: The credential is for a different holder, policy, scope or UTC day, or its tier is too
            low. See the error's `reason`.
    """
    today = (int(time.time()) if at is None else at) // DAY_SECONDS
    day, presented_by = credential.issued_at // DAY_SECONDS, checksummed(holder)
    terms: tuple[tuple[str, str, object, object], ...] = (
        ("credential_of_another", "holder", credential.holder, presented_by),
        ("policy_mismatch", "policy", f"0x{credential.policy.hex()}", f"0x{policy.hex()}"),
        ("scope_mismatch", "scope", f"0x{credential.scope.hex()}", f"0x{scope.hex()}"),
        ("epoch_over", "day", day, today),
    )
    for reason, field, value, expected in terms:
        if value != expected:
            raise CredentialRefusedError(reason, field, value, expected)
    if credential.tier.level < minimum.level:
        raise CredentialRefusedError("tier_too_low", "tier", credential.tier.value, minimum.value)


def verify_credential(
    credential: TierCredential, signature: bytes, domain: Domain, attestor: str, *, at: int | None = None
) -> bool:
    """Return whether a credential is valid and signed with the attestor's key. No node is needed.

    Callers must also check that the credential's holder is the account that presents it. If the attestor is a contract,
    use `verify_credential_on_chain`.

    Args:
        domain: The registry's EIP-712 domain.
        at: The time, in Unix seconds; by default now.
    """
    is_valid = is_valid_at(credential, int(time.time()) if at is None else at)
    return is_valid and recover_signer(credential.digest(domain), signature) == checksummed(attestor)


def verify_credential_on_chain(
    credential: TierCredential, signature: bytes, client: Client, *, at: int | None = None
) -> bool:
    """Return whether a credential is valid and signed by the current attestor, which may be a contract (ERC-1271).

    Args:
        client: A client whose deployment includes the buyer registry.
        at: The time, in Unix seconds; by default now. The registry also checks validity as of the latest block.
    """
    is_valid = is_valid_at(credential, int(time.time()) if at is None else at)
    return is_valid and client.verify_credential(credential, signature)
