"""Feedback on a paid answer: a feedback file with the payment and both signatures, tagged by convention.

verification = verification_of(response)
give_paid_feedback(client, verification, 95, RESOURCE_DELIVERED, comment="Excellent service").wait()
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eth_account.messages import encode_defunct
from eth_utils.crypto import keccak

from bilateral.documents import FeedbackFile, prepare_feedback_file
from bilateral.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.identifiers import AccountId, GlobalAgentId
from bilateral.signatures import recover_signer, signer_errors
from bilateral.values import FeedbackValue
from bilateral.x402.errors import DuplicateFeedbackError, InvalidKeyError
from bilateral.x402.interactions import client_message_hash
from bilateral.x402.keys import to_registry_form
from bilateral.x402.verdicts import CheckName, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client import (
        AsyncClient,
        AsyncHandle,
        Client,
        FeedbackEntry,
        Handle,
        SignedFeedback,
        TransactionSigner,
    )
    from bilateral.x402.verdicts import Verification

MAX_HUMAN: Final = 100
"""The highest feedback in human terms; the lowest is 0."""


class Tags(NamedTuple):
    """Both tags of a feedback ("Tag Conventions").

    Attributes:
        tag1: The measured dimension.
        tag2: The qualifier, or the level of proof.
    """

    tag1: str
    tag2: str


RESOURCE_DELIVERED: Final = Tags("x402-resource-delivered", "proof-of-participation")
RESOURCE_MISSING: Final = Tags("x402-resource-missing", "proof-of-participation")
RESPONSE_DELAYED: Final = Tags("x402-response-delayed", "proof-of-participation")
PAYMENT_MISMATCH: Final = Tags("x402-payment-amount", "mismatch")

_REQUIRED: Final = (CheckName.AGENT, CheckName.TASK_REF, CheckName.PAYMENT, CheckName.SIGNATURE)


def paid_feedback(  # noqa: PLR0913  # the feedback's own parameters
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags = RESOURCE_DELIVERED,
    *,
    decimals: int = 0,
    comment: str | None = None,
    endpoint: str = "",
) -> dict[str, Any]:
    """Return the arguments of `give_feedback` or `sign_feedback` for a paid answer.

    Args:
        verification: The verification of the answer. Agent, payment, task reference and signature must have passed.
        value: The integer value on chain, from 0 to 255, at most 100 with its decimals.
        signer: The client's key, which made the payment.
        tags: Both tags.
        decimals: The number of decimals of the value.
        comment: A comment for people.
        endpoint: The endpoint that was used.

    Raises:
        InvalidArgumentError: A required check did not pass, another account paid, or the value is out of range.
        SignerFailedError: The key does not sign.
    """
    failed = [name for name in _REQUIRED if verification.outcome(name) is not Outcome.PASSED]
    interaction, registration, payment = verification.interaction, verification.registration, verification.payment
    if failed or interaction is None or registration is None or payment is None:
        raise InvalidArgumentError(f"feedback needs a verified payment and signature; not passed: {', '.join(failed)}")
    if signer.address.lower() != payment.payer.lower():
        raise InvalidArgumentError(f"{payment.payer} paid, so {signer.address} cannot give feedback for it")
    stored = FeedbackValue(value, decimals)
    if not 0 <= stored.human <= MAX_HUMAN:
        raise InvalidArgumentError(f"value {stored.human} is out of range 0..{MAX_HUMAN}")
    signature = _client_signature(client_message_hash(registration.agent, interaction.task_ref, value), signer)
    file = prepare_feedback_file(
        taskRef=interaction.task_ref,
        interactionHash="0x" + interaction.interaction_hash.hex(),
        agentSignature=interaction.signature.hex(),
        clientSignature=signature.hex(),
        tags=list(tags),
        comment=comment,
        dataHash=None if interaction.data_hash is None else "0x" + interaction.data_hash.hex(),
        proof_of_payment={
            "fromAddress": payment.payer,
            "toAddress": payment.payee,
            "chainId": str(registration.chain),
            "txHash": interaction.payment.transaction,
        },
    )
    return {
        "agent_id": registration.agent,
        "value": stored,
        "tag1": tags.tag1,
        "tag2": tags.tag2,
        "endpoint": endpoint,
        "feedback_file": file,
    }


def give_paid_feedback(
    client: Client,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags = RESOURCE_DELIVERED,
    **options: Any,
) -> Handle[FeedbackEntry]:
    """Give feedback on a paid answer, once a payment. The client pays the gas.

    Args:
        client: The SDK's client of the chain, whose signer is `signer`.
        verification: As `paid_feedback`.
        value: As `paid_feedback`.
        signer: As `paid_feedback`.
        tags: As `paid_feedback`.
        **options: As `paid_feedback`.

    Raises:
        InvalidArgumentError: As `paid_feedback`.
        DuplicateFeedbackError: This client has given feedback for this payment.
    """
    arguments = paid_feedback(verification, value, signer, tags, **options)
    refuse_duplicate(arguments, client.search_feedback(arguments["agent_id"], **search_for(signer)))
    return client.give_feedback(**arguments)


async def give_paid_feedback_async(
    client: AsyncClient,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags = RESOURCE_DELIVERED,
    **options: Any,
) -> AsyncHandle[FeedbackEntry]:
    """Give feedback on a paid answer without blocking. See `give_paid_feedback`."""
    arguments = paid_feedback(verification, value, signer, tags, **options)
    refuse_duplicate(arguments, await client.search_feedback(arguments["agent_id"], **search_for(signer)))
    return await client.give_feedback(**arguments)


def sign_paid_feedback(
    client: Client,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags = RESOURCE_DELIVERED,
    **options: Any,
) -> SignedFeedback:
    """Sign feedback on a paid answer for somebody else to send (`giveFeedbackBySig`). See `give_paid_feedback`."""
    arguments = paid_feedback(verification, value, signer, tags, **options)
    refuse_duplicate(arguments, client.search_feedback(arguments["agent_id"], **search_for(signer)))
    return client.sign_feedback(**arguments)


def is_signed_by_client(file: FeedbackFile, client: Client | None = None) -> bool:
    """Check the client's signature of a feedback file ("Client Signature"), raw or with the prefix of EIP-191.

    Args:
        file: The feedback file.
        client: The SDK's client of the chain, which asks a contract wallet about its signature (ERC-1271). Without it,
            only signatures of keys are accepted.

    Raises:
        NodeError: The node does not answer, or a contract wallet uses up all gas.
    """
    claim = _claim_of(file)
    if claim is None or claim.is_by_key:
        return claim is not None
    if client is None or client.get_deployment().chain_id != claim.chain_id:
        return False
    return any(client.is_valid_signature(claim.account, digest, claim.signature) for digest in claim.digests)


async def is_signed_by_client_async(file: FeedbackFile, client: AsyncClient) -> bool:
    """Check the client's signature of a feedback file without blocking. See `is_signed_by_client`."""
    claim = _claim_of(file)
    if claim is None or claim.is_by_key:
        return claim is not None
    if (await client.get_deployment()).chain_id != claim.chain_id:
        return False
    for digest in claim.digests:
        if await client.is_valid_signature(claim.account, digest, claim.signature):
            return True
    return False


@dataclass(frozen=True)
class _Claim:
    """The statement of a feedback file that an account signed it.

    Attributes:
        account: The account.
        chain_id: Its chain; None if that is no EVM chain.
        digests: The signed hash: bare, and with the prefix of EIP-191.
        signature: The signature; a key's ends with 27 or 28.
    """

    account: str
    chain_id: int | None
    digests: tuple[bytes, bytes]
    signature: bytes

    @property
    def is_by_key(self) -> bool:
        """True if the account's key made the signature."""
        return any(recover_signer(digest, self.signature) == self.account for digest in self.digests)


def _claim_of(file: FeedbackFile) -> _Claim | None:
    """Return the statement of a feedback file that its client signed it; None if a field is missing or malformed."""
    try:
        client = AccountId.parse(file.client_address or "", verify_checksum=False)
        agent = GlobalAgentId(AccountId.parse(file.agent_registry or "", verify_checksum=False), str(file.agent_id))
        if not isinstance(file.value, int) or not file.client_signature:
            return None
        digest = client_message_hash(agent, file.task_ref or "", file.value)
        signature = bytes.fromhex(file.client_signature.removeprefix("0x"))
    except (MalformedIdentifierError, InvalidArgumentError, ValueError):
        return None
    with suppress(InvalidKeyError):  # a contract's signature has a form of its own
        signature = to_registry_form(signature)
    chain_id = client.chain.evm_chain_id if client.chain.is_evm else None
    return _Claim(client.address, chain_id, (digest, _prefixed_digest(digest)), signature)


def _client_signature(digest: bytes, signer: TransactionSigner) -> bytes:
    """Sign the client's message: the bare hash if the key can do so, else with the prefix of EIP-191."""
    sign_hash = getattr(signer, "unsafe_sign_hash", None)
    with signer_errors():
        if sign_hash is not None:
            return bytes(sign_hash(digest).signature)
        return bytes(signer.sign_message(encode_defunct(digest)).signature)


def _prefixed_digest(digest: bytes) -> bytes:
    """Return the hash that a wallet signs for a message of 32 bytes (EIP-191)."""
    return keccak(b"\x19Ethereum Signed Message:\n32" + digest)


def search_for(signer: TransactionSigner) -> dict[str, Any]:
    """Return the search for the client's own earlier feedback."""
    return {"reviewers": [signer.address], "include_revoked": True, "load_files": True}


def refuse_duplicate(arguments: dict[str, Any], given: Sequence[FeedbackEntry]) -> None:
    """Refuse a second feedback for one payment.

    Raises:
        DuplicateFeedbackError: An earlier feedback of this client names the payment.
    """
    task_ref = arguments["feedback_file"].task_ref
    for entry in given:
        if entry.file is not None and (entry.file.task_ref or "").lower() == task_ref.lower():
            raise DuplicateFeedbackError(str(entry.id), task_ref)
