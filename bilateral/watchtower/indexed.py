"""A period's measurements, with what the index adds: hosts that list agents as theirs, and revenues."""

import time
from collections import Counter, defaultdict
from collections.abc import Collection
from contextlib import suppress
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from sqlalchemy import Connection, Engine, func, select, union

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.identifiers import AgentId
from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import registration_domain
from bilateral.index.log.database import snapshot
from bilateral.index.payments.tables import payment, payment_cursor, payment_return
from bilateral.index.payments.terms import MICROS
from bilateral.index.reading.registries import agent_key, read_registries
from bilateral.index.search.plans import naming_domains
from bilateral.watchtower.periods import Period, measure
from bilateral.watchtower.store import Store

_Key = tuple[int, str, int]

_SELLER: Final = ("chain_id", "identity_registry", "agent_id")
_LEAST_MICROS: Final = 10_000
"""The smallest revenue that is published: a cent."""

_SETTLING_SECONDS: Final = 3_600
"""Seconds after the end of a period until failures before its end are confirmed."""

_FROZEN: Final = "published_leaves"
_RETAINED: Final = 3  # periods, of which the last ones may still be published on another chain


def measurements(store: Store, index: Engine, period: Period) -> list[dict[str, Any]]:
    """Return a period's measurements: the published ones, or current ones from the store and the index."""
    frozen: dict[str, list[dict[str, Any]]] = store.setting(_FROZEN) or {}
    if period.name in frozen:
        return frozen[period.name]
    agents = {agent for entry in store.endpoints() for agent in entry.target.agents}
    with snapshot(index) as connection:
        owned = owned_hosts(connection, agents)
        return [*measure(store, period, owned), *revenues(connection, period, agents)]


def freeze(
    store: Store, index: Engine, period: Period, *, dry_run: bool = False
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the measurements of a period and of the one published before it, and store both for later runs."""
    if time.time() < period.end + _SETTLING_SECONDS:
        raise InvalidArgumentError(f"{period.name} can be published no earlier than an hour after its end")
    leaves = measurements(store, index, period)
    if not leaves:
        raise InvalidArgumentError(f"nothing was measured in {period.name}")
    frozen: dict[str, list[dict[str, Any]]] = store.setting(_FROZEN) or {}
    previous = [frozen[name] for name in sorted(frozen) if name < period.name]
    if not dry_run:
        frozen[period.name] = leaves
        store.set_setting(_FROZEN, {name: frozen[name] for name in sorted(frozen)[-_RETAINED:]})
    return leaves, previous[-1] if previous else []


def owned_hosts(connection: Connection, agents: Collection[AgentId]) -> set[tuple[str, str]]:
    """Return the agents, by short id, and the hosts of their services that list them as theirs."""
    keys = _keys(connection, agents)
    rows = connection.execute(naming_domains(*agent.c[_SELLER], registration_domain.c.host).distinct())
    places = (((chain_id, identity, int(agent_id)), host) for chain_id, identity, agent_id, host in rows)
    return {(keys[key], host) for key, host in places if key in keys}


def revenues(connection: Connection, period: Period, agents: Collection[AgentId]) -> list[dict[str, Any]]:
    """Return what agents were paid by the end of the indexed payments, minus what came back, as JSON.

    A payment counts for the agent whose wallet received it at that time, unless the payer is its owner or wallet, or
    acts for it. Dollars are rounded down to two significant digits.
    """
    paid, back = payment.c, payment_return.c
    is_counted = paid.kinship.is_(None) & (paid.block_time < period.end)
    received = select(*paid[_SELLER], paid.payer, func.sum(paid.micros), func.min(paid.block_number)).where(is_counted)
    sellers = (select(*paid[_SELLER], own.label("account")).where(is_counted) for own in (paid.payee, paid.owner))
    seller = union(*sellers).subquery().c
    returned = select(*seller[_SELLER], back.receiver, func.sum(back.micros)).where(
        back.chain_id == seller.chain_id, back.payee == seller.account, back.block_time < period.end
    )
    micros: dict[_Key, Counter[str]] = defaultdict(Counter)
    first_block: dict[_Key, int] = {}
    for *place, payer, number, block in connection.execute(received.group_by(*paid[_SELLER], paid.payer)):
        key = _key(*place)
        micros[key][payer] += int(number)
        first_block[key] = min(block, first_block.get(key, block))
    for *place, payer, number in connection.execute(returned.group_by(*seller[_SELLER], back.receiver)):
        micros[_key(*place)][payer] -= int(number)
    last_block = dict(map(tuple, connection.execute(select(*payment_cursor.c["chain_id", "block_number"]))))
    leaves = []
    for key, short_id in sorted(_keys(connection, agents).items()):
        rest = sorted(number for number in micros[key].values() if number > 0)
        if sum(rest) >= _LEAST_MICROS:
            leaf = {"kind": "revenues", "period": period.name, "agents": {short_id: True}}
            share = str(rest[-1] * 1000 // sum(rest) / Decimal(10))
            figures = {"dollars": two_digits(sum(rest)), "payers": len(rest), "topShare": share}
            leaves.append(leaf | figures | {"blocks": [first_block[key], last_block.get(key[0])]})
    return leaves


def two_digits(micros: int) -> str:
    """Return millionths of a dollar as dollars, rounded down to two significant digits."""
    dollars = Decimal(micros).scaleb(-MICROS)
    quantum = Decimal(1).scaleb(dollars.adjusted() - 1)
    return format(dollars.quantize(quantum, ROUND_DOWN), "f") if quantum < 1 else str(int(dollars // quantum * quantum))


def _key(chain_id: int, identity: str, agent_id: Any) -> _Key:
    return chain_id, identity, int(agent_id)


def _keys(connection: Connection, agents: Collection[AgentId]) -> dict[_Key, str]:
    registries = read_registries(connection)
    keys = {}
    for entry in agents:
        with suppress(BilateralError):  # the index no longer has its chain
            key = agent_key(registries, str(entry))
            keys[key.chain_id, key.identity_registry, key.agent_id] = str(entry)
    return keys
