"""The measures of a market that was played: in money, and by the truth that no policy saw."""

import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from bench.market.attackers import Attackers, Campaign, Memory
from bench.market.play import EXCHANGES, GOOD, Array, Log, Market, Policy
from bench.market.policies import Ranking, by_counts, fitted, held
from bench.market.settings import Settings
from bilateral.trust.decisions import ASKS, decide, until
from bilateral.trust.engine import Engine

WARM: Final = 10
"""The days that are not measured, in which nobody knows anybody."""

CHEAP: Final = 20.0
"""The mean cost of a campaign, in dollars, up to which a strategy counts as cheap."""


@dataclass(frozen=True)
class Outcome:
    """The measures of one market. Shares are from 0 to 1.

    Attributes:
        lost: The share of the money that went to cheats.
        value: The value that buyers received, in dollars.
        declined: The share of good sellers that the policy refuses, as a mean of days.
        served: The share of needs that had an acceptable offer.
        profit: The profit of attackers for each dollar that they spent; 0 without attackers.
        spent: The dollars that attackers spent.
        newcomers: The share of good sellers that came later, at least ten days before the end, and sold nothing.
        gini: The Gini coefficient of the revenue of honest sellers.
        strategies: For each strategy: campaigns, cost, revenue, the money lost to it, and the revenue for good service.
    """

    lost: float
    value: float
    declined: float
    served: float
    profit: float
    spent: float
    newcomers: float
    gini: float
    strategies: dict[str, tuple[float, ...]]


def play(settings: Settings, policy: Policy, seed: int, rehearsals: int = 0) -> Iterator[tuple[Market, Attackers]]:
    """Play a market with attackers, after others in which they learn.

    Args:
        settings: The assumptions.
        policy: The system that buyers follow.
        seed: Decides all draws.
        rehearsals: The markets under the same policy that the attackers learn from before.

    Yields:
        Each market and its attackers: the rehearsals, and then the market.
    """
    memory = Memory()
    for number in range(rehearsals + 1):
        own = seed + 10_007 * (rehearsals - number)
        attackers = Attackers(own, memory)
        market = Market(settings, policy, own, (attackers,)).run()
        attackers.finish(market)
        yield market, attackers


def outcome(market: Market, attackers: Attackers | None = None) -> Outcome:
    """Measure a market.

    Args:
        market: The market, which was played.
        attackers: Its attackers.
    """
    sales, agents = market.sales, market.agents
    warm = sales["day"] >= WARM
    paid, cheated = sales["paid"][warm], sales["cheated"][warm]
    needs = np.array(market.unserved[WARM:])
    revenue = np.bincount(sales["agent"], sales["paid"], len(agents.quality))
    campaigns = attackers.campaigns if attackers is not None else []
    cost = sum(campaign.cost for campaign in campaigns)
    gained = sum(campaign.revenue for campaign in campaigns)
    return Outcome(
        lost=float(paid[cheated].sum() / paid.sum()),
        value=float(sales["value"][warm].sum()),
        declined=float(np.mean(market.declined[WARM:])),
        served=float(1 - needs[:, 0].sum() / max(needs[:, 1].sum(), 1)),
        profit=float((gained - cost) / cost) if cost else 0.0,
        spent=float(cost),
        newcomers=_newcomers(market),
        gini=gini(revenue[agents.honest & ~agents.free]),
        strategies=_strategies(market, campaigns),
    )


def _newcomers(market: Market) -> float:
    """Return the share of good sellers that came while the market ran and sold nothing."""
    settings, agents = market.settings, market.agents
    born = market.log.agents["ts"]
    later = (born > settings.time(WARM)) & (born < settings.time(settings.days - WARM))
    good = agents.honest & (agents.quality >= GOOD) & later
    sold = np.bincount(market.sales["agent"], minlength=len(born)) > 0
    return float(np.mean(~sold[good])) if good.any() else 0.0


def gini(values: Array) -> float:
    """Return the Gini coefficient: 0 if all are equal, 1 if one has everything.

    Args:
        values: Values that are not negative.
    """
    ordered = np.sort(values)
    count, total = len(ordered), float(ordered.sum())
    if not total:
        return 0.0
    return float(2 * np.sum(np.arange(1, count + 1) * ordered) / (count * total) - (count + 1) / count)


def _strategies(market: Market, campaigns: list[Campaign]) -> dict[str, tuple[float, ...]]:
    """Return campaigns, cost, revenue, the money lost, and the revenue for good service, by strategy."""
    sales = market.sales
    number = market.agents.campaign[sales["agent"]]
    counts = (sales["day"] >= WARM) & sales["cheated"] & (number >= 0)
    lost = np.bincount(number[counts], sales["paid"][counts], len(campaigns))
    sums: dict[str, Array] = {}
    for campaign, loss in zip(campaigns, lost, strict=True):
        row = np.array([1, campaign.cost, campaign.revenue, loss, campaign.served])
        sums[campaign.plan.strategy] = sums.get(campaign.plan.strategy, np.zeros(len(row))) + row
    return {name: tuple(row.tolist()) for name, row in sums.items()}


SIZES: Final = (3_000, 10_000, 40_000, 150_000)
"""The numbers of honest accounts."""

MOST_PAID: Final = 100
"""The number of agents that count as the most paid."""


def free_market(settings: Settings, accounts: int, seed: int) -> Market:
    """Play a market without attackers, whose buyers follow the mean by counts.

    Args:
        settings: The assumptions.
        accounts: The number of honest accounts.
        seed: Decides all draws.
    """
    return Market(replace(settings, accounts=accounts), Ranking("mean by counts", by_counts), seed).run()


def joined(markets: Sequence[Market], crossing: float = 0.0, seed: int = 0) -> Log:
    """Return the rows of several markets as one: platforms with the same exchanges, and agents of their own.

    Args:
        markets: The markets, which were played. Their accounts and agents follow one another in their order.
        crossing: The share of purchases for which a buyer of the next market pays and rates instead of its own.
        seed: Decides which, and who buys.
    """
    log, random = Log(markets[0].log.seed), np.random.default_rng([seed, 3])
    log.open(EXCHANGES)
    first = EXCHANGES
    shifts = []
    for market in markets:
        shifts.append(first - EXCHANGES)
        first += market.log.accounts - EXCHANGES
    log.accounts = first
    for place, (market, shift) in enumerate(zip(markets, shifts, strict=True)):
        following = (place + 1) % len(markets)
        guests = markets[following].people
        weight = guests.needs * (guests.born <= 0)
        own = market.log
        _append(log, own, shift)
        payee = own.agents["owner"][own.payments["agent"]]
        returned = np.isin(pairs(payee, own.payments["payer"]), pairs(own.transfers["src"], own.transfers["dst"]))
        crosses = ~returned & (random.random(len(own.payments)) < crossing)
        guest = random.choice(guests.buyers, int(crosses.sum()), p=weight / weight.sum()) + shifts[following]
        rows = np.flatnonzero(crosses) + len(log.payments) - len(crosses)
        log.payments["payer"][rows] = guest
        payer_of = np.where(log.feedback["payment"] >= 0, log.feedback["payment"], 0)
        paid = np.isin(log.feedback["payment"], rows)
        log.feedback["client"][paid] = log.payments["payer"][payer_of[paid]]
    return log


def pairs(left: Array, right: Array) -> Array:
    """Return one number for each pair of accounts."""
    return left * (1 << 32) + right


def _append(log: Log, rows: Log, shift: int) -> None:
    """Append the rows of a market; its exchanges are those of the others."""
    agents, payments = len(log.agents), len(log.payments)

    def moved(accounts: Array) -> Array:
        return np.where(accounts < EXCHANGES, accounts, accounts + shift)

    later = {
        "owner": moved, "client": moved, "payer": moved, "src": moved, "dst": moved, "agent": lambda of: of + agents,
        "payment": lambda of: np.where(of < 0, -1, of + payments),
    }  # fmt: skip
    for name in ("agents", "feedback", "ratings", "payments", "transfers", "handovers"):
        table = getattr(rows, name)
        columns = {column: later.get(column, np.asarray)(table[column]) for column in table.columns}
        getattr(log, name).add(**columns)


def held_back(log: Log, good: Array) -> dict[str, float]:
    """Return who is held back in a market without attackers, and the time of the analysis.

    Args:
        log: The rows.
        good: Marks the good sellers.
    """
    started = time.perf_counter()
    engine = fitted(log)
    marked = held(engine)
    seconds = time.perf_counter() - started
    payments = log.payments
    paid = np.bincount(payments["agent"], payments["amount"], len(marked))
    return {
        "opinions": len(log.feedback) + len(log.ratings),
        "held": float(marked.mean()),
        "held of the most paid": int(marked[np.argsort(-paid)[:MOST_PAID]].sum()),
        "held of payments": float(paid[marked].sum() / paid.sum()),
        "held of good": float(marked[good].mean()),
        "flagged accounts": float(engine.suspicion_.flagged[engine.judged()].mean()),
        "seconds": seconds,
    }


def beyond_analysis(log: Log, asks: int = 10_000) -> float:
    """Return the seconds that `decide` takes for many asks, beside those of its one analysis.

    Args:
        log: The rows.
        asks: The number of asks.
    """
    tables, random = log.tables(), np.random.default_rng(3)
    last = float(log.feedback["ts"].max())
    columns = {
        "ask_id": np.arange(asks), "asker": ["0x" + "11" * 20] * asks,
        "agent_id": 1 + random.integers(len(log.agents), size=asks), "ts": np.full(asks, last),
        "amount": random.lognormal(0, 1.2, asks),
    }  # fmt: skip
    table = pa.table(columns, schema=ASKS)
    rows = until(tables, last)
    started = time.perf_counter()
    Engine().fit(rows).standings()
    analysed = time.perf_counter()
    decide(tables, table)
    return max(time.perf_counter() - analysed - (analysed - started), 0.0)


VICTIMS: Final = 6
"""The good sellers of each size that are attacked at once, each by accounts of its own. All sell different kinds of
service, so that none loses what another victim gains."""

_REVENUE: Final = 20.0
"""The revenue of a victim before, in the dollars of `demand`: a share of less would be noise."""

BUDGET: Final = 60.0
"""The dollars for each victim."""

GROUPS: Final = ("many raters", "few raters", "no raters")
"""The sizes of victims: halves of the good sellers by their raters, and those whom nobody rated yet."""

FRAMED_KINDS: Final = 40
"""The kinds of service of a market whose sellers are framed: enough for all victims."""

_NEEDS: Final = 200_000
"""The needs that are drawn to measure the revenue, so that of six sellers whom few rated is exact to some percent."""

_GREATEST: Final = 20.0
"""The greatest of these needs. A greater one of a seller without raters would outweigh its others."""


@dataclass(frozen=True)
class Kind:
    """A kind of attack on a rival's name.

    Attributes:
        value: The value of the feedback about the victim; None for none.
        pays: True if each account buys from the victim.
        backed: True if each account bought once to three times from others, and rated that honestly.
        refunds: True if each of them asks for its money back, and gets it.
        funds: True if the attacker's wallet sends money to the victim.
        approves: True if the attackers' agents approve the victim as their operator.
        gives: True if the attackers' agents are transferred to the victim.
        ring: True if the accounts praise each other's agents, too.
        gifts: The dollars that the attacker's wallet sends to each of the victim's raters, between payment and rating.
        dusts: True if it sends a cent to accounts that have the victim's source of funds.
        customers: True if honest buyers pay by transfers alone and praise, and nobody attacks.
    """

    value: float | None = None
    pays: bool = False
    backed: bool = False
    refunds: bool = False
    funds: bool = False
    approves: bool = False
    gives: bool = False
    ring: bool = False
    gifts: float = 0.0
    dusts: bool = False
    customers: bool = False


KINDS: Final = {
    "slander": Kind(value=0.0),
    "slander by buyers": Kind(value=0.0, pays=True),
    "slander by buyers from others": Kind(value=0.0, backed=True),
    "slander by buyers from it and others": Kind(value=0.0, pays=True, backed=True),
    "buys, and asks for refunds": Kind(value=100.0, pays=True, refunds=True),
    "the same, by buyers from others": Kind(value=100.0, pays=True, backed=True, refunds=True),
    "praises": Kind(value=100.0),
    "praises within a ring": Kind(value=100.0, ring=True),
    "the same, by buyers from it and others": Kind(value=100.0, ring=True, pays=True, backed=True),
    "funds and praises": Kind(value=100.0, funds=True),
    "approves, within a ring": Kind(value=100.0, approves=True, ring=True),
    "gives it an agent of a ring": Kind(value=100.0, gives=True, ring=True),
    "all at once": Kind(value=100.0, pays=True, refunds=True, funds=True, approves=True, ring=True),
    "gifts to customers": Kind(gifts=0.52),
    "a cent to customers": Kind(gifts=0.01),
    "dust to accounts with its funder": Kind(value=100.0, dusts=True, ring=True),
    "customers who transfer": Kind(value=95.0, customers=True),
}
"""The kinds of attack. A search chooses the numbers, see `framed`."""


def raters(log: Log) -> Array:
    """Return the number of distinct raters of each agent."""
    distinct = np.unique(pairs(log.feedback["agent"], log.feedback["client"])) >> 32
    return np.bincount(distinct, minlength=len(log.agents))


def victims(market: Market, revenue: Array, random: np.random.Generator) -> dict[str, Array]:
    """Choose good sellers of every size.

    Args:
        market: The market, which was played.
        revenue: The revenue of each agent without an attack; victims have some.
        random: Decides the choice.

    Returns:
        The agents by the names of `GROUPS`.
    """
    count, kind = raters(market.log), market.log.agents["kind"]
    good = np.flatnonzero(market.agents.good & ~market.agents.free & market.present & (revenue >= _REVENUE))
    rated = good[np.argsort(-count[good], kind="stable")][: int((count[good] > 0).sum())]
    parts = [*np.array_split(rated, len(GROUPS) - 1), good[count[good] == 0]]
    out, served = {}, np.zeros(0, np.int64)
    for name, part in zip(GROUPS, parts, strict=True):
        mixed = random.permutation(part[~np.isin(kind[part], served)])
        _, first = np.unique(kind[mixed], return_index=True)
        out[name] = mixed[np.sort(first)][:VICTIMS]
        served = np.concatenate([served, kind[out[name]]])
    return out


def demand(market: Market, policy: Policy, heard: Array, needs: int = _NEEDS) -> Array:
    """Return the money that each agent gets if many needs follow the policy's answers.

    Args:
        market: The market.
        policy: The policy.
        heard: The ratings of each agent by which buyers choose whom to try, before an attack.
        needs: The needs that are drawn.
    """
    score, limit = policy.answer(market).of(len(market.log.agents))
    market.random = np.random.default_rng(17)
    people = market.people
    place = market.random.choice(len(people.buyers), needs, p=people.needs / people.needs.sum())
    slot = market.random.integers(3, size=needs)
    amount = np.clip(market.settings.price * market.random.lognormal(0, 1.2, needs), 0.01, _GREATEST)
    offers = market.offers(place, slot, np.where(limit > 0, score, -np.inf))
    heard = np.concatenate([heard, np.zeros(len(score) - len(heard))])
    chosen = market.choices(offers, amount, score, limit, heard)
    served = chosen >= 0
    return np.bincount(chosen[served], amount[served], len(score))


def worst(  # noqa: PLR0913
    market: Market, policy: Policy, name: str, tries: int, repeats: int, *, needs: int = _NEEDS
) -> dict[str, float]:
    """Search for the numbers with which a kind of attack costs sellers most, and measure what these cost others.

    The revenue of a small seller changes by a fifth if another's score changes by a tenth, so the worst of several
    measures would be chance. The numbers that cost most victims most are therefore measured again on others.

    Args:
        market: The market, which was played.
        policy: The policy under attack.
        name: One of `KINDS`.
        tries: The numbers that are tried.
        repeats: The further victims of each size on whom the worst numbers are measured, six at a time.
        needs: The needs that are drawn to measure the revenue.

    Returns:
        For each size, the share of their revenue that the victims lose; below 0 if the attack helps them.
    """
    heard = np.bincount(market.log.feedback["agent"], minlength=len(market.log.agents))
    before = demand(deepcopy(market), policy, heard, needs)
    random = np.random.default_rng(list(name.encode()))

    def revenues(numbers: dict[str, int]) -> dict[str, Array]:
        copy, groups = deepcopy(market), victims(market, before, random)
        for group, targets in groups.items():
            framed(copy, KINDS[name], targets, np.random.default_rng([numbers[group], *name.encode()]))
        after = demand(copy, policy, heard, needs)
        return {group: np.array([after[targets].sum(), before[targets].sum()]) for group, targets in groups.items()}

    def lost(sums: Array) -> float:
        return float(1 - sums[0] / sums[1]) if sums[1] else 0.0

    tried = [revenues(dict.fromkeys(GROUPS, number)) for number in range(tries)]
    numbers = {group: int(np.argmax([lost(sums[group]) for sums in tried])) for group in GROUPS}
    measured = [revenues(numbers) for _ in range(repeats)]
    return {group: lost(np.sum([sums[group] for sums in measured], axis=0)) for group in GROUPS}


def framed(market: Market, kind: Kind, targets: Array, random: np.random.Generator) -> None:
    """Add the acts of one kind to a market, with numbers that are drawn within the budget.

    Args:
        market: The market, which is changed.
        kind: The kind of attack.
        targets: The victims.
        random: Decides the numbers.
    """
    settings, log = market.settings, market.log
    hides, spread = random.random() < 0.5, random.choice([0.05, 1.0, 6.0])  # noqa: PLR2004
    paid = random.choice([0.3, 1.0, 2.0]) if kind.pays else 0.0
    bought, each = int(random.integers(1, 4)) if kind.backed else 0, random.choice([0.3, 1.0])
    price = (settings.withdrawal if hides else settings.gas) + (4 + 2 * bought) * settings.gas + each * bought
    price += settings.registration if kind.ring else 0.0
    price += paid * (settings.fee if kind.refunds else 1.0)
    count = min(int(random.integers(4, 60)), int(BUDGET / price))
    start = settings.time(market.today - spread - 0.2)
    for target in targets:
        if kind.customers:
            _transfer(market, target, count, start, random)
            continue
        wallet, owner = log.open(1), log.agents["owner"][target]
        log.transfers.add(src=market.people.funded_by(1, random), dst=wallet, amount=BUDGET, ts=start - 9000)
        if kind.gifts:
            _give(market, target, int(wallet[0]), kind.gifts * random.choice([1, 10]), random)
            continue
        accounts = log.open(count)
        source = market.people.funded_by(count, random) if hides else np.repeat(wallet, count)
        ts = start + np.sort(random.uniform(0, spread * 86_400, count))
        log.transfers.add(src=source, dst=accounts, amount=(paid + each * bought) * 1.1 + 0.1, ts=ts - 3600)
        if kind.backed:
            _buy(market, np.repeat(accounts, bought), each, np.repeat(ts, bought), random)
        if kind.funds:
            log.transfers.add(src=wallet, dst=owner, amount=5.0, ts=start - 1800)
        if kind.dusts:
            _dust(market, owner, np.concatenate([wallet, accounts]), start, random)
        if kind.ring:
            _ring(market, accounts, ts, kind, owner, random)
        _about(market, kind, target, accounts, ts, paid)


def _transfer(market: Market, target: int, count: int, start: float, random: np.random.Generator) -> None:
    """Let honest buyers pay by transfers, and praise."""
    log, people = market.log, market.people
    clients = random.choice(people.buyers[people.born < market.today - 8], count, replace=False)
    ts = random.uniform(start, market.settings.time(market.today) - 9000, count)
    log.transfers.add(src=clients, dst=log.agents["owner"][target], amount=random.lognormal(0, 1, count), ts=ts)
    value = random.uniform(85, 100, count).round()
    log.feedback.add(client=clients, agent=target, value=value, ts=ts + 5000, payment=-1)


def _give(market: Market, target: int, wallet: int, amount: float, random: np.random.Generator) -> None:
    """Send gifts to a victim's raters, an hour or some days before they rate, or much later."""
    log, settings = market.log, market.settings
    rows = np.flatnonzero(log.feedback["agent"] == target)[::-1]
    _, first = np.unique(log.feedback["client"][rows], return_index=True)
    rows = rows[first][: int(BUDGET / (amount + settings.gas))]
    before = random.choice([30.0, 3600.0, 86_400.0, -86_400.0])
    client, ts = log.feedback["client"][rows], log.feedback["ts"][rows] - before
    log.transfers.add(src=wallet, dst=client, amount=amount, ts=ts)


def _buy(market: Market, clients: Array, paid: float, ts: Array, random: np.random.Generator) -> None:
    """Let accounts buy from sellers whom many rated, and rate them honestly."""
    count = raters(market.log)
    good = np.flatnonzero(market.agents.good & ~market.agents.free & market.present)
    agent = random.choice(good[np.argsort(-count[good])][: len(good) // 4], len(clients))
    rows = market.log.pay(clients, agent, paid, ts - random.uniform(600, 3000, len(ts)))
    value = (100 * market.agents.quality[agent]).round()
    market.log.feedback.add(client=clients, agent=agent, value=value, ts=ts, payment=rows)


def _dust(market: Market, owner: int, senders: Array, start: float, random: np.random.Generator) -> None:
    """Send a cent from an attacker's accounts to some that have the victim's source of funds."""
    transfers = market.log.transfers
    source = transfers["src"][transfers["dst"] == owner][:1]
    children = np.unique(transfers["dst"][np.isin(transfers["src"], source)])
    chosen = random.choice(children, min(len(children), int(BUDGET / 2 / (0.01 + market.settings.gas)), 300))
    transfers.add(src=random.choice(senders, len(chosen)), dst=chosen, amount=0.01, ts=start)


def _about(market: Market, kind: Kind, target: int, accounts: Array, ts: Array, paid: float) -> None:  # noqa: PLR0913, PLR0917
    """Let accounts buy from a victim, ask for their money back, and rate it."""
    row = np.full(len(accounts), -1)
    if kind.pays:
        row = market.log.pay(accounts, target, paid, ts + 60)
    if kind.refunds:
        agents = np.full(len(accounts), target)
        market.give_back(accounts, agents, np.full(len(accounts), paid), ts + 4000)
    if kind.value is not None:
        market.log.feedback.add(client=accounts, agent=target, value=kind.value, ts=ts + 5000, payment=row)


def _ring(  # noqa: PLR0913, PLR0917
    market: Market, accounts: Array, ts: Array, kind: Kind, victim: int, random: np.random.Generator
) -> None:
    """Let accounts register agents and praise each other, as a ring does that wants to be found."""
    log, count = market.log, len(accounts)
    numbers = log.agents.add(owner=accounts, kind=random.integers(market.settings.categories, size=count), ts=ts + 30)
    market.agents.add(count, quality=0.0, campaign=1 << 30, cheats=0.0, alive=False)
    rater, agent = np.divmod(np.arange(count * count), count)
    apart = (rater != agent) & (random.random(count * count) < 0.4)  # noqa: PLR2004
    log.feedback.add(
        client=accounts[rater[apart]], agent=numbers[agent[apart]], value=100.0, payment=-1,
        ts=np.maximum(ts[rater[apart]], ts[agent[apart]]) + 4500,
    )  # fmt: skip
    if kind.gives:
        log.hand_over(numbers[: count // 8 + 1], victim, ts[-1] + 9000)
    if kind.approves:
        log.operators |= {int(number): [victim] for number in numbers}
