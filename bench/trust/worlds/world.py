"""The world under construction: its primitives, and how it is written as tables with the truth beside them.

Everything is drawn from one seeded generator, so a world depends on its seed and settings alone. Addresses are hashes
and rows are sorted by time, so neither an id nor an order gives a label away.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from bilateral.trust.tables.schema import COLUMNS, Tables

_T = TypeVar("_T")
_U = TypeVar("_U")

Range = tuple[float, float]

DAY: Final = 86400.0
HOUR: Final = 3600.0
START: Final = 1_770_000_000.0


@dataclass(frozen=True)
class Settings:
    """The size and habits of a world.

    Attributes:
        days: The length in days.
        clients: The number of ordinary clients.
        owners: The number of ordinary owners of agents.
        platforms: The number of platforms that register agents in batches.
        communities: The number of communities in which clients and agents meet.
        exchanges: The number of exchanges.
        paid: The share of interactions that are paid.
        spoken: The share of interactions that lead to feedback.
        proven: The share of paid feedback with a proof.
        answered: The share of interactions after which the server rates the client.
        validated: The share of agents that ask for a validation.
        bad_clients: The share of clients that deserve low ratings.
        generous: The share of raters who always give 100.
        harsh: The share of raters who give 25 points less.
        newcomers: The share of the time in which honest accounts are born: 1 if they come until the end.
        refunding: The share of agents that refund failed jobs.
        cashback: The share of agents that give each buyer a small part of the price back.
    """

    days: int = 180
    clients: int = 3000
    owners: int = 1200
    platforms: int = 4
    communities: int = 8
    exchanges: int = 6
    paid: float = 0.6
    spoken: float = 0.45
    proven: float = 0.5
    answered: float = 0.3
    validated: float = 0.25
    bad_clients: float = 0.06
    generous: float = 0.10
    harsh: float = 0.05
    newcomers: float = 1.0
    refunding: float = 0.0
    cashback: float = 0.0


@dataclass
class Account:
    """An account and the truth about it."""

    address: str
    born: float
    role: str = "honest"
    attack: int = -1
    group: str = ""
    bias: float = 0.0
    generous: bool = False
    quality: float = 85.0
    community: int = 0


@dataclass
class Agent:
    """An agent and the truth about it."""

    owner: Account
    wallet: Account
    ts: float
    quality: float
    community: int = 0
    popularity: float = 1.0
    role: str = "honest"
    attack: int = -1
    is_validator: bool = False
    turns: tuple[float, float] | None = None
    refunds: float = 0.0
    cashback: float = 0.0
    number: int = -1

    def quality_at(self, ts: float) -> float:
        """Return the quality at a time: another one once the agent has turned."""
        return self.turns[1] if self.turns is not None and ts >= self.turns[0] else self.quality


@dataclass
class Attack:
    """One attack."""

    number: int
    family: str
    size: int

    def by_size(self, values: dict[int, _T]) -> _T:
        """Return the value for the listed size that is nearest to the attack's."""
        return values[min(values, key=lambda size: abs(size - self.size))]


@dataclass
class World:
    """A world under construction."""

    seed: int
    settings: Settings = field(default_factory=Settings)
    accounts: list[Account] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    attacks: list[Attack] = field(default_factory=list)
    feedback: list[tuple[Any, ...]] = field(default_factory=list)
    ratings: list[tuple[Any, ...]] = field(default_factory=list)
    validations: list[tuple[Any, ...]] = field(default_factory=list)
    payments: list[tuple[Any, ...]] = field(default_factory=list)
    transfers: list[tuple[Any, ...]] = field(default_factory=list)
    exchanges: list[Account] = field(default_factory=list)
    honest: list[Account] = field(default_factory=list)
    servers: list[Agent] = field(default_factory=list)
    validators: list[Agent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.end = START + self.settings.days * DAY

    def time(self, low: float | None = None, high: float | None = None) -> float:
        """Return a random time between two; the end if the beginning is later."""
        stop = self.end if high is None else high
        return float(self.random.uniform(min(START if low is None else low, stop), stop))

    def happens(self, share: float) -> bool:
        """Return True in a share of the calls."""
        return bool(self.random.random() < share)

    def one_of(self, items: Sequence[_T]) -> _T:
        """Return a random item."""
        return items[int(self.random.integers(len(items)))]

    def some_of(self, items: Sequence[_T], count: int) -> list[_T]:
        """Return some items without repetition: all if there are fewer."""
        return [items[place] for place in self.random.choice(len(items), min(count, len(items)), replace=False)]

    def part(self, items: Iterable[_T], share: float) -> Iterator[_T]:
        """Yield a share of some items. Each is drawn when it is asked for."""
        return (item for item in items if self.happens(share))

    def pairs(self, first: Iterable[_T], second: Sequence[_U], share: float) -> Iterator[tuple[_T, _U]]:
        """Yield a share of all pairs. Each is drawn when it is asked for."""
        return self.part(product(first, second), share)

    def account(self, born: float, **truth: Any) -> Account:
        """Make an account, without funds."""
        digest = hashlib.sha256(f"{self.seed}/{len(self.accounts)}".encode()).hexdigest()
        made = Account("0x" + digest[:40], born, **truth)
        self.accounts.append(made)
        return made

    def funded(self, born: float, source: Account | None = None, amount: float | None = None, **truth: Any) -> Account:
        """Make an account with its first money; see `fund`."""
        made = self.account(born, **truth)
        self.fund(made, source, amount)
        return made

    def fund(self, account: Account, source: Account | None = None, amount: float | None = None) -> None:
        """Send an account its first money: from an exchange, or sometimes from an honest account."""
        if source is None:
            from_exchange = self.random.random() < 0.75 or not self.honest  # noqa: PLR2004
            pool = self.exchanges if from_exchange else self.honest
            source = pool[self.random.integers(len(pool))]
            at = account.born - self.random.uniform(600, 3 * DAY)
        else:
            at = account.born
        self.transfer(source, account, self.random.lognormal(3, 1) if amount is None else amount, at)

    def transfer(self, source: Account, target: Account, amount: float, ts: float) -> None:
        """Record a transfer."""
        self.transfers.append((source.address, target.address, float(amount), float(ts)))

    def agent(self, owner: Account, ts: float, quality: float, **other: Any) -> Agent:
        """Register an agent."""
        made = Agent(owner, other.pop("wallet", owner), min(float(ts), self.end - HOUR), float(quality), **other)
        made.number = len(self.agents)
        self.agents.append(made)
        return made

    def pay(self, client: Account, agent: Agent, amount: float, ts: float) -> str:
        """Record a payment and return its transaction."""
        digest = hashlib.sha256(f"{self.seed}/payment/{len(self.payments)}".encode()).hexdigest()
        ts = self._within(ts, agent.ts)
        self.payments.append(("0x" + digest, client.address, agent.wallet.address, agent.number, float(amount), ts))
        return "0x" + digest

    def say(self, client: Account, agent: Agent, value: float, ts: float, **other: Any) -> None:
        """Record feedback. `attack` marks it as false."""
        ts = self._within(ts, max(agent.ts, client.born))
        tag, proof, attack = other.get("tag", "starred"), other.get("proof"), other.get("attack", -1)
        value = value if other.get("unclipped") else float(np.clip(round(value), 0, 100))
        self.feedback.append((client.address, agent.number, value, tag, ts, proof, attack))

    def lie(  # noqa: PLR0913, PLR0917
        self, record: Callable[..., None], attack: Attack, source: Any, subject: Agent, ts: float, values: Range
    ) -> None:
        """Record a false feedback, rating or validation. Its value is drawn once its time is."""
        record(source, subject, self.random.uniform(*values), ts, attack=attack.number)

    def buy(
        self, member: Account, agent: Agent, ts: float, values: Range, *, pays: bool = True, **other: float
    ) -> None:
        """Record false feedback by a member of an attack an hour after a purchase, whose amount has a `spread`."""
        amount = (-1, other.get("spread", 1.2))
        proof = self.pay(member, agent, self.random.lognormal(*amount), ts) if pays else None
        ts += other.get("after", HOUR)
        self.say(member, agent, self.random.uniform(*values), ts, proof=proof, attack=member.attack)

    def rate_client(self, client: Account, server: Agent, value: float, ts: float, attack: int = -1) -> None:
        """Record a server's rating of a client."""
        ts = self._within(ts, max(server.ts, client.born))
        self.ratings.append(
            ("client", client.address, None, server.number, float(np.clip(round(value), 0, 100)), ts, attack)
        )

    def rate_validator(self, validator: Agent, server: Agent, value: float, ts: float, attack: int = -1) -> None:
        """Record a server's rating of a validator."""
        ts = self._within(ts, max(server.ts, validator.ts))
        value = float(np.clip(round(value), 0, 100))
        self.ratings.append(("validator", None, validator.number, server.number, value, ts, attack))

    def validate(self, validator: Agent, agent: Agent, value: float, ts: float, attack: int = -1) -> None:
        """Record a validation."""
        ts = self._within(ts, max(validator.ts, agent.ts))
        self.validations.append((validator.number, agent.number, float(np.clip(round(value), 0, 100)), ts, attack))

    def judge(self, validator: Agent, agent: Agent) -> None:
        """Let a validator judge an agent rightly, at any time once both are there."""
        value = agent.quality + self.random.normal(0, 5)
        self.validate(validator, agent, value, self.time(max(validator.ts, agent.ts)))

    def meet(self, client: Account, agent: Agent, ts: float, value: float | None = None) -> None:
        """Let a client use an agent: perhaps with a payment, feedback and a rating of the client."""
        draw, habits = self.random, self.settings
        amount = draw.lognormal(-1, 1.2) if draw.random() < habits.paid else 0.0
        proof = self.pay(client, agent, amount, ts) if amount else None
        if value is None and draw.random() < 0.05:  # a failed job  # noqa: PLR2004
            value = draw.uniform(0, 30)
        elif value is None:
            value = 100 if client.generous else agent.quality_at(ts) + client.bias + draw.normal(0, 8)
        if amount and (agent.refunds or agent.cashback):
            value = self._returns(client, agent, amount, ts, value)
        if draw.random() < habits.spoken:
            keeps = draw.random() < habits.proven
            self.say(client, agent, value, ts + draw.exponential(6 * HOUR), proof=proof if keeps else None)
        if draw.random() < habits.answered:
            self.rate_client(client, agent, client.quality + draw.normal(0, 8), ts + draw.exponential(12 * HOUR))

    def _returns(self, client: Account, agent: Agent, amount: float, ts: float, value: float) -> float:
        """Let an agent give money back after a purchase, and return what the client then says of it."""
        draw = self.random
        if agent.cashback:
            self.transfer(agent.wallet, client, agent.cashback * amount, ts + draw.uniform(60, 2 * DAY))
        failed = value < 35  # noqa: PLR2004
        if draw.random() < (agent.refunds if failed else 0.05 * agent.refunds):
            part = float(draw.choice([1.0, 1.0, 0.5, 0.3]))
            self.transfer(agent.wallet, client, part * amount, ts + draw.uniform(HOUR, 6 * DAY))
            if failed and draw.random() < 0.5:  # a refund makes half of them kind  # noqa: PLR2004
                return float(draw.uniform(60, 95))
        return value

    def use(self, client: Account, agent: Agent) -> None:
        """Let a client use an agent, unless it is its own, at any time once both are there."""
        if agent.owner is not client:
            self.meet(client, agent, self.time(max(client.born, agent.ts)))

    def begin(self, family: str, size: int) -> Attack:
        """Start an attack."""
        attack = Attack(len(self.attacks), family, size)
        self.attacks.append(attack)
        return attack

    def server(self, *, popular: bool) -> Agent:
        """Return an honest agent: any, or one by its popularity."""
        if not popular:
            return self.one_of(self.servers)
        some = self.random.integers(len(self.servers), size=12)
        return self.servers[max(some, key=lambda place: self.servers[place].popularity * self.random.random())]

    def usual_servers(self, account: Account, mean: float) -> Iterator[Agent]:
        """Yield agents as honest clients choose them: mostly of their community, the popular ones most."""
        popularity = np.array([agent.popularity for agent in self.servers])
        near = popularity * np.array([agent.community == account.community for agent in self.servers])
        for _ in range(self.random.poisson(mean)):
            weight = near if self.happens(0.7) else popularity
            yield self.servers[self.random.choice(len(weight), p=weight / weight.sum())]

    def visited(self, agent: Agent, count: int, start: float = 0.0, stop: float | None = None) -> None:
        """Let honest clients use an agent between two times, and say what they found."""
        for client in self.some_of(self.honest, count):
            self.meet(client, agent, self.time(max(agent.ts, client.born, start), stop))

    def lured(self, agent: Agent, count: int, at: float) -> None:
        """Let honest clients believe the praise, use the agent, and say what they found."""
        for client in self.some_of(self.honest, count):
            self.meet(client, agent, self.time(max(at, client.born + HOUR)))

    def some_time(self, first: int = 20, last: int = 60) -> float:
        """Return a time at which an attack may begin: from some days after the start to some before the end."""
        return self.time(START + first * DAY, self.end - last * DAY)

    def sybils(
        self, attack: Attack, at: float, spread: float, source: Account | None = None, cover: float | None = None
    ) -> list[Account]:
        """Return new accounts of an attacker, born within a time after another, funded by exchanges or a source.

        They cover themselves by a mean number of ordinary uses, if one is named.
        """
        out = []
        for _ in range(attack.size):
            born = at + self.random.uniform(0, spread)
            out.append(self.account(born, role="sybil", attack=attack.number, quality=80.0))
            self.fund(out[-1], source, self.random.uniform(4.9, 5.1) if source else None)
        if cover is not None:
            self.camouflage(out, cover, at)
        return out

    def sybil(self, attack: Attack, born: float, source: Account | None = None, amount: float | None = None) -> Account:
        """Return a new account of an attacker with its first money; see `fund`."""
        return self.funded(born, source, amount, role="sybil", attack=attack.number)

    def mastermind(self, attack: Attack, at: float) -> Account:
        """Return a new account from which an attacker funds others."""
        return self.funded(at - DAY, amount=50.0 * attack.size, role="funder", attack=attack.number)

    def funded_owner(self, attack: Attack, at: float) -> Account:
        """Return a new owner that an exchange funds."""
        return self.funded(at, role="owner", attack=attack.number)

    def mule(self, attack: Attack, born: float) -> Account:
        """Return a new account that money passes through, without funds."""
        return self.account(born, role="mule", attack=attack.number)

    def target(self, attack: Attack, owner: Account, at: float) -> Agent:
        """Return a new bad agent that an attack praises."""
        return self.agent(owner, at, self.random.uniform(20, 50), role="beneficiary", attack=attack.number)

    def young_target(self, attack: Attack, born: float) -> Agent:
        """Return a new bad agent, registered an hour after the birth of its owner, whom an exchange funds."""
        return self.target(attack, self.funded_owner(attack, born), born + HOUR)

    def gang(self, attack: Attack, spread: float, *, one: bool = False) -> tuple[float, list[Account], list[Agent]]:
        """Return the time of an attack, and new owners with a bad agent each: of one funder, or of exchanges."""
        at = self.some_time()
        accounts = self.sybils(attack, at, spread, self.mastermind(attack, at) if one else None)
        return at, accounts, [self.target(attack, account, account.born + 600) for account in accounts]

    def plot(self, attack: Attack) -> tuple[float, Account]:
        """Return the time of an attack, and the account from which the attacker funds others."""
        at = self.some_time()
        return at, self.mastermind(attack, at)

    def lone_target(self, attack: Attack) -> tuple[float, Agent]:
        """Return the time of an attack, and a new bad agent whose owner an exchange funds."""
        at = self.some_time()
        return at, self.target(attack, self.funded_owner(attack, at), at)

    def validator(self, attack: Attack, owner: Account, ts: float, quality: float = 50.0) -> Agent:
        """Return a new validator of an attack."""
        return self.agent(owner, ts, quality, is_validator=True, role="beneficiary", attack=attack.number)

    def camouflage(self, accounts: Sequence[Account], mean: float, at: float) -> None:
        """Let accounts use some honest agents as honest clients do."""
        for account in accounts:
            for _ in range(self.random.poisson(mean)):
                self.meet(account, self.one_of(self.servers), self.time(at))

    def _within(self, ts: float, earliest: float) -> float:
        """Return a time after another and before the end."""
        ts = max(ts, min(earliest + 60, self.end - 1))
        return float(
            ts if ts <= self.end else self.end - self.random.uniform(0, 1) * min(5 * DAY, max(self.end - earliest, 1))
        )

    def tables(self) -> tuple[Tables, dict[str, pa.Table]]:
        """Return the tables, and the truth about accounts, agents and feedback."""
        order = sorted(self.agents, key=lambda agent: agent.ts)
        ids = {agent.number: place + 1 for place, agent in enumerate(order)}
        feedback = sorted(self.feedback, key=lambda row: (row[4], row[0]))
        ratings = sorted(self.ratings, key=lambda row: (row[5], str(row[1])))
        rows: dict[str, list[tuple[Any, ...]]] = {
            "agents": [
                (n, a.owner.address, a.wallet.address, f"ipfs://{self.seed}/{a.number}", a.ts, a.is_validator)
                for n, a in enumerate(order, start=1)
            ],
            "feedback": [(n, r[0], ids[r[1]], float(r[2]), *r[3:6]) for n, r in enumerate(feedback)],
            "ratings": [(n, r[0], r[1], ids.get(r[2]), ids[r[3]], *r[4:6]) for n, r in enumerate(ratings)],
            "validations": [(ids[r[0]], ids[r[1]], *r[2:4]) for r in sorted(self.validations, key=lambda r: r[3])],
            "payments": [(*r[:3], ids[r[3]], *r[4:]) for r in sorted(self.payments, key=lambda r: r[5])],
            "transfers": sorted(self.transfers, key=lambda row: row[3]),
        }
        tables = {name: _table(rows[name], columns) for name, columns in COLUMNS.items()}
        named = {
            "accounts": [_named(a, "address role attack group") for a in self.accounts],
            "agents": [
                {"agent_id": n, **_named(a, "role attack"), "quality": a.quality_at(np.inf), "turned": bool(a.turns)}
                for n, a in enumerate(order, start=1)
            ],
            "feedback": [{"id": n, "attack": r[6]} for n, r in enumerate(feedback)],
            "attacks": [{"attack": a.number} | _named(a, "family size") for a in self.attacks],
        }
        kinds = {"attacks": pa.schema([("attack", pa.int64()), ("family", pa.string()), ("size", pa.int64())])}
        return Tables.of(**tables), {name: pa.Table.from_pylist(v, kinds.get(name)) for name, v in named.items()}

    def write(self, folder: Path) -> None:
        """Write the tables to a folder."""
        self.tables()[0].write(folder)


def _named(item: object, names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names.split()}


def _table(rows: list[tuple[Any, ...]], columns: dict[str, pa.DataType]) -> pa.Table:
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return pa.table({n: pa.array(list(v), kind) for (n, kind), v in zip(columns.items(), values, strict=True)})


def tables_of(**columns: Sequence[Any]) -> Tables:
    """Return tables of the columns of each, in the order of `COLUMNS`; agents may have operators and holders too."""
    names = {name: [*COLUMNS[name], "operators", "holders"] for name in columns}
    return Tables.of(
        **{name: pa.table(dict(zip(names[name], values, strict=False))) for name, values in columns.items()}
    )
