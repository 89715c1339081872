"""What the index adds to the measurements of a period: hosts that name agents as theirs, and revenues."""

from collections import defaultdict
from collections.abc import Collection
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, func, select

from bilateral.core.errors import BilateralError
from bilateral.core.identifiers import AgentId
from bilateral.index.files import tables as files
from bilateral.index.files.tables import State, agent_file
from bilateral.index.payments.tables import payment, payment_cursor, payment_return
from bilateral.index.payments.terms import MICROS
from bilateral.index.reading.registries import agent_key, read_registries
from bilateral.watchtower.periods import Period

_Key = tuple[int, str, int]

_LEAST_MICROS: Final = 10_000
"""The least revenues that are published: a cent."""


def owned_hosts(connection: Connection, agents: Collection[AgentId]) -> set[tuple[str, str]]:
    """Return the agents, by their short ids, and hosts of their services that name them as theirs."""
    keys = _keys(connection, agents)
    own, served = files.file.alias("own_file"), files.file.alias("domain_file")
    domain, claim, current = files.registration_domain.c, files.registration_claim.c, agent_file.c
    registry = sa.literal("eip155:") + sa.cast(current.chain_id, sa.String) + ":" + current.identity_registry
    names_it = sa.or_(
        sa.and_(served.c.file_id == domain.file_id, served.c.state == State.LOADED),
        sa.and_(served.c.file_id == own.c.file_id, own.c.host == domain.host, own.c.uri.startswith("https://")),
    )
    query = select(current.chain_id, current.identity_registry, current.agent_id, domain.host).where(
        own.c.file_id == current.file_id,
        own.c.state == State.LOADED,
        domain.content_hash == own.c.content_hash,
        names_it,
        claim.content_hash == served.c.content_hash,
        claim.agent_registry == registry,
        claim.agent_id == current.agent_id,
    )
    rows = connection.execute(query.distinct())
    found = (((chain_id, identity, int(agent_id)), host) for chain_id, identity, agent_id, host in rows)
    return {(keys[key], host) for key, host in found if key in keys}


def revenues(connection: Connection, period: Period, agents: Collection[AgentId]) -> list[dict[str, Any]]:
    """Return what agents were paid by the end of the indexed payments, less what came back, as JSON.

    A payment counts for the agent whose wallet received it at that time, unless the payer is its owner, its wallet or
    acts for it. Dollars are rounded down to two digits.
    """
    keys = _keys(connection, agents)
    paid, agent_columns = payment.c, (payment.c.chain_id, payment.c.identity_registry, payment.c.agent_id)
    totals = func.sum(paid.micros), func.min(paid.block_number)
    strangers = select(*agent_columns, paid.payer, paid.payee, paid.owner, *totals).where(
        paid.kinship.is_(None), paid.block_time < period.end
    )
    micros: dict[_Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    accounts: dict[_Key, set[str]] = defaultdict(set)
    first: dict[_Key, int] = {}
    for *columns, payer, payee, owner, total, block in connection.execute(
        strangers.group_by(*agent_columns, paid.payer, paid.payee, paid.owner)
    ):
        key = columns[0], columns[1], int(columns[2])
        if key in keys:
            micros[key][payer] += int(total)
            accounts[key] |= {payee, owner}
            first[key] = min(block, first.get(key, block))
    back = payment_return.c
    returns = select(back.chain_id, back.payee, back.receiver, func.sum(back.micros)).where(
        back.block_time < period.end
    )
    returned: dict[tuple[int, str, str], int] = {
        (chain_id, payee, receiver): int(total)
        for chain_id, payee, receiver, total in connection.execute(
            returns.group_by(back.chain_id, back.payee, back.receiver)
        )
    }
    last: dict[int, int] = {
        row.chain_id: row.block_number
        for row in connection.execute(select(payment_cursor.c.chain_id, payment_cursor.c.block_number))
    }
    leaves = []
    for key in sorted(micros):
        net = {
            payer: total - sum(returned.get((key[0], account, payer), 0) for account in accounts[key])
            for payer, total in micros[key].items()
        }
        positive = sorted((total for total in net.values() if total > 0), reverse=True)
        if sum(positive) >= _LEAST_MICROS:
            leaves.append(
                {
                    "kind": "revenues",
                    "period": period.name,
                    "agents": {keys[key]: True},
                    "dollars": two_digits(sum(positive)),
                    "payers": len(positive),
                    "topShare": str(positive[0] * 1000 // sum(positive) / Decimal(10)),
                    "blocks": [first[key], last.get(key[0])],
                }
            )
    return leaves


def two_digits(micros: int) -> str:
    """Return millionths of a dollar as dollars, rounded down to two digits that count."""
    dollars = Decimal(micros).scaleb(-MICROS)
    quantum = Decimal(1).scaleb(dollars.adjusted() - 1)
    return format(dollars.quantize(quantum, ROUND_DOWN), "f") if quantum < 1 else str(int(dollars // quantum * quantum))


def _keys(connection: Connection, agents: Collection[AgentId]) -> dict[_Key, str]:
    registries = read_registries(connection)
    keys = {}
    for agent in agents:
        try:
            key = agent_key(registries, str(agent))
        except BilateralError:  # the index no longer has its chain
            continue
        keys[key.chain_id, key.identity_registry, key.agent_id] = str(agent)
    return keys
