"""Feedback on a paid answer: a feedback file with the payment, both signatures and conventional tags.

Example:
    verification = verification_of(response)
    give_paid_feedback(client, verification, 95, signer, RESOURCE_DELIVERED, comment="Excellent service").wait()
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from eth_account.messages import encode_defunct
from eth_utils.crypto import keccak

from bilateral.client import AsyncClient, AsyncHandle, Client, FeedbackEntry, Handle, SignedFeedback, TransactionSigner
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.signatures import recover_signer, signer_errors
from bilateral.core.values import FeedbackValue
from bilateral.documents import FeedbackFile, prepare_feedback_file
from bilateral.documents.feedback import SIGNED_FIELDS
from bilateral.x402.clients.purchase import Steps, make, make_async
from bilateral.x402.proof import verdicts
from bilateral.x402.proof.errors import DuplicateFeedbackError, InvalidKeyError, UnreadFeedbackError
from bilateral.x402.proof.keys import from_registry_form, to_registry_form
from bilateral.x402.proof.payments import payer_of
from bilateral.x402.proof.profiles import client_message_hash, draft_reviewer_hash
from bilateral.x402.proof.types import AgentRegistration, InteractionData
from bilateral.x402.proof.verdicts import CheckName, Outcome, Verification

X402_TAG: Final = "x402"
"""The second tag of all feedback in the profile `reputation`."""

_HASH_BYTES: Final = 32  # of keccak-256


class Tags(NamedTuple):
    """Both tags of a feedback entry ("Tag Conventions").

    Attributes:
        tag1: The dimension that is measured.
        tag2: The qualifier, or the level of proof.
    """

    tag1: str
    tag2: str


def specified_file(
    agent: GlobalAgentId, interaction: InteractionData, value: FeedbackValue, tags: Tags, signer: TransactionSigner
) -> dict[str, Any]:
    """Return a feedback file's fields in the specification's format, signed by the client."""
    digest = client_message_hash(agent, interaction.task_ref, value.value)
    return {
        "taskRef": interaction.task_ref,
        "interactionHash": "0x" + interaction.interaction_hash.hex(),
        "agentSignature": interaction.signature.hex(),
        "clientSignature": _client_signature(digest, signer).hex(),
        "tags": list(tags),
    }


def draft_file(
    agent: GlobalAgentId, interaction: InteractionData, value: FeedbackValue, tags: Tags, signer: TransactionSigner
) -> dict[str, Any]:
    """Return a feedback file's fields in the draft's format. See `specified_file`."""
    if tags.tag2 != X402_TAG:
        raise InvalidArgumentError(f"in the reputation profile, tag2 must be {X402_TAG!r}, not {tags.tag2!r}")
    data, key = interaction.data_hash or b"", interaction.public_key or b""
    signature = _client_signature(draft_reviewer_hash(agent, interaction.task_ref, data, value, *tags), signer)
    with suppress(InvalidKeyError):  # contracts define their own signature formats
        signature = from_registry_form(signature)
    return {
        "proofOfInteraction": {
            "taskRef": interaction.task_ref,
            "dataHash": "0x" + data.hex(),
            "agentSignerPublicKey": "0x" + key.hex(),
            "agentSignature": "0x" + interaction.signature.hex(),
            "agentSignatureAlgorithm": interaction.algorithm,
            "reviewerAddress": str(AccountId(agent.registry.chain, signer.address)),
            "reviewerSignature": "0x" + signature.hex(),
            "reviewerSignatureAlgorithm": "secp256k1",
        }
    }


def feedback_file(fields: dict[str, Any], comment: str | None, payment: dict[str, str] | None) -> FeedbackFile:
    """Create a feedback file from fields in either format."""
    fields_of_text = {"reasoning" if "proofOfInteraction" in fields else "comment": comment}
    return prepare_feedback_file(**fields, **fields_of_text, proof_of_payment=payment)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Claim:
    """A feedback file's claim that an account signed it.

    Attributes:
        chain_id: The account's chain; None if it is not an EVM chain.
        digests: The two possible signed hashes: without and with the EIP-191 prefix.
        signature: The signature; if a key made it, it ends in 27 or 28.
    """

    account: str
    chain_id: int | None
    digests: tuple[bytes, bytes]
    signature: bytes

    @property
    def is_by_key(self) -> bool:
        """True if the account's key made the signature."""
        return any(recover_signer(digest, self.signature) == self.account for digest in self.digests)


def client_signature_of(file: FeedbackFile) -> bytes:
    """Return the client's signature from a feedback file in either format, or an empty value if it is unsigned."""
    proof = file.proof_of_interaction
    text = file.client_signature if proof is None else proof.reviewer_signature
    return bytes.fromhex((text or "").removeprefix("0x"))


def _claim_of(file: FeedbackFile) -> Claim | None:
    """Return a feedback file's claim that its client signed it, or None if a field is missing or malformed."""
    if file.malformed_fields & SIGNED_FIELDS:
        return None
    proof = file.proof_of_interaction
    try:
        signed_by = file.client_address if proof is None else proof.reviewer_address
        client = AccountId.parse(signed_by or "", verify_checksum=False)
        agent = GlobalAgentId(AccountId.parse(file.agent_registry or "", verify_checksum=False), str(file.agent_id))
        signature = client_signature_of(file)
        if not isinstance(file.value, int) or not signature:
            return None
        if proof is None:
            digest = client_message_hash(agent, file.task_ref or "", file.value)
        else:
            data = bytes.fromhex((proof.data_hash or "").removeprefix("0x"))
            if len(data) != _HASH_BYTES:
                return None
            value = FeedbackValue(file.value, file.value_decimals or 0)
            digest = draft_reviewer_hash(agent, proof.task_ref or "", data, value, file.tag1 or "", file.tag2 or "")
    except ValueError:
        return None
    with suppress(InvalidKeyError):  # contracts define their own signature formats
        signature = to_registry_form(signature)
    chain_id = client.chain.evm_chain_id if client.chain.is_evm else None
    return Claim(client.address, chain_id, (digest, prefixed_digest(digest)), signature)


def prefixed_digest(digest: bytes) -> bytes:
    """Return the hash that a wallet signs for a message of 32 bytes (EIP-191)."""
    return keccak(b"\x19Ethereum Signed Message:\n32" + digest)


def _client_signature(digest: bytes, signer: TransactionSigner) -> bytes:
    """Sign the client's message: the bare hash if the key supports that, otherwise the hash with the EIP-191 prefix."""
    sign_hash = getattr(signer, "unsafe_sign_hash", None)
    with signer_errors():
        if sign_hash is not None:
            return bytes(sign_hash(digest).signature)
        return bytes(signer.sign_message(encode_defunct(digest)).signature)


MAX_HUMAN: Final = 100
"""The highest feedback value once decimals are applied; the lowest is 0."""


RESOURCE_DELIVERED: Final = Tags("x402-resource-delivered", "proof-of-participation")
RESOURCE_MISSING: Final = Tags("x402-resource-missing", "proof-of-participation")
RESPONSE_DELAYED: Final = Tags("x402-response-delayed", "proof-of-participation")
PAYMENT_MISMATCH: Final = Tags("x402-payment-amount", "mismatch")

QUALITY: Final = Tags("starred", X402_TAG)
"""The tags for a quality rating in the profile `reputation`, whose second tag is always `x402`."""

REACHABLE: Final = Tags("reachable", X402_TAG)
"""The tags for feedback that only reports whether an answer was delivered (1 or 0) in the profile `reputation`."""

PAYMENT_STATUS: Final = "paymentStatus"
"""A field that this package adds to feedback files: `not_provable` if the file contains no proof of the payment."""

_REQUIRED: Final = (CheckName.AGENT, CheckName.TASK_REF, CheckName.PAYMENT, CheckName.SIGNATURE)


def paid_feedback(  # noqa: PLR0913  # the feedback's own parameters
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags | None = None,
    *,
    decimals: int = 0,
    comment: str | None = None,
    endpoint: str = "",
) -> dict[str, Any]:
    """Return the arguments of `give_feedback` or `sign_feedback` for a paid answer.

    Args:
        verification: The answer's verification. The checks of agent, payment, task reference and signature must have
            passed. The payment may also be `not_provable`; in this case, the file states this and contains no proof of
            payment.
        value: The on-chain integer value, from 0 to 255 except in the profile `reputation`; at most 100 once decimals
            are applied.
        signer: The client's key, with which the payment was made.
        tags: Both tags; by default `RESOURCE_DELIVERED`, or `QUALITY` in the profile `reputation`.
        decimals: The number of decimals in the value.
        comment: A comment for human readers.
        endpoint: The endpoint that was used.

    Raises:
        InvalidArgumentError: A required check did not pass, a different account paid, the value is out of range, or the
            second tag is not the one required in the profile `reputation`.
        SignerFailedError: The key failed to sign.
    """
    interaction, registration, payer = required_parts(verification)
    if signer.address.lower() != payer.lower():
        raise InvalidArgumentError(f"{payer} made the payment, so {signer.address} cannot give feedback about it")
    stored = human_value(value, decimals)
    make = specified_file if interaction.data_hash is None else draft_file
    tags = tags or (RESOURCE_DELIVERED if interaction.data_hash is None else QUALITY)
    fields = make(registration.agent, interaction, stored, tags, signer)
    return {**feedback_arguments(verification, registration.agent, stored, tags, fields, comment), "endpoint": endpoint}


def human_value(value: int, decimals: int) -> FeedbackValue:
    """Return a feedback value, after checking that it is from 0 to 100 once decimals are applied."""
    stored = FeedbackValue(value, decimals)
    if not 0 <= stored.human <= MAX_HUMAN:
        raise InvalidArgumentError(f"value {stored.human} is out of range 0..{MAX_HUMAN}")
    return stored


def feedback_arguments(  # noqa: PLR0913, PLR0917  # the parts of a feedback
    verification: Verification,
    agent: GlobalAgentId,
    stored: FeedbackValue,
    tags: Tags,
    fields: dict[str, Any],
    comment: str | None,
) -> dict[str, Any]:
    """Return the arguments of `give_feedback`, with a file made of the signed fields and the proof of payment."""
    interaction, registration, _ = required_parts(verification)
    payment, proof = verification.payment, None
    if payment is None:
        fields = {**fields, PAYMENT_STATUS: verdicts.NOT_PROVABLE}
    else:
        proof = {"fromAddress": payment.payer, "toAddress": payment.payee}
        proof |= {"chainId": str(registration.chain), "txHash": interaction.payment.transaction}
    file = feedback_file(fields, comment, proof)
    return {"agent_id": agent, "value": stored, "tag1": tags.tag1, "tag2": tags.tag2, "feedback_file": file}


def required_parts(verification: Verification) -> tuple[InteractionData, AgentRegistration, str]:
    """Return a verification's statement, agent and payer, after checking that the verification permits feedback."""
    failed = [name for name in _REQUIRED if verification.outcome(name) is not Outcome.PASSED]
    interaction, registration, payment = verification.interaction, verification.registration, verification.payment
    payer = None if payment is None else payment.payer
    if verification.check(CheckName.PAYMENT).code == verdicts.NOT_PROVABLE and verification.paid is not None:
        failed.remove(CheckName.PAYMENT)
        payer = payer_of(verification.paid.payload)
    if failed or interaction is None or registration is None or payer is None:
        raise InvalidArgumentError(
            f"feedback needs a verified payment and signature; failed checks: {', '.join(failed)}"
        )
    return interaction, registration, payer


def give_paid_feedback(  # noqa: PLR0913  # as paid_feedback
    client: Client,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags | None = None,
    *,
    accept_unread: bool = False,
    **options: Any,
) -> Handle[FeedbackEntry]:
    """Give feedback on a paid answer as described in `paid_feedback`, once per payment. The client pays for the gas.

    Args:
        client: The SDK client for the chain, whose signer is `signer`.
        accept_unread: True to continue even if the file of an earlier feedback entry cannot be loaded, for example
            because its server no longer exists. You must then be sure that the entry is for a different payment.

    Raises:
        InvalidArgumentError: As for `paid_feedback`.
        DuplicateFeedbackError: This client has already given feedback for this payment.
        UnreadFeedbackError: Feedback that this client gave since the payment may be for it, but the file cannot be
            loaded.
    """
    arguments = paid_feedback(verification, value, signer, tags, **options)
    make(refuse_second(client, verification, arguments, signer, accept_unread))
    return client.give_feedback(**arguments)


async def give_paid_feedback_async(  # noqa: PLR0913  # as paid_feedback
    client: AsyncClient,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags | None = None,
    *,
    accept_unread: bool = False,
    **options: Any,
) -> AsyncHandle[FeedbackEntry]:
    """Give feedback on a paid answer without blocking. See `give_paid_feedback`."""
    arguments = paid_feedback(verification, value, signer, tags, **options)
    await make_async(refuse_second(client, verification, arguments, signer, accept_unread))
    return await client.give_feedback(**arguments)


def sign_paid_feedback(  # noqa: PLR0913  # as paid_feedback
    client: Client,
    verification: Verification,
    value: int,
    signer: TransactionSigner,
    tags: Tags | None = None,
    *,
    accept_unread: bool = False,
    **options: Any,
) -> SignedFeedback:
    """Sign feedback on a paid answer for another account to send (`giveFeedbackBySig`). See `give_paid_feedback`."""
    arguments = paid_feedback(verification, value, signer, tags, **options)
    make(refuse_second(client, verification, arguments, signer, accept_unread))
    return client.sign_feedback(**arguments)


def is_signed_by_client(file: FeedbackFile, client: Client | None = None) -> bool:
    """Check the client's signature in a feedback file ("Client Signature"), raw or with the EIP-191 prefix.

    Args:
        file: The feedback file.
        client: The SDK client for the chain, which is needed to verify signatures by contract wallets (ERC-1271).
            Without a client, only signatures made by keys are accepted.

    Raises:
        NodeError: The node does not respond, or a contract wallet uses up all the gas.
    """
    return make(_is_signed(file, client))


async def is_signed_by_client_async(file: FeedbackFile, client: AsyncClient) -> bool:
    """Check the client's signature in a feedback file without blocking. See `is_signed_by_client`."""
    return await make_async(_is_signed(file, client))


def _is_signed(file: FeedbackFile, client: Any) -> Steps[bool]:
    claim = _claim_of(file)
    if claim is None or claim.is_by_key:
        return claim is not None
    if client is None or (yield client.get_deployment()).chain_id != claim.chain_id:
        return False
    for digest in claim.digests:
        if (yield client.is_valid_signature(claim.account, digest, claim.signature)):
            return True
    return False


def refuse_second(
    client: Any, verification: Verification, arguments: dict[str, Any], signer: TransactionSigner, accept_unread: bool
) -> Steps[None]:
    """Reject a second feedback entry for the same payment. The client may be blocking or asynchronous."""
    search = {"reviewers": [signer.address], "include_revoked": True, "load_files": True}
    entries: Sequence[FeedbackEntry] = yield client.search_feedback(arguments["agent_id"], **search)
    task_ref = arguments["feedback_file"].payment_reference
    for entry in entries:
        if entry.file is not None and (entry.file.payment_reference or "").lower() == task_ref.lower():
            raise DuplicateFeedbackError(str(entry.id), task_ref)
    for entry in () if accept_unread else entries:
        if entry.file is None and _may_name(verification, entry):
            uri = "" if entry.event is None else str(entry.event.uri)
            problem = "its event is missing from the node's logs" if entry.event is None else str(entry.file_problem)
            raise UnreadFeedbackError(str(entry.id), task_ref, uri, problem)


def _may_name(verification: Verification, entry: FeedbackEntry) -> bool:
    """Return whether feedback with an unread file may be for a payment: it has a URI and is not older."""
    if entry.event is None or verification.payment is None or verification.interaction is None:
        return True
    if not entry.event.uri:
        return False
    is_same_chain = str(verification.interaction.network) == f"eip155:{entry.id.agent.chain_id}"
    return not is_same_chain or entry.event.block >= verification.payment.block
