"""Feedback files on paid answers in the form of each profile, and the client's signature in them."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from eth_account.messages import encode_defunct
from eth_utils.crypto import keccak

from bilateral.client import TransactionSigner
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.signatures import recover_signer, signer_errors
from bilateral.core.values import FeedbackValue
from bilateral.documents import FeedbackFile, prepare_feedback_file
from bilateral.documents.feedback import SIGNED_FIELDS
from bilateral.x402.proof.errors import InvalidKeyError
from bilateral.x402.proof.interactions import client_message_hash, draft_reviewer_hash
from bilateral.x402.proof.keys import from_registry_form, to_registry_form
from bilateral.x402.proof.types import InteractionData

X402_TAG: Final = "x402"
"""The second tag of all feedback in the profile `reputation`."""

_HASH_BYTES: Final = 32  # of keccak-256


class Tags(NamedTuple):
    """Both tags of a feedback ("Tag Conventions").

    Attributes:
        tag1: The measured dimension.
        tag2: The qualifier, or the level of proof.
    """

    tag1: str
    tag2: str


def specified_file(
    agent: GlobalAgentId, interaction: InteractionData, value: FeedbackValue, tags: Tags, signer: TransactionSigner
) -> dict[str, Any]:
    """Return the fields of a feedback file in the specification's form, signed by the client."""
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
    """Return the fields of a feedback file in the draft's form. See `specified_file`."""
    if tags.tag2 != X402_TAG:
        raise InvalidArgumentError(f"tag2 of feedback in the profile reputation is {X402_TAG!r}, not {tags.tag2!r}")
    data, key = interaction.data_hash or b"", interaction.public_key or b""
    signature = _client_signature(draft_reviewer_hash(agent, interaction.task_ref, data, value, *tags), signer)
    with suppress(InvalidKeyError):  # a contract's signature has a form of its own
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


def feedback_file(fields: dict[str, Any], comment: str | None, payment: dict[str, str]) -> FeedbackFile:
    """Return a feedback file from the fields of either form."""
    fields_of_text = {"reasoning" if "proofOfInteraction" in fields else "comment": comment}
    return prepare_feedback_file(**fields, **fields_of_text, proof_of_payment=payment)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Claim:
    """The statement of a feedback file that an account signed it.

    Attributes:
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


def client_signature_of(file: FeedbackFile) -> bytes:
    """Return the client's signature in a feedback file of either form; nothing from an unsigned file."""
    proof = file.proof_of_interaction
    text = file.client_signature if proof is None else proof.reviewer_signature
    return bytes.fromhex((text or "").removeprefix("0x"))


def claim_of(file: FeedbackFile) -> Claim | None:
    """Return the statement of a feedback file that its client signed it; None if a field is missing or malformed."""
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
    with suppress(InvalidKeyError):  # a contract's signature has a form of its own
        signature = to_registry_form(signature)
    chain_id = client.chain.evm_chain_id if client.chain.is_evm else None
    return Claim(client.address, chain_id, (digest, prefixed_digest(digest)), signature)


def prefixed_digest(digest: bytes) -> bytes:
    """Return the hash that a wallet signs for a message of 32 bytes (EIP-191)."""
    return keccak(b"\x19Ethereum Signed Message:\n32" + digest)


def _client_signature(digest: bytes, signer: TransactionSigner) -> bytes:
    """Sign the client's message: the bare hash if the key can do so, else with the prefix of EIP-191."""
    sign_hash = getattr(signer, "unsafe_sign_hash", None)
    with signer_errors():
        if sign_hash is not None:
            return bytes(sign_hash(digest).signature)
        return bytes(signer.sign_message(encode_defunct(digest)).signature)
