"""A buyer's dealings on one chain, from the index: payments to each seller, reviews, sellers' votes and disputes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection

from bilateral.buyers import tables as messages
from bilateral.buyers.score import half_up
from bilateral.core.payments.contracts import CANONICAL
from bilateral.index.log.columns import python_integer
from bilateral.index.log.dialects import in_parts
from bilateral.index.payments import tables
from bilateral.index.payments.accounts import Wallets
from bilateral.index.payments.tables import payment
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.readers import require_patience

Seller = tuple[str, int]
"""A paid agent's identity registry and id."""

MOST_REVIEWS: Final = 10_000
"""The maximum number of on-chain reviews to read per buyer, newest first."""

MOST_FUNDED: Final = 100
"""The maximum number of accounts that a funder may fund. Above it, the funder is ignored as an exchange or faucet."""

_HIGHEST: Final = 100  # the Buyer Reputation Protocol rates from 0 to 100
_LAST_BLOCK: Final = 2**62  # a block that no chain reaches, within a BIGINT


@dataclass(slots=True)
class Dealings:
    """A buyer's dealings with one seller.

    Attributes:
        payments: The number of payments.
        micros: The sum of the payments, in millionths of a dollar.
        first_at: The time of the first payment, in Unix seconds.
        last_at: The time of the last payment.
        own: The number of payments that the buyer made to its own agent. They are not included in `payments`.
        returned: The amount that the seller's wallets and owners returned to the buyer, in millionths of a dollar.
        reviews: The scores that the buyer gave the seller, from 0 to 100; at most one per payment.
        votes: The scores that the seller gave the buyer, from 0 to 100.
        filed: The number of disputes that are filed and undecided.
        upheld: The number of disputes that were upheld.
        shares_funder: True if the same account funded both buyer and seller, or if one of them funded the other.
    """

    payments: int = 0
    micros: int = 0
    first_at: int = 0
    last_at: int = 0
    own: int = 0
    returned: int = 0
    reviews: list[int] = field(default_factory=list)
    votes: list[int] = field(default_factory=list)
    filed: int = 0
    upheld: int = 0
    shares_funder: bool = False


def read_dealings(
    connection: Connection, chain_id: int, buyer: str, until: int | None = None, paid_until: int | None = None
) -> dict[Seller, Dealings]:
    """Read the dealings of a buyer."""
    dealings: dict[Seller, Dealings] = defaultdict(Dealings)
    block = _LAST_BLOCK if until is None else until
    values = {"chain_id": chain_id, "buyer": buyer, "until": block}
    paid = values if paid_until is None else {**values, "until": paid_until}
    rows = _statement(with_messages=until is None).all(connection, paid)
    for kind, registry, agent_id, count, total, first, last, own in rows:
        dealing = dealings[registry, agent_id]
        if kind == "payment":
            dealing.payments, dealing.micros, dealing.own = count, int(total), own
            dealing.first_at, dealing.last_at = first or 0, last or 0
        elif kind == "review":
            dealing.reviews.append(int(total))
        elif kind == "vote":
            dealing.votes.append(int(total))
        elif kind == "filed":
            dealing.filed += count
        else:
            dealing.upheld += count
    if any(dealing.payments for dealing in dealings.values()):
        _add_reviews_on_chain(connection, values, paid, dealings)
    return dict(dealings)


def of_payment(table: sa.Table) -> Any:
    """Return the SQL condition that is true for messages about a payment."""
    is_same = payment.c.transaction_hash == table.c.transaction_hash, payment.c.chain_id == table.c.chain_id
    return sa.and_(*is_same, payment.c.position == table.c.payment_position)


@cache
def _statement(*, with_messages: bool) -> Prepared:
    """Return the cached statement that reads a buyer's payments and the messages about the buyer."""
    paid, is_counted = payment.c, payment.c.kinship.is_(None)
    payments = (
        sa.select(
            sa.literal("payment").label("kind"),
            paid.identity_registry,
            paid.agent_id,
            sa.func.sum(sa.case((is_counted, 1), else_=0)),
            sa.func.coalesce(sa.func.sum(sa.case((is_counted, paid.micros), else_=0)), 0).label("total"),
            sa.func.min(sa.case((is_counted, paid.block_time))),
            sa.func.max(sa.case((is_counted, paid.block_time))),
            sa.func.sum(sa.case((is_counted, 0), else_=1)),
        )
        .where(paid.chain_id == sa.bindparam("chain_id"), paid.payer == sa.bindparam("buyer"))
        .where(paid.block_number <= sa.bindparam("until"))
        .group_by(paid.identity_registry, paid.agent_id)
    )

    if not with_messages:
        return Prepared(payments)

    def about(kind: Any, table: sa.Table, total: Any) -> Any:
        """Select messages whose payments are on chain, each for the agent to which its payment is attributed.

        A message may refer to another agent with the same wallet, because `find_payment` considers both agents paid.
        """
        paid_agent = payment.c.identity_registry, payment.c.agent_id
        columns = kind, *paid_agent, sa.literal(1), total, sa.null(), sa.null(), sa.literal(0)
        return (
            sa.select(*columns)
            .join(payment, of_payment(table) & (payment.c.payer == table.c.buyer))
            .where(table.c.chain_id == sa.bindparam("chain_id"), table.c.buyer == sa.bindparam("buyer"))
            .where(payment.c.kinship.is_(None))
        )

    counted = (messages.buyer_dispute.c.state == "filed") | (messages.buyer_dispute.c.state == "upheld")
    return Prepared(
        sa.union_all(
            payments,
            about(sa.literal("review"), messages.agent_review, messages.agent_review.c.score),
            about(sa.literal("vote"), messages.buyer_feedback, messages.buyer_feedback.c.score).where(
                messages.buyer_feedback.c.is_counted
            ),
            about(messages.buyer_dispute.c.state, messages.buyer_dispute, sa.literal(0)).where(counted),
        )
    )


_REVIEWS: Final = Prepared(
    sa.text(
        f"""
    SELECT registry.identity_registry, given.agent_id, given.value, given.value_decimals
    FROM feedback given
    JOIN registry ON registry.chain_id = given.chain_id AND registry.address = given.registry
    WHERE given.chain_id = :chain_id AND given.client_address = :buyer AND given.tag1 = 'starred'
      AND given.block_number <= :until AND (NOT given.is_revoked OR given.revoked_block > :until)
    ORDER BY given.block_number DESC, given.log_index DESC LIMIT {MOST_REVIEWS}
    """  # noqa: S608  # a number of ours
    )
    .bindparams(sa.bindparam("chain_id", type_=sa.BigInteger), sa.bindparam("until", type_=sa.BigInteger))
    .bindparams(sa.bindparam("buyer", type_=sa.String))
    .columns(*map(sa.column, ("identity_registry", "agent_id", "value", "value_decimals")))
)


def _add_reviews_on_chain(
    connection: Connection,
    parameters: Mapping[str, Any],
    paying: Mapping[str, Any],
    dealings: Mapping[Seller, Dealings],
) -> None:
    """Add the buyer's unrevoked `starred` feedback (0 to 100), newest first, at most one entry per payment."""
    rows = _REVIEWS.all(connection, parameters)
    reviewed = {(registry, python_integer(agent_id)) for registry, agent_id, _, _ in rows}
    paid = _paid_agents(
        connection, paying, reviewed - {seller for seller, dealing in dealings.items() if dealing.payments}
    )
    for registry, agent_id, value, decimals in rows:
        seller = registry, python_integer(agent_id)
        dealing = dealings.get(paid.get(seller, seller))
        if dealing is None or len(dealing.reviews) >= dealing.payments:
            continue
        number, unit = python_integer(value), 10 ** int(decimals)
        if 0 <= number <= _HIGHEST * unit:
            dealing.reviews.append(half_up(number, unit))


def _paid_agents(connection: Connection, parameters: Mapping[str, Any], agents: set[Seller]) -> dict[Seller, Seller]:
    """Map each agent to the agent with the same wallet to which payments to that wallet are attributed."""
    # If several agents share a wallet, its payments and the reviews of all these agents count for the agent with the
    # lowest id. If this agent changed between payments, the first one counts.
    if not agents:
        return {}
    require_patience(connection)
    table, paid = payment.c, dict[Seller, Seller]()
    is_paid = (
        (table.chain_id == parameters["chain_id"])
        & (table.payer == parameters["buyer"])
        & (table.block_number <= parameters["until"])
        & table.kinship.is_(None)
    )
    payees = set(connection.execute(sa.select(table.payee).where(is_paid).distinct()).scalars())
    shared = sorted(payees & _wallets_of(connection, parameters["chain_id"], sorted(agents)))
    wallets = Wallets(connection, parameters["chain_id"], shared)
    columns = table.payee, table.block_number, table.log_index, table.identity_registry, table.agent_id
    for part in in_parts(shared):
        query = sa.select(*columns).where(is_paid, table.payee.in_(part))
        for row in connection.execute(query.order_by(table.block_number, table.log_index)):
            for registry, agent_id, _ in wallets.agents_at(row.payee, (row.block_number, row.log_index)):
                if (registry, agent_id) in agents:
                    paid.setdefault((registry, agent_id), (row.identity_registry, int(row.agent_id)))
    return paid


def _wallets_of(connection: Connection, chain_id: int, agents: Sequence[Seller]) -> set[str]:
    table, wallets = tables.agent_account.c, set[str]()
    for part in in_parts(agents):
        is_agent = sa.tuple_(table.identity_registry, table.agent_id).in_(part)
        query = sa.select(table.wallet).where(table.chain_id == chain_id, is_agent, table.wallet.is_not(None))
        wallets.update(connection.execute(query.distinct()).scalars())
    return wallets


_FUNDERS: Final = sa.text(
    """
    SELECT account, source, (
      SELECT count(*) FROM (
        SELECT 1 FROM funding other
        WHERE other.chain_id = known.chain_id AND other.source = known.source
          AND other.block_number <= :until AND (other.seen_block IS NULL OR other.seen_block < :until)
        LIMIT :most) funded) AS reach
    FROM funding known
    WHERE chain_id = :chain_id AND block_number <= :until AND (seen_block IS NULL OR seen_block < :until)
      AND (account = :buyer
      OR account IN (SELECT owner FROM payment WHERE chain_id = :chain_id AND payer = :buyer)
      OR account IN (SELECT payee FROM payment WHERE chain_id = :chain_id AND payer = :buyer))
    """
)


def add_ties(  # noqa: PLR0913, PLR0917  # two limits
    connection: Connection,
    chain_id: int,
    buyer: str,
    dealings: Mapping[Seller, Dealings],
    until: int | None = None,
    paid_until: int | None = None,
) -> None:
    """Add to the dealings the money that sellers returned, and mark sellers that share a funder with the buyer."""
    block = _LAST_BLOCK if until is None else until
    paid = block if paid_until is None else paid_until
    table = payment.c
    query = sa.select(table.identity_registry, table.agent_id, table.payee, table.owner).distinct()
    accounts: dict[Seller, set[str]] = defaultdict(set)
    for registry, agent_id, payee, owner in connection.execute(
        query.where(table.chain_id == chain_id, table.payer == buyer, table.block_number <= paid)
    ):
        accounts[registry, int(agent_id)].update((payee, owner))
    back = tables.payment_return.c
    returned = (
        sa.select(back.payee, sa.func.sum(back.micros))
        .where(back.chain_id == chain_id, back.receiver == buyer, back.block_number <= paid)
        .group_by(back.payee)
    )
    totals = {payee: int(total) for payee, total in connection.execute(returned)}
    values = {"chain_id": chain_id, "buyer": buyer, "until": block, "most": MOST_FUNDED + 1}
    rows = [row for row in connection.execute(_FUNDERS, values) if row.source and row.source not in CANONICAL]
    funders = {row.account: row.source for row in rows}
    public = {row.source for row in rows if row.reach > MOST_FUNDED}
    for seller, own in accounts.items():
        if seller in dealings:
            dealings[seller].shares_funder = _are_tied(buyer, own, funders, public)
    for account, total in totals.items():
        _share(total, [dealings[seller] for seller, own in accounts.items() if account in own and seller in dealings])


def _share(total: int, dealings: Sequence[Dealings]) -> None:
    """Split the money that an account returned among its agents, in proportion to the agents' remaining amounts."""
    # An owner may have several agents, but returned the money only once. Rounding favours the buyer.
    remaining = [max(0, dealing.micros - dealing.returned) for dealing in dealings]
    whole = sum(remaining)
    for dealing, part in zip(dealings, remaining, strict=True):
        dealing.returned += min(part, total * part // whole) if whole else 0


def _are_tied(buyer: str, accounts: set[str], funders: Mapping[str, str], public: set[str]) -> bool:
    """Return True if one account funded the other, or if both share a funder that is not an exchange or faucet."""
    source = funders.get(buyer)
    shared = None if source in public else source
    return any(
        funders.get(account) == buyer or source == account or (shared is not None and funders.get(account) == shared)
        for account in accounts
    )
