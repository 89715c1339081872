"""The checks that an aggregator makes before it spends gas: the payment, and the agent's and reviewer's signatures.

Each check has its own rejection code. No check considers the feedback's value.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bilateral.client.operations import registries
from bilateral.client.state import ClientState
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import BilateralError, DocumentError, HashMismatchError, MalformedDocumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId, checksummed
from bilateral.core.identifiers.caip import ZERO_ADDRESS
from bilateral.core.payments import PROVABLE
from bilateral.core.signatures import Domain
from bilateral.core.values import FeedbackValue
from bilateral.documents import Document, FeedbackFile, Loader, RegistrationFile
from bilateral.documents.feedback import SIGNED_FIELDS
from bilateral.node import answers
from bilateral.node.payments import NO_TRACE, NOT_SETTLED, read_transfers
from bilateral.node.steps import Blocking, Operation, Rpc
from bilateral.x402.aggregator.messages import Submission, registry_form
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError, invalid
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.clients.feedback import prefixed_digest
from bilateral.x402.proof import profiles
from bilateral.x402.proof.checking import MAX_SIGNERS, FileCache
from bilateral.x402.proof.keys import find_signer
from bilateral.x402.proof.verdicts import Payment

_SIGNATURE_DIGITS: Final = 128
"""The number of hexadecimal digits in a key's signature without its last byte."""

_BLOCK_SECONDS: Final = 5  # two blocks of most chains


@dataclass(frozen=True)
class Evidence:
    """The result of the checks.

    Attributes:
        payments: The matching payments in the transaction, in order. Each feedback entry is for a single payment.
        is_bound: True if the agent's signature is proven to belong to this payment.
        is_file_checked: True if the feedback file was loaded and its hash and fields match.
    """

    payments: tuple[Payment, ...]
    is_bound: bool
    is_file_checked: bool


def check(
    state: ClientState, files: FileCache, loader: Loader, chain: SponsoredChain, submission: Submission
) -> Operation[Evidence]:
    """Check a submission, running the cheapest checks first."""
    is_bound = _binding(submission)
    if chain.requires_bound_proof and not is_bound:
        raise FeedbackRefusedError(
            Code.UNBOUND_PROOF, "send the bodies: without them the proof may belong to a different payment"
        )
    yield from _reviewer(state, submission)
    payer, transaction = submission.reviewer.address, submission.payment.transaction
    payments = yield from find_payments(state, chain, transaction, payer, submission.agent)
    yield from _agent(state, files, submission, payments[0])
    is_file_checked = yield from _feedback_file(loader, submission)
    if chain.requires_checked_file and not is_file_checked:
        problem = "the feedback file is missing, cannot be loaded, or its URI does not commit to it: publish it first"
        raise FeedbackRefusedError(Code.UNCHECKED_FILE, problem, field="sponsored.feedbackURI")
    return Evidence(payments, is_bound, is_file_checked)


def _binding(submission: Submission) -> bool:
    """Check the signed hash against the bodies or their hash. Return False if the message contains neither."""
    task_ref, bodies, data = submission.task_ref, submission.bodies, submission.data_hash
    field, problem = "interactionHash", "the signed hash does not match this payment and these bodies"
    if data is not None:
        expected = profiles.draft_interaction_hash(task_ref, data)
        if bodies is not None and profiles.draft_data_hash(bodies.request, bodies.response) != data:
            expected, field, problem = b"", "dataHash", "dataHash does not match these bodies"
    elif bodies is not None:
        expected = profiles.interaction_hash(task_ref, bodies.request, bodies.response)
    else:
        return False
    if expected != submission.interaction_hash:
        raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, problem, field=f"interactionData.{field}")
    return True


def _reviewer(state: ClientState, submission: Submission) -> Operation[None]:
    """Check both of the reviewer's signatures, which a key made or a contract validates (ERC-1271)."""
    deployment = yield from registries.connect(state)
    registry = deployment.address_of(Registry.REPUTATION)
    feedback, account = submission.feedback, submission.reviewer.address
    domain = Domain(deployment.chain_id, checksummed(registry))  # type: ignore[arg-type]  # it is checksummed
    digest = feedback.digest(domain)
    if not (yield from registries.is_valid_signature(state, account, digest, submission.registry_signature, registry)):
        problem = "sponsored.signature is not the reviewer's signature over this feedback for this registry"
        raise FeedbackRefusedError(Code.INVALID_REVIEWER_SIGNATURE, problem, field="sponsored.signature")
    message = _reviewer_message(submission)
    signature = registry_form(submission.reviewer_signature)
    for signed in (message, prefixed_digest(message)):
        if (yield from registries.is_valid_signature(state, account, signed, signature, None)):
            return
    problem = "reviewerSignature is not the reviewer's signature over the agent, payment and value"
    raise FeedbackRefusedError(Code.INVALID_REVIEWER_SIGNATURE, problem, field="reviewerSignature")


def _reviewer_message(submission: Submission) -> bytes:
    agent, task_ref, feedback, data = submission.agent, submission.task_ref, submission.feedback, submission.data_hash
    if data is None:
        return profiles.client_message_hash(agent, task_ref, feedback.value)
    value = FeedbackValue(feedback.value, feedback.value_decimals)
    return profiles.draft_reviewer_hash(agent, task_ref, data, value, feedback.tag1, feedback.tag2)


def _agent(state: ClientState, files: FileCache, submission: Submission, payment: Payment) -> Operation[None]:
    """Check the agent's signature against the keys in its current file or, failing that, its file at payment time."""
    token = submission.agent.agent_id.token_id
    try:
        (now,) = yield from registries.call(state, Registry.IDENTITY, "tokenURI", token)
    except ContractRevertError as error:
        raise FeedbackRefusedError(Code.UNKNOWN_AGENT, f"{submission.agent} does not exist: {error}") from None
    (then,) = yield from registries.call(state, Registry.IDENTITY, "tokenURI", token, block=hex(payment.block))
    problems: list[str] = []
    unreachable: DocumentError | None = None
    for uri, as_of, is_past in ((str(now), datetime.now(UTC), False), (str(then), payment.time, True)):
        try:
            for is_fresh in sorted({False, not is_past and _may_change(uri)}):  # keys may just have rotated
                file = yield from _registration(files, uri, submission.agent, is_past=is_past, is_fresh=is_fresh)
                signers = file.valid_signers(as_of)
                if find_signer(submission.interaction_hash, submission.agent_signature, signers) is not None:
                    return
            problems.append("no valid key in the registration file made the signature")
        except FeedbackRefusedError as error:
            problems.append(str(error))
        except MalformedDocumentError as error:
            problems.append(f"the registration file is malformed: {error}")
        except DocumentError as error:
            unreachable = error
    if unreachable is not None and not problems[1:]:
        raise FeedbackRefusedError(Code.UNAVAILABLE, f"the registration file cannot be loaded: {unreachable}")
    raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, problems[0])


def _may_change(uri: str) -> bool:
    return uri.strip().lower().startswith("https:")


def _registration(
    files: FileCache, uri: str, agent: GlobalAgentId, *, is_past: bool, is_fresh: bool
) -> Operation[RegistrationFile]:
    document: Document = yield Blocking(lambda: files.load(uri, is_fresh=is_fresh))
    if document.integrity is None and (is_past or not _may_change(uri)):
        problem = "nothing proves the past content of the registration file" if is_past else "nothing proves the file"
        raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, problem)
    file = document.registration()
    if file.registration_of(agent) is None:
        raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, f"the registration file does not list {agent}")
    if (count := len(file.signers or ())) > MAX_SIGNERS:
        raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, f"{count} signers exceed the limit of {MAX_SIGNERS}")
    return file


def _feedback_file(loader: Loader, submission: Submission) -> Operation[bool]:
    feedback = submission.feedback
    if not feedback.feedback_uri:
        return False
    try:
        document: Document = yield Blocking(lambda: loader.load(feedback.feedback_uri, feedback.feedback_hash))
    except HashMismatchError as error:
        raise invalid("sponsored.feedbackHash", str(error)) from None
    except DocumentError:
        return False
    if document.integrity is None:
        return False
    problem = _file_problem(document, submission)
    if problem is not None:
        raise invalid("sponsored.feedbackURI", problem)
    return True


def _file_problem(document: Document, submission: Submission) -> str | None:
    try:
        file = document.feedback()
    except MalformedDocumentError as error:
        return f"the feedback file is malformed: {error}"
    for name in sorted(file.malformed_fields & SIGNED_FIELDS):
        return f"{name} in the feedback file is malformed"
    for name, value, expected in _fields_of(file, submission):
        if value != expected:
            state = "missing or malformed" if value is None else "different from this message"
            return f"{name} in the feedback file is {state}"
    return None


def _fields_of(file: FeedbackFile, submission: Submission) -> list[tuple[str, Any, Any]]:
    """Return the fields that the feedback file and the message share: each field's name and its two values."""
    feedback, proof, data = submission.feedback, file.proof_of_interaction, submission.data_hash
    signed_hash = ("interactionHash", _digits(file.interaction_hash), submission.interaction_hash.hex())
    if proof is not None and data is not None:
        signed_hash = ("dataHash", _digits(proof.data_hash), data.hex())
    agent_signature, (name, signature) = file.agent_signature, ("clientSignature", file.client_signature)
    if proof is not None:
        agent_signature, (name, signature) = proof.agent_signature, ("reviewerSignature", proof.reviewer_signature)
    return [
        ("agentRegistry", _account(file.agent_registry), submission.agent.registry),
        ("agentId", str(file.agent_id), submission.agent.agent),
        ("clientAddress", _account(file.client_address), submission.reviewer),
        ("value", file.value, feedback.value),
        ("valueDecimals", file.value_decimals or 0, feedback.value_decimals),
        ("taskRef", file.payment_reference, submission.task_ref),
        signed_hash,
        ("agentSignature", *_comparable(agent_signature, submission.agent_signature)),
        (name, *_comparable(signature, submission.reviewer_signature)),
    ]


def _comparable(text: str | None, signature: bytes) -> tuple[str | None, str]:
    """Return two signatures in comparable form: without the last byte if keys may have made both, else unchanged."""
    there, here, digits = _digits(text), signature.hex(), _SIGNATURE_DIGITS
    if there is not None and {len(there), len(here)} <= {digits, digits + 2}:
        return there[:digits], here[:digits]
    return there, here


def _account(text: str | None) -> AccountId | None:
    try:
        return AccountId.parse(text or "", verify_checksum=False)
    except BilateralError:
        return None


def _digits(text: str | None) -> str | None:
    return text.lower().removeprefix("0x") if text else None


def find_payments(
    state: ClientState, chain: SponsoredChain, transaction: str, reviewer: str, agent: GlobalAgentId
) -> Operation[tuple[Payment, ...]]:
    """Find the reviewer's payments to the agent's wallet in the transaction."""
    reply = yield Rpc("eth_getTransactionReceipt", (transaction,))
    if reply is None:
        problem = f"the transaction {transaction} is not in any block"
        raise FeedbackRefusedError(Code.PAYMENT_NOT_FOUND, problem, retry_seconds=_BLOCK_SECONDS)
    receipt = answers.record(reply)
    if answers.quantity(receipt.get("status")) != 1:
        raise FeedbackRefusedError(Code.PAYMENT_NOT_FOUND, f"the transaction {transaction} failed")
    block = answers.quantity(receipt.get("blockNumber"))
    depth = (yield from registries.latest_block()) - block + 1
    if depth < chain.confirmations:
        problem = f"the payment has {depth} of {chain.confirmations} confirmations"
        raise FeedbackRefusedError(Code.PAYMENT_UNCONFIRMED, problem)
    wallet = yield from _wallet_at(state, agent, block)
    time = yield from registries.block_time(block)
    transfers = yield from read_transfers(transaction, receipt, reviewer, wallet)
    never = 2**256
    enough = [transfer for transfer in transfers if transfer.amount >= chain.tokens.get(transfer.log.address, never)]
    payments = tuple(
        Payment(reviewer, wallet, log.address, int.from_bytes(log.data), block, log.log_index, time, kind)
        for log, kind, _ in enough
        if kind in PROVABLE
    )
    if payments:
        return payments
    if not enough:
        accepted = ", ".join(f"{minimum} of {token}" for token, minimum in chain.tokens.items())
        problem = f"the transaction does not pay at least {accepted}, from {reviewer} to {wallet}"
        raise FeedbackRefusedError(Code.PAYMENT_MISMATCH, problem)
    if any(transfer.kind is None for transfer in enough):
        raise FeedbackRefusedError(Code.PAYMENT_NOT_PROVABLE, NO_TRACE)
    raise FeedbackRefusedError(Code.PAYMENT_NOT_SETTLED, NOT_SETTLED)


def _wallet_at(state: ClientState, agent: GlobalAgentId, block: int) -> Operation[str]:
    token = agent.agent_id.token_id
    try:
        (wallet,) = yield from registries.call(state, Registry.IDENTITY, "getAgentWallet", token, block=hex(block))
        if wallet == ZERO_ADDRESS:  # ERC-8004 registries also return it for agents that do not exist
            yield from registries.call(state, Registry.IDENTITY, "ownerOf", token)
    except ContractRevertError as error:
        raise FeedbackRefusedError(Code.UNKNOWN_AGENT, f"{agent} does not exist: {error}") from None
    if wallet == ZERO_ADDRESS:
        raise FeedbackRefusedError(Code.PAYMENT_MISMATCH, f"{agent} had no wallet at the payment's block")
    return str(wallet)
