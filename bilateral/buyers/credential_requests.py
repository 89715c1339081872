"""Ask a service for a credential of the signer's tier for another address."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx

from bilateral.buyers.errors import BuyerServiceFailedError
from bilateral.buyers.messages import CredentialRequest
from bilateral.buyers.payment_proofs import signature_of
from bilateral.buyers.remote import PROVIDER, answer_of, base_of
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential, policy_hash
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import Domain

if TYPE_CHECKING:
    from bilateral.client.inputs import TransactionSigner

_SECONDS: Final = 300
"""The seconds for which the wish holds. The service takes up to 600, and clocks may differ."""

_WORD: Final = 32  # bytes of a word of the contract ABI
_NOBODY: Final = "0x" + "00" * 20


@dataclass(frozen=True)
class SignedCredential:
    """A credential with the signature of the registry's attestor.

    Attributes:
        signature: The signature, 65 bytes.
    """

    credential: TierCredential
    signature: bytes


def request_credential(  # noqa: PLR0913  # the fields of the wish
    service: str,
    holder: str,
    signer: TransactionSigner,
    *,
    chain_id: int,
    scope: bytes,
    policy: str = "brp-1.0",
    http: httpx.Client | None = None,
) -> SignedCredential:
    """Ask for a credential of the signer's tier for another address, as the buyer.

    Args:
        service: The URL of the service, as for `ask_discount`.
        holder: The address that may use the credential. A fresh one does not show the buyer's main wallet.
        signer: The buyer.
        chain_id: The EIP-155 id of the chain of the payments.
        scope: The place where it is used: see `gate_scope` and `agent_scope` of `bilateral.buyers.credentials`.
        policy: The scoring policy that the place asks for.
        http: The HTTP client; by default one that follows no redirects.

    Returns:
        The credential. Its signature is not checked: see `verify_credential`.

    Raises:
        InvalidArgumentError: The scope has another length, or the URL is not one of http or https.
        SignerFailedError: The signer fails.
        BuyerServiceRefusedError: The service refuses. Its `code` says why.
        BuyerServiceFailedError: The service cannot be reached, or answers with another credential.
    """
    if len(scope) != _WORD:
        raise InvalidArgumentError(f"a scope has {_WORD} bytes, not {len(scope)}")
    buyer: Any = checksummed(signer.address)
    wanted: Any = checksummed(holder)
    nobody: Any = _NOBODY
    expires_at = int(time.time()) + _SECONDS
    message = CredentialRequest(buyer, wanted, policy, scope, chain_id, expires_at)
    body = {
        "holder": wanted,
        "chainId": chain_id,
        "policy": policy,
        "scope": "0x" + scope.hex(),
        "expiresAt": expires_at,
        "signature": signature_of(message, Domain(chain_id, nobody), signer),
    }
    answer = answer_of("POST", f"{base_of(service)}{PROVIDER}/{buyer}/credential", http, json=body)
    signed = _read(answer)
    made = signed.credential
    if (made.holder, made.scope, made.policy) != (wanted, scope, policy_hash(policy)):
        raise BuyerServiceFailedError("the service answers with a credential for another holder, scope or policy")
    return signed


def _read(answer: Mapping[str, Any]) -> SignedCredential:
    """Read the answer of a service."""
    try:
        values = dict(answer["message"])
        words = {name: bytes.fromhex(values[name].removeprefix("0x")) for name in ("policy", "scope", "pseudonym")}
        credential = TierCredential(
            values["holder"],
            int(values["issuedAt"]),
            int(values["validUntil"]),
            words["policy"],
            BuyerTier.of_level(values["tier"]),
            words["scope"],
            words["pseudonym"],
        )
        return SignedCredential(credential, bytes.fromhex(answer["signature"].removeprefix("0x")))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BuyerServiceFailedError(f"the service answers with no credential: {problem}") from None
