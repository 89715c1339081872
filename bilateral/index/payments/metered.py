"""What sellers of metered services charge of the amounts that buyers sign for.

Only its signed ceiling limits a metered payment on chain. A seller that always takes all of it may meter nothing, which
is worth a remark, and proves nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from sqlalchemy import Connection, select

from bilateral.index.payments.tables import payment
from bilateral.index.reading.registries import AgentKey

_OWN: Final = 300  # newest payments to the accounts of an agent
_OF_OTHERS: Final = 3_000  # newest payments of the chain, read only for an agent that takes all
_ALL: Final = 0.99


@dataclass(frozen=True, slots=True)
class MeteredSales:
    """The share of signed ceilings that a seller charged, by its newest payments.

    Attributes:
        share: The share, 0 to 1. Each payment weighs what it paid, so that small ones hide no large one.
        others: The median share of other sellers, for a seller that takes at least 99 % where they take less.
    """

    share: float
    others: float | None


def metered_sales(connection: Connection, key: AgentKey, accounts: Collection[str]) -> MeteredSales | None:
    """Return what an agent charged of its buyers' ceilings; None if nobody paid it by a meter."""
    columns = payment.c
    newest = (
        select(columns.agent_id, columns.owner, columns.micros, columns.amount, columns.ceiling)
        .where(columns.chain_id == key.chain_id, columns.kinship.is_(None))
        .order_by(columns.block_number.desc(), columns.log_index.desc())
    )
    received = connection.execute(newest.where(columns.payee.in_(accounts)).limit(_OWN)).all()
    share = _share([row for row in received if row.agent_id == key.agent_id])
    if share is None:
        return None
    sellers = defaultdict(list)
    for row in connection.execute(newest.limit(_OF_OTHERS)) if share >= _ALL else ():
        sellers[row.owner].append(row)
    shares = [of_other for owner, rows in sellers.items() if owner not in accounts and (of_other := _share(rows))]
    others = median(shares) if shares else 1.0
    return MeteredSales(share, others if others < _ALL else None)


def _share(payments: Sequence[Any]) -> float | None:
    metered = [(row.micros, row.amount / row.ceiling) for row in payments if row.ceiling]
    paid = sum(micros for micros, _ in metered)
    return sum(micros * share for micros, share in metered) / paid if paid else None
