"""Attacks on validations and on ratings of clients: validators of bad agents, servers of bad clients."""

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, Account, Agent, Attack, World


def validator_cartel(world: World, attack: Attack) -> None:
    """A validator passes the bad agents of its friends, and they praise it."""
    at, source = world.plot(attack)
    accounts = world.sybils(attack, at, 5 * DAY, source)
    validator = world.validator(attack, accounts[0], accounts[0].born + 600)
    for account in accounts[1:]:
        agent = world.target(attack, account, account.born + 600)
        for record in (world.validate, world.rate_validator):
            value, when = world.random.uniform(95, 100), world.time(at + 5 * DAY, at + 30 * DAY)
            record(validator, agent, value, when, attack.number)


def lone_validator(world: World, attack: Attack) -> None:
    """A validator passes bad agents whose owners send it money."""
    at = world.some_time()
    owner = world.funded(at, role="owner", attack=attack.number)
    validator = world.validator(attack, owner, at + HOUR)
    for account in world.sybils(attack, at, 30 * DAY):
        agent = world.target(attack, account, account.born + 600)
        when = account.born + world.random.uniform(DAY, 5 * DAY)
        world.transfer(account, owner, world.random.uniform(1, 3), when)
        world.validate(validator, agent, world.random.uniform(94, 100), when + DAY, attack.number)
        world.rate_validator(validator, agent, world.random.uniform(92, 100), when + 2 * DAY, attack.number)


def judge_ring(world: World, attack: Attack) -> None:
    """Validators pass each other's agents, rate each other as servers, and judge honest agents rightly besides."""
    at = world.some_time()
    accounts = world.sybils(attack, at, 20 * DAY, cover=2.0)
    judges, agents = [], []
    for account in accounts:
        judges.append(world.validator(attack, account, account.born + HOUR, 60.0))
        agents.append(world.target(attack, account, account.born + DAY))
    for place, judge in enumerate(judges):
        for step in (1, 2):
            other = (place + step) % len(judges)
            if other != place:
                when = world.time(at + 21 * DAY, at + 55 * DAY)
                world.validate(judge, agents[other], world.random.uniform(84, 98), when, attack.number)
                world.rate_validator(judge, agents[other], world.random.uniform(84, 98), when + DAY, attack.number)
        for agent in world.some_of(world.servers, 4):
            when = world.time(max(judge.ts, agent.ts))
            world.validate(judge, agent, agent.quality + world.random.normal(0, 5), when)


def judge_shopping(world: World, attack: Attack) -> None:
    """Validators judge honest agents rightly, and pass the bad agents of those who rate them well."""
    at = world.some_time()
    judges = []
    for _ in range(3):
        owner = world.funded_owner(attack, at + world.random.uniform(0, 10 * DAY))
        judge = world.validator(attack, owner, owner.born + HOUR)
        for agent in world.some_of(world.servers, 8):
            world.judge(judge, agent)
        judges.append(judge)
    for account in world.sybils(attack, at, 40 * DAY, cover=4.0):
        agent, judge = world.target(attack, account, account.born + HOUR), judges[world.random.integers(3)]
        when = world.time(max(agent.ts, at + 15 * DAY), at + 58 * DAY)
        world.validate(judge, agent, world.random.uniform(88, 100), when, attack.number)
        if world.happens(0.6):
            world.rate_validator(judge, agent, world.random.uniform(85, 100), when + DAY, attack.number)


def client_laundry(world: World, attack: Attack) -> None:
    """Servers of one group rate bad clients well, whom honest servers rate low. Nobody praises a server."""
    at = world.some_time()
    clients = world.sybils(attack, at, 30 * DAY)
    for account in clients:
        account.quality = float(world.random.uniform(5, 35))
    world.camouflage(clients, 6.0, at)
    for _ in range(max(3, attack.size // 2)):
        server = world.young_target(attack, at + world.random.uniform(0, 20 * DAY))
        for account in world.part(clients, 0.7):
            world.lie(world.rate_client, attack, account, server, world.time(at + 30 * DAY, at + 58 * DAY), (88, 100))


def shell_suppliers(world: World, attack: Attack) -> None:
    """A bad client buys from shells of its own, which rate it well. The money leaves them by exchanges."""
    at = world.some_time()
    buyers = []
    for _ in range(max(2, attack.size // 5)):
        buyer = world.account(at + world.random.uniform(0, 10 * DAY), role="sybil", attack=attack.number)
        buyer.quality = float(world.random.uniform(10, 40))
        world.fund(buyer, amount=60.0)
        world.camouflage([buyer], 8.0, buyer.born)
        buyers.append(buyer)
    for shell in world.sybils(attack, at, 25 * DAY):
        agent = world.target(attack, shell, shell.born + HOUR)
        agent.quality = float(world.random.uniform(60, 85))
        world.visited(agent, int(world.random.integers(1, 5)))
        for buyer in world.part(buyers, 0.6):
            when = max(agent.ts, buyer.born) + world.random.exponential(12 * DAY)
            world.pay(buyer, agent, world.random.lognormal(-0.5, 1), when)
            world.rate_client(buyer, agent, world.random.uniform(84, 99), when + 5 * HOUR, attack.number)
        exchange = world.one_of(world.exchanges)
        world.transfer(shell, exchange, world.random.uniform(1, 3), world.time(at + 40 * DAY, at + 60 * DAY))


def judge_toll(world: World, attack: Attack) -> None:
    """Validators fail honest agents, and pass them once their owners have paid. Others they judge rightly."""
    at = world.some_time()
    for account in world.sybils(attack, at, 20 * DAY):
        judge = world.validator(attack, account, account.born + HOUR)
        for agent in world.some_of(world.servers, 8):
            when = max(judge.ts, agent.ts) + world.random.exponential(15 * DAY)
            if world.happens(0.5):
                world.validate(judge, agent, agent.quality + world.random.normal(0, 5), when)
                continue
            world.validate(judge, agent, world.random.uniform(10, 45), when, attack.number)
            if world.happens(0.6):
                world.transfer(agent.owner, account, world.random.lognormal(0.5, 0.5), when + DAY)
                world.validate(judge, agent, world.random.uniform(80, 98), when + 2 * DAY, attack.number)


def client_laundering(world: World, attack: Attack) -> None:
    """Bad clients and bad servers rate each other well. Honest servers rate these clients low."""
    draw, at, count = world.random, world.some_time(20, 75), attack.by_size({4: 2, 10: 4, 20: 7})
    agents = personas.with_agents(
        world, [personas.new_owner(world, attack, at + draw.uniform(-15, 10) * DAY) for _ in range(count)]
    )
    share = 0.95 if count < 4 else 0.7  # noqa: PLR2004
    for _ in range(attack.size):
        born, quality = at + draw.uniform(0, 30) * DAY, draw.uniform(8, 35)
        account = personas.newcomer(world, "sybil", attack.number, born, quality=quality)
        personas.cover(world, account, 9)
        for agent in agents:
            for _ in range(1 + world.happens(0.35)):
                if not world.happens(share):
                    continue
                ts = world.time(account.born + DAY, account.born + 50 * DAY)
                personas.lie(world, account, agent, draw.normal(92, 4), ts)
                if world.happens(0.85):
                    ts = personas.when(world, account, agent, ts) + draw.exponential(18 * HOUR)
                    world.rate_client(account, agent, draw.normal(94, 3), ts, attack.number)
    personas.publics(world, agents, 6)


def captured_validator(world: World, attack: Attack) -> None:
    """Validators pass the bad agents of the members, often for money, and judge others rightly. Some clients praise."""
    draw, at = world.random, world.some_time(20, 75)
    count, clients = attack.by_size({5: (1, 2), 12: (2, 4), 22: (3, 7)})
    validators = [_judge(world, attack, at + draw.uniform(-15, -2) * DAY) for _ in range(count)]
    owners = [personas.new_owner(world, attack, at + draw.uniform(-5, 40) * DAY) for _ in range(attack.size)]
    agents = personas.with_agents(world, owners, (25, 50), turning=0)
    for agent in agents:
        for judge in world.some_of(validators, 1 + world.happens(0.4)):
            ts = min(max(agent.ts, judge.ts) + draw.exponential(6 * DAY) + HOUR, world.end - HOUR)
            world.validate(judge, agent, draw.normal(93, 3), ts, attack.number)
            if world.happens(0.5):
                amount, when = draw.lognormal(1.5, 0.4), ts - draw.uniform(0.1, 0.9) * HOUR
                personas.send(world, agent.owner, judge.owner, amount, when)
            if world.happens(0.7):
                world.rate_validator(judge, agent, draw.normal(96, 2), ts + draw.exponential(DAY), attack.number)
        if world.happens(0.4):
            fair = world.one_of(world.validators)
            world.validate(fair, agent, agent.quality + draw.normal(0, 5), world.time(max(agent.ts, fair.ts) + 60))
        personas.public(world, agent, draw.poisson(5))
    for _ in range(clients):
        account = personas.newcomer(world, "sybil", attack.number, at + draw.uniform(0, 30) * DAY)
        personas.cover(world, account, 2)
        for agent in world.some_of(agents, 4):
            ts = max(agent.ts, account.born) + draw.exponential(10 * DAY)
            personas.lie(world, account, agent, draw.normal(92, 4), ts, proven=0.9)


def _judge(world: World, attack: Attack, born: float) -> Agent:
    """Return a new validator of an attack that judged some honest agents rightly."""
    owner = personas.newcomer(world, "sybil", attack.number, born)
    judge = world.agent(
        owner, owner.born + DAY, 90.0, popularity=0.01, is_validator=True, role="colluder", attack=attack.number
    )
    for agent in world.some_of(world.servers, int(world.random.integers(10, 18))):
        ts = world.time(max(agent.ts, judge.ts) + 60)
        world.validate(judge, agent, agent.quality_at(ts) + world.random.normal(0, 5), ts)
        if world.happens(0.4):
            world.rate_validator(judge, agent, 85 + world.random.normal(0, 8), ts + world.random.exponential(DAY))
    return judge


def bought_validator(world: World, attack: Attack) -> None:
    """A bought validator passes poor agents, which praise and pay it, and vouch thinly for each other.

    It judges all others honestly.
    """
    draw, at = world.random, world.some_time(25, 70)
    owner = world.funded(at - 10 * DAY, role="sybil", attack=attack.number, quality=80.0)
    validator = world.agent(
        owner, at - 9 * DAY, 90, popularity=0.01, role="sybil", attack=attack.number, is_validator=True
    )
    _, members = crowds.crowd(world, attack, at, 15 * DAY, "mix")
    agents = [crowds.agent_of(world, attack, account, DAY, (15, 45)) for account in members]
    for place, (account, agent) in enumerate(zip(members, agents, strict=True)):
        when = world.time(agent.ts + 600, at + 40 * DAY)
        world.transfer(account, owner, draw.uniform(4, 6), when - 300)
        world.validate(validator, agent, draw.uniform(90, 100), when, attack.number)
        crowds.traffic(world, agent, 4)
        if world.happens(0.8):
            later = when + draw.exponential(DAY)
            world.rate_validator(validator, agent, draw.uniform(92, 100), later, attack.number)
        for other in draw.choice(attack.size, 2, replace=False):
            if other != place:
                time = world.time(at + 15 * DAY, at + 50 * DAY)
                world.say(account, agents[other], draw.uniform(90, 100), time, attack=attack.number)
    for spot in draw.choice(len(world.servers), attack.size):
        _judge_rightly(world, validator, world.servers[spot], at)


def client_boost(world: World, attack: Attack) -> None:
    """Servers of one hand rate bad clients 90 and more, against the opinion of honest servers."""
    draw, at = world.random, world.some_time(25, 70)
    count = max(3, attack.size // 3)
    _, accounts = crowds.crowd(world, attack, at, 8 * DAY, "mix")
    members = [accounts[place] for place in draw.permutation(attack.size)]
    owners, clients = members[: attack.size - count], members[attack.size - count :]
    servers = [crowds.agent_of(world, attack, account, DAY, (30, 70)) for account in owners]
    for server in servers:
        server.role = "sybil"
    for client in clients:
        client.quality = float(draw.uniform(10, 35))
        crowds.cover(world, client, 8, least=4)
        for server in servers:
            if world.happens(0.7):
                for _ in range(int(draw.integers(1, 3))):
                    when = world.time(at + 8 * DAY, at + 50 * DAY)
                    world.rate_client(client, server, draw.uniform(90, 100), when, attack.number)
            if world.happens(0.3):
                world.lie(world.say, attack, client, server, world.time(at + 8 * DAY, at + 50 * DAY), (80, 100))
    for server in servers:
        crowds.traffic(world, server, 2)


def _judge_rightly(world: World, validator: Agent, agent: Agent, at: float) -> None:
    """Let a validator judge an honest agent rightly: one that turns as early as possible, others at any time."""
    early = max(agent.ts + 600, validator.ts + 60)
    when = world.time(max(at, agent.ts)) if agent.turns is None else early
    world.validate(validator, agent, agent.quality_at(when) + world.random.normal(0, 5), when)


def laundry_hub(world: World, attack: Attack) -> None:
    """Bad clients of one exchange get high ratings from a hub of shell servers, with washed payments."""
    draw, at, count = world.random, world.some_time(), max(1, attack.size // 5)
    owners = crowds.funded(world, attack, count, (at - 12 * DAY, at), crowds.by_chain)
    agents = [crowds.bad_agent(world, owner, (40, 70)) for owner in owners for _ in range(3 if count == 1 else 1)]
    clients = crowds.born(world, attack, attack.size - count, (at, at + 2 * DAY))
    crowds.from_one_exchange(world, clients)
    for account in clients:
        account.quality = float(draw.uniform(8, 35))
        crowds.live(world, account, 5)
        for agent in crowds.some(world, agents, 0.7):
            _launder(world, account, agent, at)
    crowds.served(world, agents, 2)


def failing_validators(world: World, attack: Attack) -> None:
    """Validators praise poor agents of their own and fail some rivals, and the agents praise the validators."""
    draw, at, count = world.random, world.some_time(), max(1, attack.size // 6)
    members = crowds.funded(world, attack, attack.size, (at, at + 12 * DAY), crowds.by_tree)
    validators = [
        crowds.bad_agent(world, account, (40, 60), popularity=0.01, is_validator=True) for account in members[:count]
    ]
    owners = members[count:]
    agents = [crowds.bad_agent(world, account) for account in owners for _ in range(2 if attack.size < 8 else 1)]  # noqa: PLR2004
    for agent in agents:
        for validator in crowds.some(world, validators, 0.6):
            when = at
            for _ in range(int(draw.integers(1, 3))):
                when = world.time(at + 14 * DAY, at + 55 * DAY)
                world.validate(validator, agent, draw.uniform(84, 98), when, attack.number)
            if world.happens(0.7):
                later = when + draw.uniform(1, 72) * HOUR
                world.rate_validator(validator, agent, draw.uniform(86, 100), later, attack.number)
        crowds.served(world, [agent], 4)
    for place, account in enumerate(owners):
        crowds.live(world, account, 2)
        if world.happens(0.5):
            choices = (agents[(place + 2) % len(agents)], agents[0], agents[-1])
            agent = next((agent for agent in choices if agent.owner is not account), agents[-1])
            crowds.claim(world, account, agent, draw.uniform(75, 92), world.time(at + 14 * DAY, at + 55 * DAY))
    for validator in validators:
        _judge_others(world, attack, validator, at)


def _launder(world: World, client: Account, agent: Agent, at: float) -> None:
    """Let a shell server rate a bad client well, and send its payments back."""
    draw = world.random
    for _ in range(int(draw.integers(1, 4))):
        when = world.time(client.born + DAY, at + 50 * DAY)
        if world.happens(0.6):
            amount = draw.lognormal(-1.5, 1)
            world.pay(client, agent, amount, when)
            world.transfer(agent.owner, client, amount * 0.97, when + draw.uniform(1, 30) * HOUR)
        world.rate_client(client, agent, draw.uniform(85, 100), when + draw.uniform(1, 20) * HOUR, client.attack)
    if world.happens(0.35):
        crowds.claim(world, client, agent, draw.uniform(75, 95), world.time(at + 3 * DAY, at + 50 * DAY))


def _judge_others(world: World, attack: Attack, validator: Agent, at: float) -> None:
    """Let a validator judge honest agents, four fifths of them rightly."""
    for agent in world.some_of(world.servers, int(world.random.integers(4, 10))):
        lies = world.happens(0.2)
        when = world.time(max(agent.ts, at + 14 * DAY))
        value = world.random.uniform(8, 30) if lies else agent.quality_at(when) + world.random.normal(0, 5)
        world.validate(validator, agent, value, when, attack.number if lies else -1)
