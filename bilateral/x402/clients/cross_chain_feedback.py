"""Feedback on one chain about an answer that was paid for on another chain. The agent is registered on both chains.

    give_cross_chain_feedback(client, verification, agent, 95, signer, payer).wait()

The registry identifies the reviewer by an account on the registry's own chain, but the payment was made by a different
account. The payer therefore signs a statement that specifies which account may review on the payer's behalf. Otherwise,
anyone could use someone else's payment as proof.
"""

from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.client import Client, FeedbackEntry, Handle, TransactionSigner
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import AccountId, GlobalAgentId, TransactionRef
from bilateral.documents import FeedbackFile
from bilateral.x402.clients import feedback
from bilateral.x402.clients.purchase import make
from bilateral.x402.proof.keys import InteractionKey, is_signature_of_account
from bilateral.x402.proof.verdicts import Verification

PAYER_SIGNATURE: Final = "payerSignature"
_DOMAIN: Final = "bilateral payer v1"


def payer_digest(agent: GlobalAgentId, task_ref: str, reviewer: AccountId) -> bytes:
    """Return the 32 bytes that a payer signs to authorise an account to review the paid agent.

    Args:
        agent: The agent on the feedback's chain.
        task_ref: The reference to the payment's transaction.
        reviewer: The account that gives the feedback.
    """
    return keccak("\n".join((_DOMAIN, str(agent), task_ref, str(reviewer))).encode())


def cross_chain_feedback(  # noqa: PLR0913  # the feedback's own parameters
    verification: Verification,
    agent: GlobalAgentId,
    value: int,
    signer: TransactionSigner,
    payer: InteractionKey,
    *,
    tags: feedback.Tags = feedback.RESOURCE_DELIVERED,
    decimals: int = 0,
    comment: str | None = None,
) -> dict[str, Any]:
    """Return the arguments of `give_feedback` for a chain other than the payment's.

    Args:
        verification: The answer's verification. The checks of agent, payment, task reference and signature must have
            passed.
        agent: The agent to review, on an EVM chain. The server must declare this agent in addition to the paid agent.
            This does not prove that both are the same agent; check that with `other_registrations`.
        value: The on-chain integer value, from 0 to 255; at most 100 once decimals are applied.
        signer: The client's key on the feedback's chain.
        payer: The key of the account that paid.
        tags: Both tags.
        decimals: The number of decimals in the value.
        comment: A comment for human readers.

    Raises:
        InvalidArgumentError: A required check did not pass, a different account paid, the server does not declare the
            agent, the agent is on the payment's chain, or the value is out of range.
        SignerFailedError: The key failed to sign.
    """
    interaction, registration, account = feedback.required_parts(verification)
    if agent.registry.chain == registration.chain or not agent.registry.chain.is_evm:
        raise InvalidArgumentError(f"{agent} must be on a different EVM chain than the payment on {registration.chain}")
    paid = verification.paid
    info = None if paid is None else paid.profile.info_of(paid.declaration)
    if info is None or agent not in (declared.agent for declared in info.registrations):
        raise InvalidArgumentError(f"the server that was paid does not declare the agent {agent}")
    stored = feedback.human_value(value, decimals)
    digest = payer_digest(agent, interaction.task_ref, AccountId(agent.registry.chain, signer.address))
    signature = payer.sign(digest)
    if not is_signature_of_account(digest, signature, registration.chain, account):
        raise InvalidArgumentError(f"{account} paid, but the payer's key belongs to a different account")
    fields = {**feedback.specified_file(agent, interaction, stored, tags, signer), PAYER_SIGNATURE: signature.hex()}
    return feedback.feedback_arguments(verification, agent, stored, tags, fields, comment)


def give_cross_chain_feedback(  # noqa: PLR0913, PLR0917  # as cross_chain_feedback
    client: Client,
    verification: Verification,
    agent: GlobalAgentId,
    value: int,
    signer: TransactionSigner,
    payer: InteractionKey,
    *,
    accept_unread: bool = False,
    **options: Any,
) -> Handle[FeedbackEntry]:
    """Give feedback as described in `cross_chain_feedback`, once per payment. The client pays for the gas.

    Args:
        client: The SDK client for the feedback's chain, whose signer is `signer`.

    Raises:
        InvalidArgumentError: As for `cross_chain_feedback`.
        DuplicateFeedbackError: This client has already given feedback for this payment.
        UnreadFeedbackError: Earlier feedback by this client may be for this payment, but the file cannot be loaded.
    """
    arguments = cross_chain_feedback(verification, agent, value, signer, payer, **options)
    make(feedback.refuse_second(client, verification, arguments, signer, accept_unread))
    return client.give_feedback(**arguments)


def is_signed_by_payer(file: FeedbackFile) -> bool:
    """Check that the payer authorised the client named in a feedback file to review on the payer's behalf.

    This checks only the payer's signature, which covers the transaction reference. To check the payment itself, look it
    up with a reader for the payment's chain.

    Args:
        file: The feedback file.
    """
    try:
        agent = GlobalAgentId(AccountId.parse(file.agent_registry or "", verify_checksum=False), str(file.agent_id))
        reviewer = AccountId.parse(file.client_address or "", verify_checksum=False)
        payment = TransactionRef.parse(file.task_ref or "")
        proof = file.proof_of_payment
        payer = AccountId(payment.chain, "" if proof is None else str(proof.from_address)).address
        signature = bytes.fromhex(str((file.model_extra or {}).get(PAYER_SIGNATURE, "")))
    except (MalformedIdentifierError, ValueError):
        return False
    return is_signature_of_account(payer_digest(agent, file.task_ref or "", reviewer), signature, payment.chain, payer)
