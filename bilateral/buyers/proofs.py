"""Checks that a message's payment exists, and that the message was signed by a key or contract that may act."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from eth_abi.abi import encode
from sqlalchemy import Connection, select

from bilateral.buyers.errors import BuyerRefusalError
from bilateral.core.errors import BilateralError
from bilateral.core.events import ApprovalForAll
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PROVABLE
from bilateral.core.payments.contracts import BATCH, CLAIMED
from bilateral.core.signatures import Domain, TypedMessage, recover_signer
from bilateral.index.agents import tables as agent_tables
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.log import tables as schema
from bilateral.index.payments.accounts import Wallets
from bilateral.index.payments.tables import payment, payment_cursor
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.reading.registries import AgentKey
from bilateral.node import answers
from bilateral.node.payments import NO_TRACE, NOT_SETTLED, read_transfers, receipt_log
from bilateral.node.steps import run

_MAGIC: Final = bytes.fromhex("1626ba7e")
_RETRY_SECONDS: Final = 5  # two blocks of most chains
_NODE_SECONDS: Final = 5.0
"""The timeout for a node. If it expires, the caller gets status 503 with `Retry-After`."""

_QUESTIONS: Final = threading.BoundedSemaphore(8)
"""The maximum number of concurrent node requests: half the threads, so a slow node never blocks all of them."""


@dataclass(frozen=True)
class PaymentClaim:
    """A payment as specified in a message (`proofOfPayment`).

    Attributes:
        transaction: The hash of the transaction.
        payer: The account that paid, in checksum form.
        payee: The account that was paid, in checksum form.
        log_index: The index of the payment's log in the block; None if only one log matches.
    """

    chain_id: int
    transaction: bytes
    payer: str
    payee: str
    log_index: int | None = None


@dataclass(frozen=True)
class ProvenPayment:
    """A payment that the index contains.

    Attributes:
        transaction: The hash of the transaction.
        position: The payment's position among the payments in its transaction.
        payer: The account that paid.
        payee: The account that was paid.
        owner: The owner of the paid agent at the time of the payment.
    """

    chain_id: int
    transaction: bytes
    position: int
    payer: str
    payee: str
    owner: str


def find_payment(
    connection: Connection, claim: PaymentClaim, seller: AgentKey, nodes: Mapping[str, str]
) -> ProvenPayment:
    """Find the payment claimed in a message.

    Several agents may share a wallet. All of them are then considered paid, and the payment is attributed to the agent
    with the lowest id.
    """
    table = payment.c
    indexed = _read_indexed(connection, claim.chain_id)  # read first: payments up to its block are all found below
    of_transaction = table.chain_id == claim.chain_id, table.transaction_hash == claim.transaction
    query = select(payment).where(*of_transaction, table.payer == claim.payer, table.payee == claim.payee)
    rows = connection.execute(query).all()
    if claim.log_index is not None:
        rows = [row for row in rows if row.log_index == claim.log_index]
    if not rows:
        connection.close()  # anyone can trigger a lookup, and a slow node must not hold connections
        raise _missing(indexed, claim, nodes)
    wallets = Wallets(connection, claim.chain_id, [claim.payee])
    expected = seller.identity_registry, seller.agent_id
    fitting = [
        (row, owner)
        for row in rows
        for *agent, owner in wallets.agents_at(row.payee, (row.block_number, row.log_index))
        if tuple(agent) == expected
    ]
    if not fitting:
        detail = f"{claim.payee} was not the wallet of {seller.id} at the time of the payment"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "other_seller", detail)
    if len(fitting) > 1:
        indices = [row.log_index for row, _ in fitting]
        detail = "the transaction has several matching payments: specify one in proofOfPayment.logIndex"
        raise BuyerRefusalError(HTTPStatus.CONFLICT, "ambiguous_payment", detail, logIndices=indices)
    ((row, owner),) = fitting
    if row.kinship is not None:
        detail = f"the payer is the agent's {row.kinship}: payments to oneself do not count"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "own_payment", detail)
    return ProvenPayment(claim.chain_id, claim.transaction, row.position, row.payer, row.payee, owner)


@dataclass(frozen=True)
class _Indexed:
    """The last block whose payments are indexed, and the conditions under which transfers count."""

    block: int
    terms: PaymentTerms


def _missing(indexed: _Indexed | None, claim: PaymentClaim, nodes: Mapping[str, str]) -> BuyerRefusalError:
    """Check the chain, and return the error for a payment that is not indexed."""
    transaction = f"transaction 0x{claim.transaction.hex()}"
    url = nodes.get(str(claim.chain_id))
    if url is None:
        code = "payment_not_found"
        detail = f"the index has no payment from {claim.payer} to {claim.payee} in {transaction}"
    else:
        code, problem = _look_up(url, claim, indexed)
        detail = f"{transaction}: {problem}"
    if code == "payment_pending":
        return BuyerRefusalError(HTTPStatus.CONFLICT, code, detail, retry_seconds=_RETRY_SECONDS)
    return BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, code, detail)


def _read_indexed(connection: Connection, chain_id: int) -> _Indexed | None:
    table = payment_cursor.c
    query = select(table.block_number, table.terms).where(table.chain_id == chain_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _Indexed(row.block_number, PaymentTerms.parse(row.terms))


def _look_up(  # noqa: PLR0911  # one a reason
    url: str, claim: PaymentClaim, indexed: _Indexed | None
) -> tuple[str, str]:
    """Look up a transaction on demand, and evaluate it by the index's rules."""
    transaction = "0x" + claim.transaction.hex()
    try:
        receipt: Any = _ask(url, "eth_getTransactionReceipt", (transaction,), dict | None)
        if receipt is None:
            return "payment_not_found", "the chain does not contain it"
        if receipt.get("status") != "0x1":
            return "payment_not_found", "it failed"
        traces = indexed is not None and indexed.terms.traces
        reading = read_transfers(transaction, receipt, claim.payer, claim.payee, traces=traces)
        transfers = run(reading, partial(_perform, url))
        logs = map(receipt_log, answers.records(receipt.get("logs")))
        has_claim = any(log.topics[:1] == (CLAIMED,) and log.address == BATCH for log in logs)
        block = answers.quantity(receipt.get("blockNumber"))
    except BilateralError:
        return "payment_pending", "the node did not respond: try again"
    if claim.log_index is not None:
        transfers = [transfer for transfer in transfers if transfer.log.log_index == claim.log_index]
    tokens = {transfer.log.address for transfer in transfers}
    listed = tokens & set(indexed.terms.tokens if indexed is not None else ())
    kinds = {transfer.kind for transfer in transfers if transfer.log.address in listed}
    if not transfers and not has_claim:
        return "payment_not_found", "it has no transfer from the payer to the payee"
    if indexed is None or (transfers and not listed):
        problem = f"it moves {', '.join(sorted(tokens)) or 'tokens'}, which this service does not accept as payment"
        return "token_not_listed", problem
    if transfers and not indexed.terms.counts_plain and not kinds & PROVABLE:
        return ("payment_not_provable", NO_TRACE) if None in kinds else ("payment_not_settled", NOT_SETTLED)
    if block <= indexed.block:
        problem = (
            "its block is indexed, but no payment in it counted: the payee is not an agent's wallet, or got nothing"
        )
        return "payment_not_counted", problem
    return "payment_pending", "the payment is on chain, but has too few confirmations or is not indexed yet: try again"


def _perform(url: str, step: Any) -> Any:
    return _ask(url, step.method, step.parameters, dict[str, Any])


def _ask(url: str, method: str, arguments: tuple[Any, ...], kind: Any) -> Any:
    """Query a node, unless too many requests are in progress."""
    if not _QUESTIONS.acquire(blocking=False):
        detail = "too many node requests are in progress: try again later"
        raise BuyerRefusalError(HTTPStatus.SERVICE_UNAVAILABLE, "nodes_busy", detail, retry_seconds=int(_NODE_SECONDS))
    endpoint = Endpoint(url, timeout=_NODE_SECONDS)
    try:
        return endpoint.request(method, arguments, kind)
    finally:
        endpoint.close()
        _QUESTIONS.release()


def require_signer(
    message: TypedMessage, domain: Domain, signature: bytes, accepted: Collection[str], nodes: Mapping[str, str]
) -> str:
    """Return the account that signed a message."""
    signer = find_signer(message.digest(domain), domain.chain_id, signature, accepted, nodes)
    if signer is None:
        names = " or ".join(sorted(accepted)) or "nobody"
        raise BuyerRefusalError(HTTPStatus.UNAUTHORIZED, "invalid_signature", f"the signature was not made by {names}")
    return signer


def find_signer(
    digest: bytes, chain_id: int, signature: bytes, accepted: Collection[str], nodes: Mapping[str, str]
) -> str | None:
    """Return the account that signed a digest, with its key or as a contract (ERC-1271)."""
    signer = recover_signer(digest, signature)
    if signer is not None and checksummed(signer) in accepted:
        return checksummed(signer)
    url = nodes.get(str(chain_id))
    if url is None:
        return None
    return next((account for account in sorted(accepted) if _accepts(url, account, digest, signature)), None)


def _accepts(url: str, account: str, digest: bytes, signature: bytes) -> bool:
    data = "0x" + (_MAGIC + encode(["bytes32", "bytes"], [digest, signature])).hex()
    try:
        answer: str = _ask(url, "eth_call", ({"to": account, "data": data}, "latest"), str)
    except BilateralError:
        return False
    return answer[2:10] == _MAGIC.hex() and len(answer) == 66  # noqa: PLR2004  # 0x and a word


def operators_of(
    connection: Connection, chain_id: int, identity_registry: str, agent_id: int, accounts: Collection[str]
) -> set[str]:
    """Return which of `accounts` an agent's owner has approved for all of the owner's agents (ERC-721)."""
    table, agent = schema.EVENT_TABLES[ApprovalForAll].c, agent_tables.agent.c
    query = (
        select(table.operator, table.is_approved)
        .join(agent_tables.agent, (agent.chain_id == table.chain_id) & (agent.identity_registry == table.registry))
        .where(agent.chain_id == chain_id, agent.identity_registry == identity_registry, agent.agent_id == agent_id)
        .where(table.owner == agent.owner, table.operator.in_(accounts))
        .order_by(table.block_number, table.log_index)
    )
    last = {row.operator: bool(row.is_approved) for row in connection.execute(query)}
    return {operator for operator, is_approved in last.items() if is_approved}


def accounts_of(connection: Connection, seller: AgentKey) -> set[str]:
    """Return an agent's owner and wallet, which may act for the agent."""
    return {account for account in _owner_and_wallet(connection, seller) if account is not None}


def paid_accounts(connection: Connection, seller: AgentKey, paid: ProvenPayment) -> set[str]:
    """Return the accounts that may act for the seller of a payment, excluding those of later owners."""
    owner, wallet = _owner_and_wallet(connection, seller)
    present = {wallet} if owner == paid.owner and wallet is not None else set()
    return {paid.payee, paid.owner} | present


def _owner_and_wallet(connection: Connection, seller: AgentKey) -> tuple[str | None, str | None]:
    table = agent_tables.agent.c
    row = connection.execute(select(table.owner, table.wallet).where(*seller.of(table))).one_or_none()
    if row is None:
        raise BuyerRefusalError(HTTPStatus.NOT_FOUND, "agent_not_found", f"the index has no agent {seller.id}")
    return row.owner, row.wallet
