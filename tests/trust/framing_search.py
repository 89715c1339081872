"""A search for ways to frame an honest account: acts of an attacker under a budget, climbed towards the most harm.

The attacker buys from its victim, asks for refunds, praises or slanders it, sends it money, funds fresh accounts beside
it, answers its opinions, and makes it an operator. The victim does nothing but sell, refund and buy.
"""

from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, World
from bilateral.trust.engine import Engine
from bilateral.trust.tables.opinions import Kind
from bilateral.trust.tables.schema import OPTIONAL, Tables

BUDGET: Final = 60.0
_ACCOUNT, _ACT, _WITHDRAWAL = 0.05, 0.01, 0.30
"""Dollars for an account that another one funds, for an act, and for an account that an exchange funds."""


@dataclass(frozen=True)
class Plan:
    """An attacker's acts. Shares are of its accounts, from 0 to 1.

    Attributes:
        accounts: The number of fresh accounts.
        hidden: The share that exchanges fund; account wallet of the attacker funds the others.
        buys: The share that buy from the victim, and ask for the money back.
        refunded: The part of the money that the victim gives back.
        praises: The share that praise the victim.
        slanders: The share of the others that slander it.
        gives: The share that send it money.
        follows: The share that praise what the victim praised.
        answers: The share whose agents rate the victim as a client.
        hurry: The hours between two accounts.
        lures: True if the victim bought from the attacker's agent, praised it, and is sent money and made its operator.
    """

    accounts: float = 10.0
    hidden: float = 0.5
    buys: float = 0.5
    refunded: float = 1.0
    praises: float = 0.5
    slanders: float = 0.0
    gives: float = 0.0
    follows: float = 0.0
    answers: float = 0.0
    hurry: float = 3.0
    lures: float = 1.0

    def near(self, random: np.random.Generator) -> "Plan":
        """Return a plan that differs a little."""
        steps = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if random.random() < 0.4:
                top = {"accounts": 60.0, "hurry": 72.0}.get(field.name, 1.0)
                steps[field.name] = float(np.clip(value + random.normal(0, 0.35) * top, 0, top))
        return replace(self, **steps)


@dataclass(frozen=True)
class Harm:
    """The harm that a plan does.

    Attributes:
        held: True if the victim is held back.
        lower: The lower bound of the victim's agent, after and before.
        contested: True if its agent is contested.
    """

    held: bool
    lower: tuple[float, float]
    contested: bool

    @property
    def size(self) -> float:
        """The figure that the search climbs."""
        return 100.0 * self.held + 50.0 * self.contested + self.lower[1] - self.lower[0]


def acted(world: World, victim: Agent, plan: Plan) -> Tables:
    """Return the tables of a world in which an attacker acts on an owner and its agent.

    Args:
        world: The world, which is added to.
        victim: The agent.
        plan: The acts.
    """
    draw, money, at = world.random, BUDGET, START + 110 * DAY
    wallet = world.account(at - 5 * DAY, role="sybil", attack=0)
    world.fund(wallet)
    lure = world.agent(wallet, at - 4 * DAY, 60.0)
    if plan.lures > 0.5:
        world.meet(victim.owner, lure, at - 3 * DAY, 90.0)
        world.transfer(wallet, victim.owner, 2.0, at - 2 * DAY)
    liked = [row[1] for row in world.feedback if row[0] == victim.owner.address]
    for number in range(int(plan.accounts)):
        when = at + plan.hurry * HOUR * number
        hidden = draw.random() < plan.hidden
        money -= (_WITHDRAWAL if hidden else _ACCOUNT) + 5 * _ACT
        if money < 0 or when > world.end - DAY:
            break
        account = world.account(when, role="sybil", attack=0)
        world.fund(account, None if hidden else wallet, 3.0)
        _act(world, victim, plan, account, liked)
    tables = world.tables()[0]
    if plan.lures <= 0.5:
        return tables
    own = {wallet.address: [victim.owner.address]}
    named = pa.array([own.get(owner) for owner in tables.agents["owner"].to_pylist()], OPTIONAL["agents"]["operators"])
    agents = tables.agents.append_column("operators", named)
    rest = ("feedback", "ratings", "validations", "payments", "transfers")
    return Tables.of(agents=agents, **{name: getattr(tables, name) for name in rest})


def _act(world: World, victim: Agent, plan: Plan, account: Account, liked: list[int]) -> None:
    """Let an account of the attacker act.

    Args:
        world: The world, which is added to.
        victim: The agent.
        plan: The acts.
        account: The account.
        liked: The agents that the victim praised.
    """
    draw, when = world.random, account.born
    if draw.random() < plan.buys:
        world.pay(account, victim, 1.0, when + HOUR)
        world.transfer(victim.wallet, account, plan.refunded, when + 8 * HOUR)
    if draw.random() < plan.praises:
        world.say(account, victim, draw.uniform(92, 100), when + 2 * HOUR)
    elif draw.random() < plan.slanders:
        world.say(account, victim, draw.uniform(0, 10), when + 2 * HOUR)
    if draw.random() < plan.gives:
        world.transfer(account, victim.owner, 1.0, when + 3 * HOUR)
    if liked and draw.random() < plan.follows:
        world.say(account, world.agents[liked[draw.integers(len(liked))]], 98, when + 4 * HOUR)
    if draw.random() < plan.answers:
        world.rate_client(victim.owner, world.agent(account, when, 50.0), draw.choice([0, 100]), when + 5 * HOUR)


def seen(tables: Tables, seed: int, agent: Agent) -> tuple[bool, float, str]:
    """Return if an agent's owner is held back, and the lower bound and status of the agent.

    Args:
        tables: The tables.
        seed: The seed of their world.
        agent: The agent.
    """
    engine = Engine().fit(tables)
    ledger = engine.context_.ledger
    row = pc.index(tables.agents["uri"], f"ipfs://{seed}/{agent.number}").as_py()
    place = int(np.searchsorted(ledger.agent_ids, tables.agents["agent_id"][row].as_py()))
    account = ledger.addresses.to_pylist().index(agent.owner.address)
    subject = np.flatnonzero(ledger.subject_kind == Kind.FEEDBACK)[place]
    scores = engine.scores_
    return bool(engine.suspicion_.flagged[account]), float(scores.lower[subject]), str(scores.status[subject])


def search(world: World, victim: Agent, tries: int, seed: int = 0) -> list[tuple[Plan, Harm]]:
    """Search for the plan that harms an honest owner most, and return all that were tried.

    Args:
        world: A world without attacks.
        victim: The owner's agent.
        tries: The number of plans.
        seed: Decides the search.
    """
    random = np.random.default_rng(seed)
    before = seen(world.tables()[0], world.seed, victim)[1]
    tried: list[tuple[Plan, Harm]] = []
    plan = Plan()
    for _ in range(tries):
        made = deepcopy(world)
        held, lower, status = seen(acted(made, made.agents[victim.number], plan), world.seed, victim)
        tried.append((plan, Harm(held, (lower, before), status == "contested")))
        best = max(tried, key=lambda entry: entry[1].size)[0]
        plan = best.near(random)
    return tried
