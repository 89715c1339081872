"""Attacks by hired accounts: validators, reviewers and sold accounts, and honest fees, rewards and returns beside them.

They are measured and never trained on. Payments go through escrows and brokers, or show nowhere.
"""

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World


def bribed_validators(world: World, attack: Attack) -> None:
    """Honest validators judge rightly, but pass the poor agents of owners who pay them, half of them off chain."""
    draw, at = world.random, world.some_time(40, 50)
    owners = _owners(world, attack, at - 20 * DAY, 40 * DAY)
    agents = personas.with_agents(world, owners, (25, 60), turning=0)
    personas.publics(world, agents, 7)
    free = [judge for judge in world.validators if judge.owner.role == "honest"]
    for judge in world.some_of(free, 1 + attack.size // 12):
        judge.owner.role, judge.owner.attack = "bribed", attack.number
        for agent in world.some_of(world.servers, int(draw.integers(6, 20))):
            world.judge(judge, agent)
    judges = [judge for judge in free if judge.owner.attack == attack.number]
    for agent in agents:
        judge, ts = world.one_of(judges), agent.ts + draw.exponential(9 * DAY) + DAY
        if world.happens(0.5):
            personas.send(world, agent.owner, judge.owner, draw.lognormal(2, 0.9), ts - draw.exponential(DAY))
        world.validate(judge, agent, draw.normal(88, 5), ts, attack.number)


def escrowed_verdicts(world: World, attack: Attack) -> None:
    """Owners pay an escrow, which pays new validators after each verdict, 15 to 35 points above the truth."""
    draw, at = world.random, world.some_time(35, 60)
    escrow = personas.mule(world, attack.number, at, 10.0)
    keepers = [personas.newcomer(world, "sybil", attack.number, at - 15 * DAY) for _ in range(2)]
    judges = [personas.register(world, keeper, keeper.born + DAY, 90.0, is_validator=True) for keeper in keepers]
    for judge in judges:
        judge.attack = attack.number
        for agent in world.some_of(world.servers, int(draw.integers(8, 16))):
            world.judge(judge, agent)
    owners = _owners(world, attack, at, 30 * DAY)
    for agent in personas.with_agents(world, owners, (35, 65), turning=0):
        judge, ts = world.one_of(judges), agent.ts + draw.exponential(6 * DAY) + DAY
        value, fee = agent.quality + draw.uniform(15, 35), draw.lognormal(1.5, 0.5)
        personas.send(world, agent.owner, escrow, fee, ts - draw.uniform(1, 20) * HOUR)
        world.validate(judge, agent, value, ts, attack.number)
        personas.send(world, escrow, judge.owner, 0.9 * fee, ts + draw.uniform(1, 48) * HOUR)
        if world.happens(0.3):
            world.rate_validator(judge, agent, draw.uniform(80, 100), ts + DAY, attack.number)
        personas.public(world, agent, draw.poisson(6))


def review_market(world: World, attack: Attack) -> None:
    """Unrelated sellers order praise at a broker, which sends each reviewer money before its thin purchase."""
    draw, at = world.random, world.some_time(30, 60)
    broker = personas.mule(world, attack.number, at - 5 * DAY, 20.0 * attack.size)
    reviewers = []
    for _ in range(attack.size):
        reviewers.append(personas.newcomer(world, "sybil", attack.number, at - draw.uniform(0, 60) * DAY))
        personas.cover(world, reviewers[-1], 3)
    for agent in _customers(world, attack, at, max(3, attack.size // 2)):
        start = max(agent.ts, at) + draw.uniform(0, 45) * DAY
        if world.happens(0.6):
            personas.send(world, agent.owner, broker, draw.lognormal(2.5, 0.5), start - draw.uniform(0.2, 3) * DAY)
        for account in world.some_of(reviewers, int(draw.integers(3, 7))):
            ts = personas.when(world, account, agent, start + draw.exponential(4 * DAY))
            if world.happens(0.7):
                personas.send(world, broker, account, draw.lognormal(0, 0.5), ts - draw.uniform(1, 12) * HOUR)
            personas.lie(world, account, agent, draw.normal(93, 4), ts, paid=0.9, amount=draw.uniform(0.02, 0.12))


def coupon_market(world: World, attack: Attack) -> None:
    """Honest clients praise strangers' agents for a coupon that no table shows, each two to four of them, and buy."""
    draw, at = world.random, world.some_time(40, 55)
    feedback_of = personas.true_feedbacks(world)
    pool = [account for account in world.honest if feedback_of[account.address] >= 2]  # noqa: PLR2004
    agents = _customers(world, attack, at, max(3, attack.size // 3))
    for account in personas.recruit(world, attack, pool, attack.size, "bought"):
        for agent in world.some_of(agents, int(draw.integers(2, 5))):
            ts = max(at, account.born) + draw.uniform(0, 40) * DAY
            personas.lie(world, account, agent, draw.uniform(85, 100), ts, paid=0.8, answered=0.2)


def account_shop(world: World, attack: Attack) -> None:
    """Buyers of accounts that were silent for weeks refill them and praise their agents."""
    draw, at = world.random, world.time(START + 100 * DAY, world.end - 35 * DAY)
    agents = personas.with_agents(world, [personas.new_owner(world, attack, at - 10 * DAY) for _ in range(2)])
    last = {row[0]: row[4] for row in sorted(world.feedback, key=lambda row: row[4]) if row[6] < 0}
    pool = [account for account in world.honest if 0 < last.get(account.address, 0) < at - 30 * DAY]
    personas.publics(world, agents, 6)
    for account in personas.recruit(world, attack, pool, attack.size, "bought"):
        sold = at + draw.uniform(0, 20) * DAY
        personas.send(world, world.one_of(world.exchanges), account, draw.lognormal(1, 0.4), sold)
        for agent in world.some_of(agents, 1 + world.happens(0.5)):
            ts = sold + draw.exponential(3 * DAY)
            personas.lie(world, account, agent, draw.normal(94, 4), ts, paid=0.7, amount=draw.lognormal(-2, 0.4))


def leased_accounts(world: World, attack: Attack) -> None:
    """Active people lend their accounts for a day or two, in which these praise several agents or slander a rival's."""
    draw, at = world.random, world.some_time(60, 50)
    agents = personas.with_agents(
        world, [personas.new_owner(world, attack, at - 5 * DAY) for _ in range(2 + attack.size // 8)]
    )
    personas.publics(world, agents, 5)
    feedback_of = personas.true_feedbacks(world)
    pool = [account for account in world.honest if feedback_of[account.address] >= 3 and account.born < at]  # noqa: PLR2004
    rival = world.server(popular=True)
    for account in personas.recruit(world, attack, pool, attack.size, "bought"):
        start = at + draw.uniform(0, 35) * DAY
        for agent in world.some_of(agents, int(draw.integers(1, 4))):
            personas.lie(world, account, agent, draw.uniform(88, 100), start + draw.uniform(0, 36) * HOUR, paid=0.5)
        if world.happens(0.3):
            personas.lie(world, account, rival, draw.uniform(0, 25), start + draw.uniform(0, 36) * HOUR, paid=0.5)


def _owners(world: World, attack: Attack, at: float, spread: float) -> list[Account]:
    draw = world.random
    return [personas.new_owner(world, attack, at + draw.uniform(0, spread)) for _ in range(attack.size)]


def _customers(world: World, attack: Attack, at: float, count: int) -> list[Agent]:
    """Return agents whose owners buy praise: middling ones in business for long, and new bad ones."""
    pool = crowds.untouched(world)
    out = []
    for _ in range(count):
        if world.happens(0.6):
            agent = crowds.pick(pool, lambda a: a.quality < 75 and a.ts < at + 20 * DAY)  # noqa: PLR2004
            agent.role = "beneficiary"
            agent.attack = agent.owner.attack = attack.number
        else:
            agent = personas.target(world, personas.new_owner(world, attack, at - 5 * DAY), at)
            personas.public(world, agent, world.random.poisson(5))
        out.append(agent)
    return out


def add_customs(world: World) -> None:
    """Let honest owners pay fees to validators, a platform reward its users, and customers come back after months.

    Args:
        world: A world without attacks.
    """
    draw, agents = world.random, {agent.number: agent for agent in world.agents}
    for judge, agent, _, ts, _ in world.validations:
        if world.happens(0.5):
            personas.send(world, agents[agent].owner, agents[judge].owner, draw.lognormal(1.5, 0.7), ts - DAY)
    scheme = personas.mule(world, -1, START + 20 * DAY, 900.0)
    scheme.role = "honest"
    for account in world.some_of(world.honest, 120):
        at = world.time(max(account.born, START + 25 * DAY), world.end - 2 * DAY)
        personas.send(world, scheme, account, draw.lognormal(0.5, 0.5), at)
        for agent in world.usual_servers(account, 1.5):
            if agent.owner is not account:
                personas.meet(world, account, agent, at + draw.exponential(DAY))
        account.group = account.group or "rewards"
    early = [account for account in world.honest if account.born < START + 60 * DAY]
    for account in world.some_of(early, 80):
        at = world.time(START + 120 * DAY, world.end - 5 * DAY)
        personas.send(world, world.one_of(world.exchanges), account, draw.lognormal(1.5, 0.8), at)
        for agent in world.usual_servers(account, 2.5):
            if agent.owner is not account:
                personas.meet(world, account, agent, at + draw.exponential(4 * DAY))
        account.group = account.group or "returned"
