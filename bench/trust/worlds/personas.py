"""Members with an ordinary person's traits, who use agents, pay and prove as honest people do."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from bench.trust.worlds.world import DAY, HOUR, Account, Agent, Attack, Range, World

SPARED: Final = frozenset({"launch campaign", "DAO team", "refund merchant"})
"""The honest groups whose members no attack recruits."""


def send(world: World, source: Account, to: Account, amount: float, ts: float) -> None:
    """Record a transfer; one after the end falls into the last half day.

    Args:
        world: The world.
        source: The sender.
        to: The receiver.
        amount: The amount; at least 0.001 is sent.
        ts: The time.
    """
    at = ts if ts <= world.end else world.end - world.random.uniform(0, 0.5 * DAY)
    world.transfer(source, to, max(amount, 0.001), at)


def newcomer(
    world: World, role: str, number: int, born: float, source: Account | None = None, **other: float
) -> Account:
    """Return a new account with an ordinary person's traits, which may send a person money later.

    Args:
        world: The world.
        role: Its role.
        number: Its attack; -1 for none.
        born: The time of its birth.
        source: The account that funds it; funded as anybody is if None.
        other: The `amount` and the time (`at`) of the funds from a source, its `quality` and its `community`.
    """
    draw = world.random
    bias, quality, community = draw.normal(0, 6), draw.uniform(60, 98), draw.integers(world.settings.communities)
    account = world.account(born, role=role, attack=number, bias=float(bias))
    account.quality, account.community = float(other.get("quality", quality)), int(other.get("community", community))
    if source is None:
        world.fund(account)
    else:
        amount, at = other.get("amount", draw.lognormal(3, 0.8)), other.get("at", born - draw.uniform(600, DAY))
        send(world, source, account, amount, at)
    if world.happens(0.12):
        send(world, account, world.one_of(world.honest), draw.lognormal(1.5, 1), world.time(born))
    return account


def mule(world: World, number: int, ts: float, amount: float, source: Account | None = None) -> Account:
    """Return a new account that money passes through.

    Args:
        world: The world.
        number: Its attack.
        ts: The time of its birth and of its funds.
        amount: The amount of its funds.
        source: The account that funds it; an exchange if None.
    """
    account = world.account(ts, role="mule", attack=number)
    send(world, source or world.one_of(world.exchanges), account, amount, ts)
    return account


def purse(world: World, owner: Account, amount: float) -> Account:
    """Return a new wallet for an owner's agent, a mule that the owner funds."""
    account = world.account(owner.born, role="mule", attack=owner.attack)
    send(world, owner, account, amount, owner.born + 60)
    return account


def register(world: World, owner: Account, ts: float, quality: float, **other: object) -> Agent:
    """Register an agent after its owner's birth and more than a day before the end.

    Args:
        world: The world.
        owner: The owner.
        ts: The time.
        quality: The quality.
        other: Further attributes of the agent.
    """
    ts = max(ts, owner.born + 60)
    ts = ts if ts <= world.end - DAY else world.end - world.random.uniform(DAY, 3 * DAY)
    return world.agent(owner, ts, quality, **other)


def target(world: World, owner: Account, ts: float, quality: Range = (20, 55), *, turning: float = 0.12) -> Agent:
    """Return a new agent of an attacker, which may be good first and turn bad.

    Args:
        world: The world.
        owner: The owner, a member of the attack.
        ts: The time of its registration.
        quality: The lowest and highest quality.
        turning: The probability that it is good first.
    """
    about = {"community": owner.community, "popularity": 0.5, "role": "beneficiary", "attack": owner.attack}
    agent = register(world, owner, ts, world.random.uniform(*quality), **about)
    if world.happens(turning):
        agent.quality = float(world.random.uniform(65, 88))
        later = agent.ts + world.random.uniform(0.25, 0.6) * (world.end - agent.ts)
        agent.turns = (float(later), float(world.random.uniform(10, 40)))
    return agent


def earliest(world: World, client: Account, agent: Agent) -> float:
    """Return the first time at which a client can use an agent."""
    return min(max(agent.ts, client.born) + 60, world.end - 2)


def when(world: World, client: Account, agent: Agent, ts: float) -> float:
    """Return a time at which a client can use an agent: the given one if it is possible.

    Args:
        world: The world.
        client: The client.
        agent: The agent.
        ts: The time.
    """
    start = earliest(world, client, agent)
    if start <= ts <= world.end:
        return ts
    if ts > world.end:
        return float(world.random.uniform(start, world.end))
    return float(start + world.random.uniform(0, 1) * min(5 * DAY, world.end - start))


def meet(world: World, client: Account, agent: Agent, ts: float) -> None:
    """Let a client use an agent honestly, once both exist."""
    world.meet(client, agent, when(world, client, agent, ts))


def cover(world: World, account: Account, mean: float, stop: float | None = None) -> None:
    """Let an account use agents as ordinary people do: mostly of its community, the popular ones most.

    Args:
        world: The world.
        account: The account.
        mean: The mean number of uses.
        stop: The latest time; the world's end if None.
    """
    for agent in world.usual_servers(account, mean):
        if agent.owner is not account:
            latest = max(stop or world.end, earliest(world, account, agent) + DAY)
            meet(world, account, agent, world.time(max(account.born, agent.ts) + 600, latest))


def public(world: World, agent: Agent, count: int, start: float = 0.0, stop: float | None = None) -> None:
    """Let ordinary people, mostly of its community, use an agent and say what they found.

    Args:
        world: The world.
        agent: The agent.
        count: The number of people. Those who are no longer honest are left out.
        start: The earliest time.
        stop: The latest time; the world's end if None.
    """
    near = [account for account in world.honest if account.community == agent.community]
    for _ in range(count):
        client = world.one_of(near if world.happens(0.75) else world.honest)
        if client.role == "honest" and client is not agent.owner:
            latest = max(stop or world.end, earliest(world, client, agent) + DAY)
            meet(world, client, agent, world.time(max(start, agent.ts, client.born) + 600, latest))


def publics(world: World, agents: Sequence[Agent], mean: float) -> None:
    """Let a drawn number of ordinary people use each agent."""
    for agent in agents:
        public(world, agent, world.random.poisson(mean))


def lie(world: World, client: Account, agent: Agent, value: float, ts: float, **habits: float) -> tuple[float, float]:
    """Let a member give one false feedback, paid and proven as often as honest ones.

    Args:
        world: The world.
        client: The member.
        agent: The agent.
        value: The value.
        ts: The time, moved if client or agent did not exist.
        habits: The shares that are `paid` and `proven`, the share `answered` by a good rating, and the `amount` paid.

    Returns:
        The amount paid, and the time of the use.
    """
    draw, at = world.random, when(world, client, agent, ts)
    proof, amount = None, 0.0
    if world.happens(habits.get("paid", 0.6)):
        amount = float(habits.get("amount", draw.lognormal(-1, 1.2)))
        proof = world.pay(client, agent, amount, at)
    time = at + draw.exponential(5 * HOUR)
    if proof is not None and time > world.end:  # never before its payment
        time = draw.uniform(at, world.end)
    keeps = proof is not None and world.happens(habits.get("proven", 0.5))
    world.say(client, agent, value, time, proof=proof if keeps else None, attack=client.attack)
    if world.happens(habits.get("answered", 0.0)):
        world.rate_client(client, agent, draw.normal(93, 4), at + draw.exponential(12 * HOUR), client.attack)
    return amount, at


def recruit(world: World, attack: Attack, pool: Sequence[Account], count: int, role: str) -> list[Account]:
    """Make some honest accounts of a pool members of an attack.

    Args:
        world: The world.
        attack: The attack.
        pool: The accounts.
        count: The number.
        role: Their role.
    """
    out = world.some_of(available(pool), count)
    for account in out:
        account.role, account.attack = role, attack.number
    return out


def available(pool: Sequence[Account]) -> list[Account]:
    """Return the accounts of a pool that an attack may recruit."""
    return [account for account in pool if account.role == "honest" and account.group not in SPARED]


def new_owner(world: World, attack: Attack, born: float, **other: float) -> Account:
    """Return a new owner of an agent that an attack praises."""
    return newcomer(world, "beneficiary", attack.number, born, None, **other)


def with_agents(
    world: World, owners: list[Account], quality: Range = (20, 55), *, turning: float = 0.12
) -> list[Agent]:
    """Return a new agent of each owner, registered some days after the owner's birth; see `target`."""
    after = (account.born + world.random.exponential(2 * DAY) for account in owners)
    return [target(world, account, ts, quality, turning=turning) for account, ts in zip(owners, after, strict=True)]


def true_feedbacks(world: World) -> Counter[str]:
    """Return the number of true feedbacks of each account."""
    return Counter(row[0] for row in world.feedback if row[6] < 0)


def first_agents(agents: list[Agent]) -> dict[str, Agent]:
    """Return the first agent of each owner, by the owner's address in order."""
    first: dict[str, Agent] = {}
    for agent in agents:
        first.setdefault(agent.owner.address, agent)
    return dict(sorted(first.items()))
