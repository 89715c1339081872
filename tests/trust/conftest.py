"""Small hand-made tables, so that each test states the whole world that it needs. No test here touches the chain."""

from __future__ import annotations

import pyarrow as pa
import pytest
from eth_utils import keccak

from bilateral.trust.engine import Engine
from bilateral.trust.features.context import Context
from bilateral.trust.tables.accounts import ACCOUNTS
from bilateral.trust.tables.coding import coded
from bilateral.trust.tables.schema import COLUMNS, OPTIONAL, Tables


@pytest.fixture(autouse=True)
def _isolation():
    """Replace the chain's isolation: these tests need no chain."""


class Scene:
    """Builds tables row by row."""

    def __init__(self):
        self.rows = {name: [] for name in COLUMNS}
        self.holders = {}
        self.blind = set()
        self.coins = {}

    def agent(self, agent_id, owner, ts=0.0, wallet=None, uri="", is_validator=False):
        self.rows["agents"].append((agent_id, owner, wallet or owner, uri or f"u{agent_id}", ts, is_validator))

    def hand_over(self, agent_id, account, ts):
        """Give an agent to another account, later than any handover of it before."""
        place = next(place for place, row in enumerate(self.rows["agents"]) if row[0] == agent_id)
        _, owner, _, uri, registered, is_validator = self.rows["agents"][place]
        self.holders.setdefault(agent_id, [(owner, registered)]).append((account, ts))
        self.rows["agents"][place] = (agent_id, account, account, uri, registered, is_validator)

    def feedback(self, client, agent_id, value, ts=1000.0, tag="starred", payment_tx=None):
        rows = self.rows["feedback"]
        rows.append((len(rows), client, agent_id, value, tag, ts, payment_tx))

    def rating(self, client, server_id, rating, ts=1000.0, *, blind=False):
        rows = self.rows["ratings"]
        if blind:
            self.blind.add(len(rows))
        rows.append((len(rows), "client", client, None, server_id, rating, ts))

    def validator_rating(self, validator_id, server_id, rating, ts=1000.0):
        rows = self.rows["ratings"]
        rows.append((len(rows), "validator", None, validator_id, server_id, rating, ts))

    def validation(self, validator_id, agent_id, response, ts=1000.0):
        self.rows["validations"].append((validator_id, agent_id, response, ts))

    def payment(self, payer, payee, agent_id, amount=1.0, ts=900.0):
        rows = self.rows["payments"]
        rows.append((f"0x{len(rows):064x}", payer, payee, agent_id, amount, ts))
        return rows[-1][0]

    def transfer(self, src, dst, amount=1.0, ts=100.0, coin=None):
        if coin is not None:
            self.coins[len(self.rows["transfers"])] = coin
        self.rows["transfers"].append((src, dst, amount, ts))

    def tables(self):
        made = {}
        for name, columns in COLUMNS.items():
            values = list(zip(*self.rows[name], strict=True)) or [[]] * len(columns)
            made[name] = pa.table(
                {c: pa.array(list(v), kind) for (c, kind), v in zip(columns.items(), values, strict=True)}
            )
        if self.holders:
            periods = [self.holders.get(row[0]) for row in self.rows["agents"]]
            lists = [held and [{"account": name, "since": at} for name, at in held] for held in periods]
            made["agents"] = made["agents"].append_column("holders", pa.array(lists, OPTIONAL["agents"]["holders"]))
        if self.blind:
            marks = [number in self.blind for number in range(len(self.rows["ratings"]))]
            made["ratings"] = made["ratings"].append_column("blind", pa.array(marks))
        if self.coins:
            coins = [self.coins.get(number) for number in range(len(self.rows["transfers"]))]
            made["transfers"] = made["transfers"].append_column("coin", pa.array(coins, pa.string()))
        return Tables.of(**made)

    def ledger(self):
        return coded(self.tables())

    def context(self):
        return Context.of(self.ledger())


def address_of(name):
    """Return the address of somebody whom a test gives a name; None for None."""
    return None if name is None else f"0x{keccak(text=name)[-20:].hex()}"


def addressed(tables):
    """Return tables with addresses in place of names, as files and databases must have them."""
    made = {}
    for name in COLUMNS:
        made[name] = getattr(tables, name)
        for column in ACCOUNTS.get(name, ()):
            addresses = pa.array([address_of(text) for text in made[name][column].to_pylist()], pa.string())
            made[name] = made[name].set_column(made[name].column_names.index(column), column, addresses)
    return Tables.of(**made)


@pytest.fixture
def scene():
    return Scene()


@pytest.fixture
def market(scene):
    """A world of 200 honest clients and 20 agents, where every client judges five agents."""
    for number in range(20):
        scene.agent(number + 1, f"owner{number}", ts=10.0 * number)
    for number in range(200):
        scene.transfer("exchange" if number % 2 else "other exchange", f"client{number}", 20.0 + number, 20.0 * number)
        for step in range(5):
            agent = (number * 7 + step * 3) % 20 + 1
            scene.feedback(f"client{number}", agent, 60 + (number * 13 + agent * 7) % 35, 5000.0 * (step + 1) + number)
    return scene


def judged(scene, tables=None):
    engine = Engine().fit(tables or scene.tables())
    places = {address: number for number, address in enumerate(engine.context_.ledger.addresses.to_pylist())}
    return engine, places


def names(context, accounts):
    """The addresses of accounts, as a set."""
    return {context.ledger.addresses[int(account)].as_py() for account in accounts}


def moves(scene, context, finding):
    """The ends of the transfers that a finding rests on, as a set."""
    return {scene.rows["transfers"][row][:2] for row in context.ledger.moved[finding.transfers]}
