"""Slander and framing: what attacks on a rival's name cost good sellers of every size."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.market.measures import pairs
from bench.market.play import Array, Log, Market, Policy

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

_DAYS: Final = 20
"""The days over which they are spread. Each draws the order of near offers anew, so that a tenth of a point between
two sellers is worth no more than it is to buyers."""

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
    heard = np.concatenate([heard, np.zeros(len(score) - len(heard))])
    days = [_revenue(market, score, limit, heard, needs // _DAYS) for _ in range(_DAYS)]
    return np.asarray(np.sum(days, axis=0))


def _revenue(market: Market, score: Array, limit: Array, heard: Array, needs: int) -> Array:
    """Return the money that each agent gets on a day, on which buyers see one order of the leaders."""
    people = market.people
    place = market.random.choice(len(people.buyers), needs, p=people.needs / people.needs.sum())
    slot = market.random.integers(3, size=needs)
    amount = np.clip(market.settings.price * market.random.lognormal(0, 1.2, needs), 0.01, _GREATEST)
    offers = market.offers(place, slot, np.where(limit > 0, score, -np.inf))
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
