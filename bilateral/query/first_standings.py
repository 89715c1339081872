"""Standings before the first refresh: from the ratings of one agent, by paid, distinct raters.

`bilateral.trust.standings.standings_of_ratings` does the same for all agents at once.
"""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from bilateral.index.tables.payments import payment
from bilateral.index.tables.schema import agent, chain, counterpart, registry
from bilateral.values.bounds import QUANTILE, SHARES, scale_of_tag
from bilateral.values.standing import LEAST, Basis, Reason, Standing, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

UNPAID: Final = 0.2
"""The weight of a rater who did not pay, if a rater of the agent did. `standings_of_ratings` gives as much."""

MOST_READ: Final = 2_000
"""Raters and payments that are read: a page waits for them. So many leave the bounds less than five points apart,
whoever else rates, and take 5 ms. 5,000 took 12 ms."""

_MICROS: Final = 10**6  # millionths of a dollar


def first_standing(connection: Connection, chain_id: int, identity: str, agent_id: int, side: str) -> Standing | None:
    """Return the standing of an agent by its ratings alone; None if the index has no such agent.

    Each account counts once, by the mean of its values as shares of their scales. Nobody is held back. Of many raters,
    the first `MOST_READ` count.

    Args:
        connection: The database.
        chain_id: The chain.
        identity: The identity registry.
        agent_id: The agent.
        side: `server` or `client`.
    """
    known = agent.c.chain_id == chain_id, agent.c.identity_registry == identity, agent.c.agent_id == agent_id
    wallets = connection.execute(select(agent.c.owner, agent.c.wallet).where(*known)).first()
    if wallets is None:
        return None
    shares = _shares(connection, chain_id, identity, agent_id, side)
    paid = _paid(connection, chain_id, agent_id, tuple(wallets)) if side == "server" else {}
    for own in wallets:
        shares.pop(own, None)
        paid.pop(own, None)
    has_payers = any(account in paid for account in shares)
    weights = {account: 1.0 if account in paid or not has_payers else UNPAID for account in shares}
    effective = sum(weights.values())
    rating = sum(weights[account] * share for account, share in shares.items()) / effective if shares else None
    lower, upper = _interval(rating, effective)
    count, amount = sum(count for count, _ in paid.values()), sum(amount for _, amount in paid.values())
    reasons = [Reason("paid" if count else "no_payments", amount, {"payments": count})]
    if effective < LEAST:
        reasons.insert(0, Reason("few_raters", None, {"raters": len(shares), "effective": round(effective, 3)}))
    block = connection.execute(select(chain.c.block_number).where(chain.c.chain_id == chain_id)).scalar_one()
    return Standing(
        side=side,
        agent_id=agent_id,
        basis=Basis.RATINGS,
        status=Status.THIN if effective < LEAST else Status.OK,
        rating=None if rating is None else 100 * rating,
        lower=lower,
        upper=upper,
        effective_raters=effective,
        raters=len(shares),
        payments=count,
        paid=amount,
        first_at=None,
        last_at=None,
        evidence_cost=0.0,
        reasons=tuple(reasons),
        block=block,
    )


def _shares(connection: Connection, chain_id: int, identity: str, agent_id: int, side: str) -> dict[str, float]:
    """Return the mean share of the accounts that rated an agent, over the tags that have a scale: of the first ones."""
    columns, of_registry = counterpart.c, registry.c
    # With a join, SQLite reads the counterparts of all agents of the chain, and looks the registry of each up.
    addresses = select(of_registry.address).where(
        of_registry.chain_id == chain_id, of_registry.identity_registry == identity
    )
    query = (
        select(columns.account, columns.tag, columns.share_sum, columns["count"])
        .where(columns.chain_id == chain_id, columns.registry.in_(addresses))
        .where(columns.agent_id == agent_id, columns.side == side)
        .limit(MOST_READ)
    )
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for account, tag, share_sum, count in connection.execute(query):
        if scale_of_tag(tag) is not None:
            sums[account][0] += share_sum
            sums[account][1] += count
    return {account: total / count / SHARES for account, (total, count) in sums.items()}


def _paid(
    connection: Connection, chain_id: int, agent_id: int, wallets: Sequence[str | None]
) -> dict[str, tuple[int, float]]:
    """Return the number and the sum of each account's payments for an agent, to its present owner and wallet."""
    columns = payment.c
    payees = [wallet for wallet in wallets if wallet is not None]
    query = (
        select(columns.payer, columns.micros)
        .where(columns.chain_id == chain_id, columns.payee.in_(payees), columns.agent_id == agent_id)
        .limit(MOST_READ)
    )
    sums: dict[str, tuple[int, float]] = {}
    for payer, micros in connection.execute(query):
        count, amount = sums.get(payer, (0, 0.0))
        sums[payer] = count + 1, amount + float(micros) / _MICROS
    return sums


def _interval(share: float | None, count: float) -> tuple[float, float]:
    """Return Wilson's bounds in percent, as `bilateral.values.bounds` has them, for counts that need not be whole."""
    if share is None:
        return 0.0, 100.0
    squared = QUANTILE**2
    centre = share + squared / (2 * count)
    spread = QUANTILE * sqrt((share * (1 - share) + squared / (4 * count)) / count)
    lower, upper = ((centre + sign * spread) / (1 + squared / count) * 100 for sign in (-1, 1))
    return max(lower, 0.0), min(upper, 100.0)
