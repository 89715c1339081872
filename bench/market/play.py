"""The closed loop of a market: its rows, its honest people, and buyers who follow one policy, buy and rate."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from bench.market.settings import Settings
from bench.trust.worlds.world import tables_of
from bilateral.trust.tables.schema import OPTIONAL, Tables

_COLUMNS: Final[dict[str, dict[str, type]]] = {
    "agents": {"owner": np.int64, "kind": np.int64, "ts": np.float64},
    "feedback": {"client": np.int64, "agent": np.int64, "value": np.float64, "ts": np.float64, "payment": np.int64},
    "ratings": {"client": np.int64, "agent": np.int64, "value": np.float64, "ts": np.float64},
    "payments": {"payer": np.int64, "agent": np.int64, "amount": np.float64, "ts": np.float64},
    "transfers": {"src": np.int64, "dst": np.int64, "amount": np.float64, "ts": np.float64},
    "handovers": {"agent": np.int64, "src": np.int64, "dst": np.int64, "ts": np.float64},
}
"""The columns by table. Accounts and agents are numbers; `payment` is the row of a payment, -1 without a proof."""


class Rows:
    """A table that grows, as arrays with room at their end."""

    def __init__(self, columns: dict[str, type]) -> None:
        """Make an empty table.

        Args:
            columns: The type of each column.
        """
        self._arrays: dict[str, np.ndarray[Any, Any]] = {name: np.empty(64, kind) for name, kind in columns.items()}
        self.size = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.size

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._arrays)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return a column."""
        return self._arrays[name][: self.size]

    def add(self, **columns: Any) -> np.ndarray[Any, Any]:
        """Add rows, and return their numbers.

        Args:
            **columns: All columns; a scalar is for all rows.
        """
        parts = np.broadcast_arrays(*(np.atleast_1d(columns[name]) for name in self._arrays))
        count = len(parts[0])
        room = len(next(iter(self._arrays.values())))
        if self.size + count > room:
            size = max(2 * room, self.size + count)
            self._arrays = {name: np.resize(array, size) for name, array in self._arrays.items()}
        for array, part in zip(self._arrays.values(), parts, strict=True):
            array[self.size : self.size + count] = part
        numbers = np.arange(self.size, self.size + count)
        self.size += count
        return numbers


@cache
def address(seed: int, number: int) -> str:
    """Return the address of an account. It tells nothing about who holds it.

    Args:
        seed: The seed of the market.
        number: The account's number.
    """
    return "0x" + sha256(f"{seed}/{number}".encode()).hexdigest()[:40]


class Log:
    """All rows of a market.

    Attributes:
        seed: The seed of the market.
        accounts: The number of accounts so far.
        agents, feedback, ratings, payments, transfers: The tables. The wallet of an agent is its owner.
        handovers: The agents that changed hands, from `src` to `dst`.
        operators: The accounts that the owners of some agents approved, by agent.
    """

    def __init__(self, seed: int) -> None:
        """Make a log without rows.

        Args:
            seed: The seed of the market.
        """
        self.seed = seed
        self.accounts = 0
        self.agents, self.feedback, self.ratings, self.payments, self.transfers, self.handovers = (
            Rows(columns) for columns in _COLUMNS.values()
        )
        self.operators: dict[int, list[int]] = {}

    def open(self, count: int) -> np.ndarray[Any, Any]:
        """Open accounts, and return their numbers.

        Args:
            count: The number of accounts.
        """
        self.accounts += count
        return np.arange(self.accounts - count, self.accounts)

    def pay(self, payer: Any, agent: Any, amount: Any, ts: Any) -> np.ndarray[Any, Any]:
        """Write payments, and return their rows.

        Args:
            payer: The accounts that pay.
            agent: The agents that are paid.
            amount: The amounts in dollars.
            ts: The times.
        """
        return self.payments.add(payer=payer, agent=agent, amount=amount, ts=ts)

    def hand_over(self, agent: Any, account: Any, ts: Any) -> None:
        """Give agents to other accounts.

        Args:
            agent: The agents.
            account: Their new owners.
            ts: The times, later than those of their earlier handovers.
        """
        owner = self.agents["owner"]
        self.handovers.add(agent=agent, src=owner[agent], dst=account, ts=ts)
        owner[agent] = account

    def owners_at(self, agent: Any, ts: Any) -> np.ndarray[Any, Any]:
        """Return the account that owned each agent at a time.

        Args:
            agent: The agents.
            ts: The times.
        """
        owner: np.ndarray[Any, Any] = self.agents["owner"][agent]
        moved = self.handovers
        for row in reversed(range(len(moved))):
            owner = np.where((agent == moved["agent"][row]) & (ts <= moved["ts"][row]), moved["src"][row], owner)
        return owner

    def tables(self, ids: int = 1) -> Tables:
        """Return the tables of an analysis.

        Args:
            ids: The id of the first agent.
        """
        names = pa.array([address(self.seed, number) for number in range(self.accounts)])

        def accounts(numbers: Iterable[int]) -> pa.DictionaryArray:
            return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), names)

        feedback, owner = self.feedback, self.agents["owner"]
        count, opinions, judged = len(owner), len(feedback), len(self.ratings)
        tx = pa.array([f"0x{number:064x}" for number in range(len(self.payments))], pa.string())
        proof = pa.array(np.maximum(feedback["payment"], 0), mask=feedback["payment"] < 0)
        operators = [[address(self.seed, number) for number in self.operators.get(row, ())] for row in range(count)]
        further = [pa.array(operators, OPTIONAL["agents"]["operators"])]
        further += [pa.array(self._holders(), OPTIONAL["agents"]["holders"])] if len(self.handovers) else []
        uris = [f"ipfs://{self.seed}-{number}" for number in range(count)]
        registered = (np.arange(ids, ids + count), accounts(owner), accounts(owner), uris, self.agents["ts"])
        tags = pa.array(["starred"] * opinions, pa.string())
        opinion_columns = (feedback["value"], tags, feedback["ts"], tx.take(proof))
        rated = (self.ratings["agent"] + ids, self.ratings["value"], self.ratings["ts"])
        clients = (pa.array(["client"] * judged, pa.string()), accounts(self.ratings["client"]))
        payee = accounts(self.owners_at(self.payments["agent"], self.payments["ts"]))
        paid = (self.payments["agent"] + ids, self.payments["amount"], self.payments["ts"])
        sent = (accounts(self.transfers["src"]), accounts(self.transfers["dst"]))
        return tables_of(
            agents=(*registered, np.zeros(count, bool), *further),
            feedback=(np.arange(opinions), accounts(feedback["client"]), feedback["agent"] + ids, *opinion_columns),
            ratings=(np.arange(judged), *clients, pa.nulls(judged, pa.int64()), *rated),
            payments=(tx, accounts(self.payments["payer"]), payee, *paid),
            transfers=(*sent, self.transfers["amount"], self.transfers["ts"]),
        )

    def _holders(self) -> list[list[dict[str, Any]] | None]:
        """Return the accounts that held each agent that changed hands."""
        out: list[list[dict[str, Any]] | None] = [None] * len(self.agents)
        for agent, src, dst, ts in zip(*(self.handovers[name].tolist() for name in _COLUMNS["handovers"]), strict=True):
            out[agent] = out[agent] or [{"account": address(self.seed, src), "since": 0.0}]
            out[agent].append({"account": address(self.seed, dst), "since": ts})
        return out


Array = np.ndarray[Any, Any]

EXCHANGES: Final = 6
_SELLERS: Final = 6
"""One honest account in six sells."""

GOOD: Final = 0.6
"""The quality from which a seller is good: on average a buyer gets 60 % of the price or more."""


@dataclass
class Agents:
    """The truth about agents, by number. No policy but an oracle sees it.

    Attributes:
        quality: The mean share of its price that a service is worth.
        campaign: The campaign of an attacker; -1 for an honest seller.
        cheats: The amounts from which an agent delivers nothing; infinite for one that serves.
        alive: Marks agents that can be bought from.
        free: Marks services that take no money.
        refunds: The share of failures that the seller refunds.
        cashback: The share of each price that the seller returns.
        turns: The day on which an honest seller turns bad; infinite for most.
    """

    quality: Array = field(default_factory=lambda: np.zeros(0))
    campaign: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    cheats: Array = field(default_factory=lambda: np.zeros(0))
    alive: Array = field(default_factory=lambda: np.zeros(0, bool))
    free: Array = field(default_factory=lambda: np.zeros(0, bool))
    refunds: Array = field(default_factory=lambda: np.zeros(0))
    cashback: Array = field(default_factory=lambda: np.zeros(0))
    turns: Array = field(default_factory=lambda: np.zeros(0))

    def add(self, count: int, **columns: Any) -> None:
        """Add agents that serve well, but for the columns that are named.

        Args:
            count: The number of agents.
            **columns: Columns, as for the attributes.
        """
        usual = {"quality": 0.85, "campaign": -1, "cheats": np.inf, "alive": True, "free": False} | {
            "refunds": 0.0, "cashback": 0.0, "turns": np.inf,
        }  # fmt: skip
        for name, value in (usual | columns).items():
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.full(count, value, array.dtype)]))

    @property
    def honest(self) -> Array:
        """Mark the agents of honest sellers."""
        return self.campaign < 0

    @property
    def good(self) -> Array:
        """Mark honest sellers that are good now."""
        good: Array = self.honest & (self.quality >= GOOD)
        return good


@dataclass
class People:
    """The honest accounts, by number; exchanges come first, treasuries of teams last.

    Attributes:
        exchanges: The accounts of exchanges.
        buyers: The accounts that buy; sellers do so, too.
        needs: The mean number of needs of each of them in a day.
        born: The day on which each of them begins.
        bias: The points by which each of them rates above its experience.
        flatters: Marks those who always give 100.
        taste: Three kinds of service that each of them buys.
    """

    exchanges: Array
    buyers: Array
    needs: Array
    born: Array
    bias: Array
    flatters: Array
    taste: Array

    def funded_by(self, count: int, random: np.random.Generator) -> Array:
        """Draw the exchanges that fund some accounts. Few exchanges fund most.

        Args:
            count: The number of accounts.
            random: Decides the draw.
        """
        share = 1 / np.arange(1, len(self.exchanges) + 1)
        drawn: Array = self.exchanges[random.choice(len(self.exchanges), count, p=share / share.sum())]
        return drawn


def settle(settings: Settings, log: Log, random: np.random.Generator) -> tuple[People, Agents]:
    """Draw the honest accounts and agents, and write their registrations and funding.

    Args:
        settings: The assumptions.
        log: The rows, which are added to.
        random: Decides all draws.
    """
    count, days = settings.accounts, settings.days
    exchanges, accounts = log.open(EXCHANGES), log.open(count)
    # Six in ten are there from the start; the others come while the market runs.
    born = np.where(random.random(count) < 0.6, 0.0, random.uniform(0, 0.85 * days, count))  # noqa: PLR2004
    share = 1 / np.arange(1, settings.categories + 1)
    kinds = random.choice(settings.categories, (count, 3), p=share / share.sum())
    needs = settings.needs * random.gamma(0.5, 2.0, count)
    bias = np.where(random.random(count) < 0.05, -25.0, random.normal(0, 6, count))  # noqa: PLR2004
    people = People(exchanges, accounts, needs, born, bias, random.random(count) < 0.1, kinds)  # noqa: PLR2004
    agents = Agents()
    owners = random.choice(count, count // _SELLERS, replace=False)
    number = np.where(random.random(len(owners)) < 0.9, 1, random.integers(2, 6, len(owners)))  # noqa: PLR2004
    _team(settings, log, people, random)
    rows = np.repeat(owners, number)
    sizes = len(rows)
    turns = np.where(random.random(sizes) < 0.05, random.uniform(0.3, 1.0, sizes) * days, np.inf)  # noqa: PLR2004
    agents.add(
        sizes,
        quality=random.beta(6, 1.7, sizes),
        free=random.random(sizes) < 0.08,  # noqa: PLR2004
        refunds=np.where(random.random(sizes) < 0.4, random.uniform(0.3, 1, sizes), 0.0),  # noqa: PLR2004
        cashback=np.where(random.random(sizes) < 0.12, random.uniform(0.03, 0.12, sizes), 0.0),  # noqa: PLR2004
        turns=turns,
    )
    log.agents.add(
        owner=accounts[rows],
        kind=random.choice(settings.categories, sizes, p=share / share.sum()),
        ts=settings.time(born[rows] + random.uniform(0, 0.9, sizes)),
    )
    return people, agents


def _team(settings: Settings, log: Log, people: People, random: np.random.Generator) -> None:
    """Fund all accounts: most by exchanges, a tenth by friends, a twentieth by treasuries of teams of five to ten."""
    count = len(people.buyers)
    funder = people.funded_by(count, random)
    friend = random.integers(count, size=count)
    by_friend = (random.random(count) < 0.1) & (people.born[friend] <= people.born)  # noqa: PLR2004
    funder[by_friend] = people.buyers[friend[by_friend]]
    members = random.permutation(count)[: count // 20]
    size = int(random.integers(5, 11))
    treasuries = log.open(len(members) // size + 1)
    funder[members] = treasuries[np.arange(len(members)) // size]
    people.taste[members] = people.taste[members[np.arange(len(members)) // size * size]]  # a team has one trade
    source = people.funded_by(len(treasuries), random)
    log.transfers.add(src=source, dst=treasuries, amount=500.0, ts=settings.time(-2.0))
    amount, before = random.lognormal(3, 1, count), random.uniform(0.01, 1.5, count)
    log.transfers.add(src=funder, dst=people.buyers, amount=amount, ts=settings.time(people.born - before))


_SALE = {
    "day": np.int64, "buyer": np.int64, "agent": np.int64, "amount": np.float64, "paid": np.float64,
    "value": np.float64, "cheated": np.bool_, "refund": np.float64,
}  # fmt: skip
PAIR = 1 << 32
"""A factor that makes one number of two."""

BAD = 0.25
"""The quality of a seller that turned bad. It still delivers, so this is not fraud."""


@dataclass(frozen=True)
class Answers:
    """The answers of a policy about all agents, which hold until it answers again.

    Attributes:
        score: The figure by which buyers order offers, by agent.
        limit: The greatest amount that the policy lets a buyer pay; 0 for a refusal.
        unknown: Score and limit of an agent that was registered later.
    """

    score: Array
    limit: Array
    unknown: tuple[float, float] = (0.0, np.inf)

    def of(self, count: int) -> tuple[Array, Array]:
        """Return the scores and limits of all agents.

        Args:
            count: The number of agents.
        """
        score, limit = (np.full(count - len(self.score), value) for value in self.unknown)
        return np.concatenate([self.score, score]), np.concatenate([self.limit, limit])


class Policy(Protocol):
    """A system that buyers follow."""

    name: str
    every: int
    """The number of days between its answers."""

    def answer(self, market: "Market") -> Answers:
        """Answer about all agents.

        Args:
            market: The market. All but an oracle read nothing but its `log` and `today`.
        """


class Crowd(Protocol):
    """Those who act besides honest people."""

    def act(self, market: "Market") -> None:
        """Act on a day, before the buyers do.

        Args:
            market: The market.
        """


class Market:
    """One market, from its first day to its last.

    Attributes:
        settings: The assumptions.
        policy: The system that buyers follow.
        log: The rows so far.
        people, agents: The honest accounts, and the truth about agents.
        today: The day.
        sales: All purchases, with what nobody but the buyer sees.
        unserved: For each day, the needs without an acceptable offer, and all needs.
        declined: For each day, the share of good sellers that the policy refuses.
        random: Decides all draws of honest people.
    """

    def __init__(self, settings: Settings, policy: Policy, seed: int, crowds: tuple[Crowd, ...] = ()) -> None:
        """Settle a market.

        Args:
            settings: The assumptions.
            policy: The system that buyers follow.
            seed: Decides all draws of honest people.
            crowds: Those who act besides honest people.
        """
        self.settings, self.policy, self.crowds = settings, policy, crowds
        self.random = np.random.default_rng(seed)
        self.log = Log(seed)
        self.people, self.agents = settle(settings, self.log, self.random)
        self.sales = Rows(_SALE)
        self.unserved: list[tuple[int, int]] = []
        self.declined: list[float] = []
        self.today = 0
        self._last_good = np.full((settings.accounts, 3), -1)
        self._avoided = np.zeros(0, np.int64)
        self._gifts = self._launches()

    def run(self) -> "Market":
        """Play all days."""
        answers = Answers(np.zeros(0), np.zeros(0))
        for day in range(self.settings.days):
            # So the needs of a day are the same under each policy.
            self.today, self.random = day, np.random.default_rng([self.log.seed, day])
            self._drift()
            for crowd in self.crowds:
                crowd.act(self)
            if self.today % self.policy.every == 0:
                answers = self.policy.answer(self)
            self._trade(*answers.of(len(self.log.agents)))
            self._withdraw()
        self.today = self.settings.days
        return self

    @property
    def present(self) -> Array:
        """Mark the agents that are registered and can be bought from."""
        present: Array = self.agents.alive & (self.log.agents["ts"] <= self.settings.time(self.today))
        return present

    def _launches(self) -> dict[int, tuple[int, Array]]:
        """Draw the launches: one new seller in ten sends small gifts to buyers, who then try it."""
        start = self.settings.time(0)
        days = ((self.log.agents["ts"] - start) / (self.settings.time(1) - start)).astype(int)
        later = np.flatnonzero((days > 0) & (days < self.settings.days - 1))
        chosen = self.random.choice(later, len(later) // 10, replace=False)
        return {int(days[agent]) + 1: (int(agent), self.random.integers(len(days) * 5, size=25)) for agent in chosen}

    def _drift(self) -> None:
        """Let the quality of honest sellers wander, and let some turn bad."""
        agents, honest = self.agents, self.agents.honest
        steps = np.random.default_rng([self.log.seed, self.today, 1]).normal(0, 0.01, len(honest))
        agents.quality = np.where(honest, np.clip(agents.quality + steps, 0.05, 0.99), agents.quality)
        agents.quality[honest & (agents.turns <= self.today)] = BAD

    def _trade(self, score: Array, limit: Array) -> None:
        """Let all needs of a day be served as the policy says."""
        settings, random, people = self.settings, self.random, self.people
        good = self.agents.good & self.present
        self.declined.append(float(np.mean(limit[good] < settings.price)) if good.any() else 0.0)
        wishes = random.poisson(np.where(people.born <= self.today, people.needs, 0.0))
        place = np.repeat(np.arange(settings.accounts), wishes)
        slot = random.integers(3, size=len(place))
        amount = np.clip(settings.price * random.lognormal(0, 1.2, len(place)), 0.01, 200.0)
        chosen = self._choose(place, slot, amount, score, limit)
        served = chosen >= 0
        self.unserved.append((int((~served).sum()), len(served)))
        self._deliver(place[served], slot[served], chosen[served], amount[served])
        if self.today in self._gifts:
            agent, invited = self._gifts[self.today]
            self._gift(agent, np.unique(invited % settings.accounts))

    def _choose(self, place: Array, slot: Array, amount: Array, score: Array, limit: Array) -> Array:
        """Return the agent that serves each need, or -1."""
        offers = self.offers(place, slot, np.where(limit > 0, score, -np.inf))
        return self.choices(offers, amount, score, limit)

    def _gift(self, agent: int, invited: Array) -> None:
        """Send gifts to buyers, who then try the agent."""
        invited = invited[self.people.born[invited] <= self.today]
        sent = self.settings.time(self.today) + self.random.uniform(0, 3600, len(invited))
        owner = self.log.agents["owner"][agent]
        self.log.transfers.add(src=owner, dst=self.people.buyers[invited], amount=2.0, ts=sent)
        amount = self.random.uniform(1, 2, len(invited))
        self._deliver(invited, np.zeros(len(invited), int), np.full(len(invited), agent), amount)

    def offers(self, place: Array, slot: Array, score: Array) -> Array:
        """Return the agents that each need compares; -1 stands for no offer.

        The first is the last good one. Half of the others are of the policy's leaders of this kind of service, half are
        of all.

        Args:
            place: The buyer of each need.
            slot: Which of its three kinds of service each needs.
            score: The policy's score of each agent.
        """
        kind = self.people.taste[place, slot]
        present = np.flatnonzero(self.present)
        order = np.lexsort((-score[present] - self.random.random(len(present)), self.log.agents["kind"][present]))
        present = present[order]
        counts = np.bincount(self.log.agents["kind"][present], minlength=self.settings.categories)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        reach = np.repeat(counts[kind][:, None], self.settings.candidates, axis=1)
        reach[:, : self.settings.candidates // 2] = np.minimum(counts[kind], self.settings.leaders)[:, None]
        drawn = self.random.random(reach.shape) * reach
        rows = np.where(counts[kind][:, None] > 0, starts[kind][:, None] + drawn.astype(int), -1)
        offers = np.append(present, -1)[rows]
        last = self._last_good[place, slot]
        offers[:, 0] = np.where((last >= 0) & self.agents.alive[last], last, offers[:, 0])
        buyer = self.people.buyers[place][:, None]
        own = self.log.agents["owner"][offers] == buyer
        return np.where(own | np.isin(buyer * PAIR + offers, self._avoided), -1, offers)

    def choices(self, offers: Array, amount: Array, score: Array, limit: Array, heard: Array | None = None) -> Array:
        """Return the agent that each need goes to, or -1.

        Args:
            offers: The agents that each need compares.
            amount: The amount of each need.
            score: The policy's score of each agent.
            limit: The greatest amount that the policy lets a buyer pay each agent.
            heard: The ratings of each agent, the fewest of which are tried first; those of the log by default.
        """
        settings, random = self.settings, self.random
        allowed = (offers >= 0) & (limit[offers] >= amount[:, None]) & (limit[offers] > 0)
        rank = np.where(allowed, score[offers] + random.random(offers.shape) * 0.5, -np.inf)
        if heard is None:
            heard = np.bincount(self.log.feedback["agent"], minlength=len(score))
        unheard = np.where(allowed, -heard[offers] + random.random(offers.shape), -np.inf)
        tries = (amount <= settings.price) & (random.random(len(amount)) < settings.tries)
        column = np.where(tries, unheard.argmax(axis=1), rank.argmax(axis=1))
        last_good = np.isin(offers[:, 0], self._last_good) & (offers[:, 0] >= 0)
        known = last_good & allowed[:, 0] & ~tries & (random.random(len(amount)) < settings.returns)
        column[known] = 0
        rows = np.arange(len(amount))
        chosen: Array = np.where(allowed[rows, column], offers[rows, column], -1)
        return chosen

    def _deliver(self, place: Array, slot: Array, agent: Array, amount: Array) -> None:
        """Deliver some purchases, with payments, refunds, cashback, feedback and ratings."""
        settings, random, agents, log = self.settings, self.random, self.agents, self.log
        count = len(place)
        buyer = self.people.buyers[place]
        ts = settings.time(self.today) + np.sort(random.uniform(0, 64_800, count))
        paid = np.where(agents.free[agent], 0.0, amount)
        cheated = amount >= agents.cheats[agent]
        share = np.clip(agents.quality[agent] + random.normal(0, 0.1, count), 0, 1)
        share = np.where(random.random(count) < 0.05, random.uniform(0, 0.2, count), share)  # noqa: PLR2004
        share = np.where(cheated, 0.0, share)
        row = np.full(count, -1)
        row[paid > 0] = log.pay(buyer[paid > 0], agent[paid > 0], paid[paid > 0], ts[paid > 0])
        failed = (share < 0.3) & ~cheated & (random.random(count) < agents.refunds[agent])  # noqa: PLR2004
        refund = np.where(failed, paid, 0.0)
        self.give_back(buyer, agent, refund, ts + random.uniform(600, 18_000, count))
        self.give_back(buyer, agent, paid * agents.cashback[agent], ts + 300.0)
        self.sales.add(
            day=self.today, buyer=buyer, agent=agent, amount=amount, paid=paid,
            value=share * amount, cheated=cheated, refund=refund,
        )  # fmt: skip
        value = 100 * share + self.people.bias[place] + random.normal(0, 6, count)
        value = np.where(self.people.flatters[place] & ~cheated, 100.0, value)
        value = np.clip(np.where(failed, np.maximum(value, 40.0), value), 0, 100).round()
        rates = random.random(count) < settings.rates
        proof = np.where(random.random(count) < settings.proves, row, -1)
        log.feedback.add(
            client=buyer[rates], agent=agent[rates], value=value[rates],
            ts=(ts + random.uniform(60, 18_000, count))[rates], payment=proof[rates],
        )  # fmt: skip
        back = (random.random(count) < settings.rates_back) & agents.honest[agent]
        log.ratings.add(
            client=buyer[back], agent=agent[back], value=np.clip(random.normal(85, 8, back.sum()), 0, 100).round(),
            ts=(ts + random.uniform(60, 18_000, count))[back],
        )  # fmt: skip
        self._last_good[place[share > 0.6], slot[share > 0.6]] = agent[share > 0.6]  # noqa: PLR2004
        bad = share < 0.3  # noqa: PLR2004
        self._avoided = np.union1d(self._avoided, buyer[bad] * PAIR + agent[bad])

    def give_back(self, buyer: Array, agent: Array, amount: Array, ts: Array) -> None:
        """Send money from agents to buyers.

        Args:
            buyer: The accounts.
            agent: The agents, whose owners send.
            amount: The amounts; nothing is sent for 0.
            ts: The times.
        """
        some = amount > 0
        owner = self.log.agents["owner"][agent[some]]
        self.log.transfers.add(src=owner, dst=buyer[some], amount=amount[some], ts=ts[some])

    def _withdraw(self) -> None:
        """Let sellers send the revenue of a week to an exchange."""
        if self.today % 7 != 6 or not len(self.log.payments):  # noqa: PLR2004
            return
        recent = self.log.payments["ts"] > self.settings.time(self.today - 6)
        owner = self.log.agents["owner"][self.log.payments["agent"][recent]]
        owners = np.unique(owner)
        revenue = np.bincount(owner, self.log.payments["amount"][recent], self.log.accounts)[owners]
        ts = self.settings.time(self.today) + self.random.uniform(70_000, 86_000, len(owners))
        target = self.people.funded_by(len(owners), self.random)
        self.log.transfers.add(src=owners, dst=target, amount=0.9 * revenue, ts=ts)
