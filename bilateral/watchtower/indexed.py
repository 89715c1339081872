"""What the index adds to the measurements of a period: hosts that name agents as theirs, and revenues."""

from collections import Counter, defaultdict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from sqlalchemy import Connection, func, select

from bilateral.core.errors import BilateralError
from bilateral.core.identifiers import AgentId
from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import registration_domain
from bilateral.index.payments.tables import payment, payment_cursor, payment_return
from bilateral.index.payments.terms import MICROS
from bilateral.index.reading.registries import agent_key, read_registries
from bilateral.index.search.plans import naming_domains
from bilateral.watchtower.periods import Period

_Key = tuple[int, str, int]

_LEAST_MICROS: Final = 10_000
"""The least revenues that are published: a cent."""


def owned_hosts(connection: Connection, agents: Collection[AgentId]) -> set[tuple[str, str]]:
    """Return the agents, by their short ids, and hosts of their services that name them as theirs."""
    keys = _keys(connection, agents)
    columns = agent.c.chain_id, agent.c.identity_registry, agent.c.agent_id, registration_domain.c.host
    rows = connection.execute(naming_domains(*columns).distinct())
    places = (((chain_id, identity, int(agent_id)), host) for chain_id, identity, agent_id, host in rows)
    return {(keys[key], host) for key, host in places if key in keys}


def revenues(connection: Connection, period: Period, agents: Collection[AgentId]) -> list[dict[str, Any]]:
    """Return what agents were paid by the end of the indexed payments, less what came back, as JSON.

    A payment counts for the agent whose wallet received it at that time, unless the payer is its owner, its wallet or
    acts for it. Dollars are rounded down to two digits.
    """
    keys, paid, back = _keys(connection, agents), payment.c, payment_return.c
    groups = paid.chain_id, paid.identity_registry, paid.agent_id, paid.payer, paid.payee, paid.owner
    strangers = (
        select(*groups, func.sum(paid.micros), func.min(paid.block_number))
        .where(paid.kinship.is_(None), paid.block_time < period.end)
        .group_by(*groups)
    )
    returns = (
        select(back.chain_id, back.payee, back.receiver, func.sum(back.micros))
        .where(back.block_time < period.end)
        .group_by(back.chain_id, back.payee, back.receiver)
    )
    returned = {tuple(place): int(micros) for *place, micros in connection.execute(returns)}
    cursors = connection.execute(select(payment_cursor.c.chain_id, payment_cursor.c.block_number))
    last = {row.chain_id: row.block_number for row in cursors}
    sellers: dict[_Key, _Seller] = defaultdict(_Seller)
    for chain_id, identity, agent_id, payer, payee, owner, micros, block in connection.execute(strangers):
        seller = sellers[chain_id, identity, int(agent_id)]
        seller.micros[payer] += int(micros)
        seller.accounts |= {payee, owner}
        seller.first_block = min(block, seller.first_block)
    leaves = []
    for key in sorted(keys.keys() & sellers.keys()):
        seller, chain_id = sellers[key], key[0]
        for payer in seller.micros:
            seller.micros[payer] -= sum(returned.get((chain_id, account, payer), 0) for account in seller.accounts)
        rest = sorted(micros for micros in seller.micros.values() if micros > 0)
        if sum(rest) >= _LEAST_MICROS:
            leaf = {"kind": "revenues", "period": period.name, "agents": {keys[key]: True}}
            share = str(rest[-1] * 1000 // sum(rest) / Decimal(10))
            figures = {"dollars": two_digits(sum(rest)), "payers": len(rest), "topShare": share}
            leaves.append(leaf | figures | {"blocks": [seller.first_block, last.get(chain_id)]})
    return leaves


@dataclass
class _Seller:
    micros: Counter[str] = field(default_factory=Counter)
    accounts: set[str] = field(default_factory=set)
    first_block: int = 1 << 62


def two_digits(micros: int) -> str:
    """Return millionths of a dollar as dollars, rounded down to two digits that count."""
    dollars = Decimal(micros).scaleb(-MICROS)
    quantum = Decimal(1).scaleb(dollars.adjusted() - 1)
    return format(dollars.quantize(quantum, ROUND_DOWN), "f") if quantum < 1 else str(int(dollars // quantum * quantum))


def _keys(connection: Connection, agents: Collection[AgentId]) -> dict[_Key, str]:
    registries = read_registries(connection)
    keys = {}
    for entry in agents:
        with suppress(BilateralError):  # the index no longer has its chain
            key = agent_key(registries, str(entry))
            keys[key.chain_id, key.identity_registry, key.agent_id] = str(entry)
    return keys
