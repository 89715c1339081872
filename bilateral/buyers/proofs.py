"""Proofs that messages are of whom they claim: payments in the index, and signatures of keys and contracts."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from eth_abi.abi import encode
from sqlalchemy import select

from bilateral.buyers.errors import BuyerRefusalError
from bilateral.errors import BilateralError
from bilateral.identifiers import checksummed
from bilateral.index import schema
from bilateral.index.endpoint import Endpoint
from bilateral.index.payments.accounts import Wallets
from bilateral.index.payments.schema import payment
from bilateral.signatures import Domain, recover_signer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection

    from bilateral.index.queries.registries import AgentKey
    from bilateral.signatures import TypedMessage

_MAGIC: Final = bytes.fromhex("1626ba7e")
_RETRY_SECONDS: Final = 5
_NODE_SECONDS: Final = 5.0


@dataclass(frozen=True)
class PaymentClaim:
    """A payment as a message names it (`proofOfPayment`).

    Attributes:
        chain_id: Its chain.
        transaction: The hash of its transaction.
        payer: The account that paid, in checksum form.
        payee: The account that was paid, in checksum form.
        log_index: The index of its log in the block; None for the only one that fits.
    """

    chain_id: int
    transaction: bytes
    payer: str
    payee: str
    log_index: int | None = None


@dataclass(frozen=True)
class ProvenPayment:
    """A payment that the index has.

    Attributes:
        chain_id: Its chain.
        transaction: The hash of its transaction.
        log_index: The index of its log.
        payer: The account that paid.
        payee: The account that was paid.
    """

    chain_id: int
    transaction: bytes
    log_index: int
    payer: str
    payee: str


def find_payment(
    connection: Connection, claim: PaymentClaim, seller: AgentKey, nodes: Mapping[str, str]
) -> ProvenPayment:
    """Find the payment that a message claims.

    Args:
        connection: The database.
        claim: The claim.
        seller: The agent that must have been paid, at its wallet of that block.
        nodes: See `BuyerSettings.nodes`.

    Raises:
        BuyerRefusalError: The index lacks the payment, has several that fit, or the buyer paid itself.
    """
    table = payment.c
    found = connection.execute(
        select(payment).where(
            table.chain_id == claim.chain_id,
            table.transaction_hash == claim.transaction,
            table.payer == claim.payer,
            table.payee == claim.payee,
        )
    ).all()
    if claim.log_index is not None:
        found = [row for row in found if row.log_index == claim.log_index]
    if not found:
        raise _missing(claim, nodes)
    wallets = Wallets(connection, claim.chain_id, [claim.payee])
    wanted = seller.identity_registry, seller.agent_id
    fitting = [
        row
        for row in found
        if wanted in [it[:2] for it in wallets.agents_at(row.payee, (row.block_number, row.log_index))]
    ]
    if not fitting:
        detail = f"{claim.payee} was not the wallet of {seller.id} when it was paid"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "other_seller", detail)
    if len(fitting) > 1:
        indices = [row.log_index for row in fitting]
        detail = "the transaction has several payments that fit: name one in proofOfPayment.logIndex"
        raise BuyerRefusalError(HTTPStatus.CONFLICT, "ambiguous_payment", detail, logIndices=indices)
    (row,) = fitting
    if row.kinship is not None:
        detail = f"the payer is the {row.kinship} of the agent: payments to oneself do not count"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "own_payment", detail)
    return ProvenPayment(claim.chain_id, claim.transaction, row.log_index, row.payer, row.payee)


def _missing(claim: PaymentClaim, nodes: Mapping[str, str]) -> BuyerRefusalError:
    """Return the refusal of a payment that the index does not have, after a look at the chain."""
    url = nodes.get(str(claim.chain_id))
    if url is not None and (problem := _on_chain(url, claim)) is None:
        detail = "the payment is on chain, and has too few confirmations or is not indexed yet: try again"
        return BuyerRefusalError(HTTPStatus.CONFLICT, "payment_pending", detail, retry_seconds=_RETRY_SECONDS)
    detail = (
        f"the index has no payment of {claim.payer} to {claim.payee} in transaction 0x{claim.transaction.hex()}"
        if url is None
        else f"transaction 0x{claim.transaction.hex()}: {problem}"
    )
    return BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "payment_not_found", detail)


def _on_chain(url: str, claim: PaymentClaim) -> str | None:
    """Look a transaction up on demand.

    Returns:
        Why it proves no payment; None if it has a transfer from the payer to the payee.
    """
    endpoint = Endpoint(url, timeout=_NODE_SECONDS)
    try:
        receipt: Any = endpoint.request("eth_getTransactionReceipt", ("0x" + claim.transaction.hex(),), dict | None)  # type: ignore[arg-type]
    except BilateralError:
        return "the node does not answer"
    finally:
        endpoint.close()
    if receipt is None:
        return "the chain does not have it"
    if receipt.get("status") != "0x1":
        return "it failed"
    wanted = [bytes(12) + bytes.fromhex(it[2:]) for it in (claim.payer, claim.payee)]
    for log in receipt.get("logs", ()):
        topics = log.get("topics", ())
        if len(topics) == 3 and [bytes.fromhex(it[2:]) for it in topics[1:]] == wanted:  # noqa: PLR2004  # of ERC-20
            return None
    return "it has no transfer from the payer to the payee"


def require_signer(
    message: TypedMessage,
    domain: Domain,
    signature: bytes,
    accepted: Collection[str],
    nodes: Mapping[str, str],
) -> str:
    """Return the account that signed a message.

    Args:
        message: The message.
        domain: Its domain.
        signature: The signature of a key, or one that a contract accepts (ERC-1271).
        accepted: The accounts that may sign.
        nodes: See `BuyerSettings.nodes`.

    Raises:
        BuyerRefusalError: None of them signed it.
    """
    digest = message.digest(domain)
    signer = recover_signer(digest, signature)
    if signer is not None and checksummed(signer) in accepted:
        return checksummed(signer)
    url = nodes.get(str(domain.chain_id))
    for account in sorted(accepted) if url is not None else ():
        if _accepts(url or "", account, digest, signature):
            return account
    names = " or ".join(sorted(accepted)) or "nobody"
    raise BuyerRefusalError(HTTPStatus.UNAUTHORIZED, "invalid_signature", f"the signature is not of {names}")


def _accepts(url: str, account: str, digest: bytes, signature: bytes) -> bool:
    """Ask a contract if it accepts a signature (ERC-1271)."""
    endpoint = Endpoint(url, timeout=_NODE_SECONDS)
    data = "0x" + (_MAGIC + encode(["bytes32", "bytes"], [digest, signature])).hex()
    try:
        answer: str = endpoint.request("eth_call", ({"to": account, "data": data}, "latest"), str)
    except BilateralError:
        return False
    finally:
        endpoint.close()
    return answer[2:10] == _MAGIC.hex() and len(answer) == 66  # noqa: PLR2004  # 0x and a word


def accounts_of(connection: Connection, seller: AgentKey) -> set[str]:
    """Return the owner and the wallet of an agent: they speak for it.

    Args:
        connection: The database.
        seller: The agent.

    Raises:
        BuyerRefusalError: The index has no such agent.
    """
    table = schema.agent.c
    row = connection.execute(
        select(table.owner, table.wallet).where(
            table.chain_id == seller.chain_id,
            table.identity_registry == seller.identity_registry,
            table.agent_id == seller.agent_id,
        )
    ).one_or_none()
    if row is None:
        raise BuyerRefusalError(HTTPStatus.NOT_FOUND, "agent_not_found", f"the index has no agent {seller.id}")
    return {it for it in row if it is not None}
