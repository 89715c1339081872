"""The page docs/decisions.md and its pictures, from the recorded figures."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, NamedTuple

import numpy as np

from bench.market import checked as check
from bench.market.measures import CHEAP, WARM
from bench.market.policies import state
from bench.market.study import BEFORE, ORACLE, OURS, STUDY, WEIGHED
from bench.retaliation import interval

_LARGE: Final = 40_000

_PREFIXES: Final = {OURS: "", WEIGHED: "`decide`: "}
"""The policies that the bars are for, with the beginning of the names of their measures."""


class Bar(NamedTuple):
    """A measure and its bars.

    Attributes:
        measure: The measure.
        mean: Its mean.
        worst: The end of its interval that is worse.
        must: The value that it must reach.
        aim: The value that it should reach.
        is_least: True if more is better.
        unit: The unit, behind figures.
    """

    measure: str
    mean: float
    worst: float
    must: float
    aim: float
    is_least: bool = False
    unit: str = " %"

    def passes(self, bar: float) -> str:
        """Return pass or miss; the interval counts.

        Args:
            bar: The bar.
        """
        return "pass" if (self.worst >= bar if self.is_least else self.worst <= bar) else "miss"


def bars(figures: dict[str, Any]) -> str:
    """Return the bars as a table.

    Args:
        figures: The recorded figures.
    """
    lines = [
        "\n## The bars\n",
        *wrap(
            f"Bars are for {OURS} (no list), and for {WEIGHED} where that is named; the default check is `balanced`. "
            "The worse end of the interval must pass. "
            "In their first market attackers choose among all strategies and drop those that do not pay. In the second "
            "they keep to what paid in the first. "
            f"There the oracle itself leaves them {_left(figures):+.2f} per dollar, see *The profit of attackers*. "
            "All other figures are of the second. Precision and recall of "
            "findings are in [trust-figures.md](trust-figures.md). Strategies that pay are those whose campaigns cost "
            f"more than ${CHEAP:.0f} on average.",
            120,
            break_on_hyphens=False,
        ),
        "",
        "| measure | figure | must | | aim | |",
        "|---|---:|---:|---|---:|---|",
    ]
    reached = _bars(figures)
    if not reached:
        return "\n## The bars\n\nThe recorded run has no figures of our standing: run `make market`.\n"
    for bar in reached:
        sign = "≥" if bar.is_least else "≤"
        shown = f"{bar.mean:.2f}" + (f" (at worst {bar.worst:.2f})" if abs(bar.worst - bar.mean) > 0.005 else "")  # noqa: PLR2004
        lines.append(
            f"| {bar.measure} | {shown}{bar.unit} | {sign} {bar.must:g}{bar.unit} | {bar.passes(bar.must)} | "
            f"{sign} {bar.aim:g}{bar.unit} | {bar.passes(bar.aim)} |"
        )
    return "\n".join(lines) + "\n"


def _left(figures: dict[str, Any]) -> float:
    """Return the profit per dollar that the oracle leaves attackers in the second market."""
    return float(np.mean([row["profit"] for row in figures["policies"][ORACLE]]))


def _bars(figures: dict[str, Any]) -> list[Bar]:
    out: list[Bar] = []
    for name, prefix in _PREFIXES.items():
        out += _attacked(prefix, figures["policies"].get(name, []), figures["policies"].get(ORACLE, []))
    if checked := [rows[0] for rows in figures.get("checked", [])]:
        out += [
            _bar("default check: needs served", [row["served"] for row in checked], 97, 99, is_least=True),
            _bar("default check: money lost to fraud", [row["lost"] for row in checked], 4, 2),
            _bar("default check: good sellers declined", [row["sellers declined"] for row in checked], 0.5, 0.1),
        ]
    for name, prefix in _PREFIXES.items():
        for kind, lost in figures.get("framing", {}).get(name, {}).items():
            out.append(_bar(f"{prefix}revenue lost by framing: {kind}", [lost], 5, 1))
    if free := figures.get("peaceful"):
        for name, prefix in _PREFIXES.items():
            value = _shares(free[name], free[ORACLE])
            out.append(_bar(f"{prefix}without attacks: value received", value, 95, 97, is_least=True))
    for row in figures.get("sizes", []):
        out.append(
            _bar(f"without attacks, {row['accounts']:,} accounts: good held back", [row["held of good"]], 0.5, 0.1)
        )
        if row["accounts"] == _LARGE:
            out += [
                _bar(f"without attacks, {_LARGE:,} accounts: agents held back", [row["held"]], 0.5, 0.1),
                Bar("the same, of the 100 most paid", *2 * (float(row["held of the most paid"]),), 0, 0, unit=""),
                _bar("the same, of payments", [row["held of payments"]], 0.5, 0.1),
            ]
    return out


def _attacked(prefix: str, rows: list[dict[str, Any]], best: list[dict[str, Any]]) -> list[Bar]:
    """Return the bars of a policy in attacked markets; none without figures.

    Args:
        prefix: Goes before each measure.
        rows: The outcomes under the policy.
        best: The outcomes under the oracle, of the same seeds.
    """
    if not rows:
        return []
    return [
        _bar(f"{prefix}money lost to fraud", [row["lost"] for row in rows], 4, 2),
        _bar(f"{prefix}value received, of the oracle's", _shares(rows, best), 89, 94, is_least=True),
        _bar(f"{prefix}good sellers declined, attacked", [row["declined"] for row in rows], 0.5, 0.1),
        *(
            _bar(f"{prefix}attackers' profit per $, {market} market", [row[key] for row in rows], -0.55, -0.75, unit="")
            for market, key in (("first", BEFORE), ("second", "profit"))
        ),
        _bar(f"{prefix}good newcomers without a sale", [row["newcomers"] for row in rows], 27, 18),
        _bar(f"{prefix}needs served", [row["served"] for row in rows], 97, 99, is_least=True),
        Bar(f"{prefix}strategies that pay, and are not cheap", *2 * (_paying(rows),), 0, 0, unit=""),
    ]


def _shares(rows: list[dict[str, Any]], best: list[dict[str, Any]]) -> list[float]:
    """Return the value of each market as a share of the oracle's."""
    return [own["value"] / other["value"] for own, other in zip(rows, best, strict=False)]


def _bar(  # noqa: PLR0913
    measure: str, values: Sequence[float], must: float, aim: float, *, is_least: bool = False, unit: str = " %"
) -> Bar:
    """Return a bar. Values with the unit per cent are shares."""
    mean, low, high = interval([100 * value if unit == " %" else value for value in values])
    return Bar(measure, mean, low if is_least else high, must, aim, is_least, unit)


def _paying(outcomes: list[dict[str, Any]]) -> float:
    """Return the number of strategies that pay although a campaign is not cheap."""
    names = {name for outcome in outcomes for name in outcome["strategies"]}
    count = 0
    for name in names:
        sums = np.sum([outcome["strategies"].get(name, (0, 0, 0, 0)) for outcome in outcomes], axis=0)
        runs, cost, revenue, _ = sums
        count += bool(revenue > cost and cost / max(runs, 1) > CHEAP)
    return float(count)


DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "decisions.md"

_HEADING: Final = "# Decisions, measured in money\n"


def cell(values: Sequence[float], scale: float = 100.0, digits: int = 1) -> str:
    """Return a mean with its interval.

    Args:
        values: A value for each market.
        scale: The factor of the unit.
        digits: The digits behind the point.
    """
    mean, low, high = (round(scale * value, digits) + 0.0 for value in interval(list(values)))
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def of(outcomes: list[dict[str, Any]], name: str) -> list[float]:
    """Return a measure of each market.

    Args:
        outcomes: The measures of markets.
        name: The measure.
    """
    return [outcome[name] for outcome in outcomes]


def shares(outcomes: list[dict[str, Any]], oracle: list[dict[str, Any]]) -> list[float]:
    """Return the value received as a share of the oracle's, for each seed.

    Args:
        outcomes: The measures of markets.
        oracle: Those of an oracle, for the same seeds.
    """
    return [own["value"] / best["value"] for own, best in zip(outcomes, oracle, strict=False)]


def write(figures: dict[str, Any]) -> None:
    """Write the page and its pictures.

    Args:
        figures: The recorded figures.
    """
    PAGE.write_text(text(figures), encoding="utf-8")
    pictures(figures)


def text(figures: dict[str, Any]) -> str:
    """Return the page.

    Args:
        figures: The recorded figures.
    """
    parts = [_introduction(), _stale(figures), _table(figures), bars(figures), _strategies(figures), _framing(figures)]
    parts += [_checked(figures), _sizes(figures), _ablation(figures), _profit(figures), _limits(), _assumptions()]
    return _HEADING + "\n" + "\n".join(part for part in parts if part)


def paragraph(*sentences: str) -> str:
    """Return sentences as a paragraph of lines.

    Args:
        *sentences: The sentences.
    """
    return "\n".join(wrap(" ".join(sentences), 120)) + "\n"


def _introduction() -> str:
    return paragraph(
        "`make market` writes this page. In each market, buyers follow the answers of one policy, buy, and rate.",
        "The policy sees the rows alone: agents, feedback, ratings, payments, transfers.",
        f"{STUDY.accounts:,} honest accounts buy and sell for {STUDY.days} days.",
        f"{STUDY.attackers} attackers cheat buyers. They choose among strategies, pay for gas, fees and accounts,",
        "keep to plans that paid, and change them at random.",
        "They learn in a whole market under the same policy before the market that is measured.",
        f"The first {WARM} days are not measured. Brackets hold in 95 of 100 cases, by resampling of seeds.",
        "Few seeds make them rough.",
    )


def _stale(figures: dict[str, Any]) -> str:
    """Return a warning if the analysis changed since it was measured."""
    if figures.get("analysis") == state():
        return ""
    return paragraph(
        "**The analysis changed since these figures were recorded: those of our policies are of another state of it.**",
        "Run `make market` to measure it.",
    )


def _table(figures: dict[str, Any]) -> str:
    """Return the table of policies."""
    policies = figures["policies"]
    count = len(policies[ORACLE])
    lines = [
        f"## Policies, {count} markets each\n",
        paragraph(
            "Money lost is the share of payments that went to cheats. Value received is in per cent of the oracle's.",
            "Declined is the share of good sellers that the policy refuses at a usual price.",
            "A newcomer is a good seller that came later.",
        ),
        "| buyers follow | money lost, % | value, % | good sellers declined, % | "
        "attackers' profit per $, first market | second market | needs served, % | "
        "newcomers without a sale, % | Gini of revenue |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, outcomes in policies.items():
        cells = [
            cell(of(outcomes, "lost")), cell(shares(outcomes, policies[ORACLE])),
            cell(of(outcomes, "declined"), digits=2), cell(of(outcomes, BEFORE), 1, 2),
            cell(of(outcomes, "profit"), 1, 2), cell(of(outcomes, "served")),
            cell(of(outcomes, "newcomers")), cell(of(outcomes, "gini"), 1, 2),
        ]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n![Money lost to fraud, by policy](decisions-lost.svg)\n"


def _strategies(figures: dict[str, Any]) -> str:
    """Return the share of money lost to each strategy, and whether it pays."""
    policies = {name: outcomes for name, outcomes in figures["policies"].items() if name != ORACLE}
    names = sorted({name for outcomes in policies.values() for outcome in outcomes for name in outcome["strategies"]})
    lines = [
        "\n## Loss by strategy\n",
        paragraph(
            "Each cell is the money lost in dollars a market, and the profit per dollar. Bold is a strategy that pays.",
            f"A star marks those whose campaigns cost more than ${CHEAP:.0f} on average.",
        ),
        f"| buyers follow | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for policy, outcomes in policies.items():
        row = [_strategy([outcome["strategies"].get(name, (0, 0, 0, 0)) for outcome in outcomes]) for name in names]
        lines.append(f"| {policy} | {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _strategy(entries: list[Sequence[float]]) -> str:
    runs, cost, revenue, lost = np.sum(entries, axis=0)
    if not cost:
        return ""
    profit = (revenue - cost) / cost
    told = f"{lost / len(entries):.0f}; {profit:+.2f}" + ("*" if profit > 0 and cost / runs > CHEAP else "")
    return f"**{told}**" if profit > 0 else told


def _framing(figures: dict[str, Any]) -> str:
    """Return the revenue that slandered and framed sellers lose."""
    if not (framing := figures.get("framing")):
        return ""
    kinds = list(next(iter(framing.values())))
    lines = [
        "\n## Slander and framing\n",
        paragraph(
            "Twelve of the best paid good sellers are attacked at once, each with at most $60. For each kind of act, a",
            "search draws its numbers: accounts, their funding, the time. A cell is the share of revenue, in %, that",
            "the sellers lose by the worst draw. The same needs are drawn before and after.",
        ),
        f"| buyers follow | {' | '.join(kinds)} |",
        f"|---|{'---:|' * len(kinds)}",
    ]
    lines += [
        f"| {name} | {' | '.join(f'{100 * lost[kind]:.1f}' for kind in kinds)} |" for name, lost in framing.items()
    ]
    return "\n".join(lines) + "\n"


def _checked(figures: dict[str, Any]) -> str:
    """Return the answers of the real check under each named policy."""
    if not (markets := figures.get("checked")):
        return ""
    asks = sum(rows[0]["asks"] for rows in markets)
    cheats = sum(rows[0]["cheats"] for rows in markets)
    lost = 100 * float(np.mean([rows[0]["lost without"] for rows in markets]))
    lines = [
        "\n## The named policies of `check_server`\n",
        paragraph(
            f"{len(markets)} markets of {check.SMALL.accounts:,} accounts, whose buyers follow the mean by counts, are",
            "told to a local chain and indexed day by day: registrations, payments, feedback, sources of funds. The",
            f"check is asked, with the amount, about the {asks:,} purchases from day {check.UNTIL} on of agents that",
            f"the index knew at the start of the day. {cheats} of them, with {lost:.1f} % of the money, were cheated.",
            "Money lost is the share of cheats in the money that was accepted. A good purchase is served if it is",
            f"accepted, or above ${check.SMALL.price:.0f} not declined. Sellers declined is the mean share of good",
            "sellers' purchases that is declined, each seller alike. The last column has the reasons that decided most",
            "often against good purchases.",
        ),
        "| policy | good purchases accepted, % | caution, % | declined, % | served, % | sellers declined, % | "
        "cheated purchases accepted, % | money lost, % | worst market, % | why not |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    names = [f"good {answer}" for answer in ("accept", "caution", "decline")]
    names += ["served", "sellers declined", "cheated accept", "lost"]
    for place, row in enumerate(markets[0]):
        of_policy = [rows[place] for rows in markets]
        means = [100 * float(np.mean(of(of_policy, name))) for name in names]
        why = sum((Counter(row["why not"]) for row in of_policy), Counter[str]())
        cells = [f"{value:.1f}" for value in (*means, 100 * max(of(of_policy, "lost")))]
        told = ", ".join(f"`{code}` {count}" for code, count in why.most_common(3))
        lines.append(f"| {row['policy']} | {' | '.join(cells)} | {told} |")
    return "\n".join(lines) + "\n"


def _profit(figures: dict[str, Any]) -> str:
    """Return what holds the profit of attackers up, and what was tried against it."""
    oracle = cell(of(figures["policies"][ORACLE], "profit"), 1, 2)
    return "\n## The profit of attackers\n\n" + paragraph(
        f"Under the oracle, which lets no cheat take anything, attackers still make {oracle} per dollar in the second",
        "market: exit scams and cheats on large amounts first serve well, and are paid for that. The rest is small and",
        "cheap: see *Loss by strategy*. New agents with one source of funds take turns. Policies that refuse every",
        "newcomer were not tried.",
    )


def _sizes(figures: dict[str, Any]) -> str:
    """Return who is held back without any attack, by size."""
    if not (sizes := figures.get("sizes")):
        return ""
    lines = [
        "\n## Markets without any attack\n",
        paragraph(
            "Nobody deserves to be held back here. Sellers refund, give cashback and gifts, drift and turn bad.",
            "Seconds are those of one analysis, on a machine that did other work as well.",
        ),
        "| accounts | opinions | agents held back, % | of the 100 most paid | of payments, % | "
        "good sellers held back, % | accounts flagged, % | seconds |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['accounts']:,} | {row['opinions']:,} | {100 * row['held']:.2f} | {row['held of the most paid']} | "
        f"{100 * row['held of payments']:.2f} | {100 * row['held of good']:.2f} | "
        f"{100 * row['flagged accounts']:.2f} | {row['seconds']:.1f} |"
        for row in sizes
    ]
    if free := figures.get("peaceful"):
        lines += [
            "\n| without attackers, buyers follow | value, % of the oracle's | good sellers declined, % | served, % |"
        ]
        lines += ["|---|---:|---:|---:|"]
        lines += [
            f"| {name} | {cell(shares(outcomes, free[ORACLE]))} | {cell(of(outcomes, 'declined'), digits=2)} | "
            f"{cell(of(outcomes, 'served'))} |"
            for name, outcomes in free.items()
            if name != ORACLE
        ]
    return "\n".join(lines) + "\n\n![Held back without any attack, by size](decisions-sizes.svg)\n"


def _ablation(figures: dict[str, Any]) -> str:
    """Return one market with each part of the engine left out."""
    if not (ablation := figures.get("ablation")):
        return ""
    lines = [
        "\n## Our standing without a part\n",
        paragraph(
            "One market each, with rarer analyses and attackers who did not learn before. Differences of a percentage",
            "point are noise. Nobody in these markets punishes critics or sends values that say nothing, so",
            "`Retaliation` and `Values` find nothing here: families of [trust-figures.md](trust-figures.md) and",
            "tests do both.",
        ),
        "| without | money lost, % | value, $ | good sellers declined, % | attackers' profit per $ |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {100 * row['lost']:.1f} | {row['value']:,.0f} | {100 * row['declined']:.2f} | "
        f"{row['profit']:+.2f} |"
        for name, row in ablation.items()
    ]
    return "\n".join(lines) + "\n"


def _limits() -> str:
    """Return the limits of the measurement."""
    return "\n## Limits\n\n" + paragraph(
        "The attackers' search is random changes of plans that paid, for two markets; a longer search may find more.",
        "Framing is searched in one market without other attackers, with three draws for each kind.",
        "Sizes are one market each. `bilateral trust decide` treats caution as a refusal. The named policies of",
        "`check_server` answer about markets whose buyers do not follow them.",
    )


def _assumptions() -> str:
    """Return the numbers of the market."""
    rows = [f"| `{name}` | {value:,} |" for name, value in vars(STUDY).items()]
    told = "`bench/market/settings.py` explains each. They are chosen, not measured."
    return "\n".join(["\n## Assumptions\n", told, "", "| setting | value |", "|---|---:|", *rows]) + "\n"


def pictures(figures: dict[str, Any]) -> None:
    """Draw the money lost by policy, and who is held back by size.

    Args:
        figures: The recorded figures.
    """
    import matplotlib as mpl  # noqa: PLC0415  # heavy, and for this only

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "bilateral"
    from matplotlib import pyplot  # noqa: PLC0415

    names = list(figures["policies"])[::-1]
    triples = [interval([100 * value for value in of(figures["policies"][name], "lost")]) for name in names]
    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.3 * len(names)))
    means = [triple[0] for triple in triples]
    reach = [[max(mean - low, 0) for mean, low, _ in triples], [max(high - mean, 0) for mean, _, high in triples]]
    axes.barh(names, means, xerr=reach, color="#4477aa", ecolor="#333333", capsize=2)
    axes.set_xlabel("money lost to fraud, %")
    _save(figure, "decisions-lost")
    if sizes := figures.get("sizes"):
        figure, axes = pyplot.subplots(figsize=(6, 3))
        accounts = [row["accounts"] for row in sizes]
        for name, label in (("held", "agents held back"), ("flagged accounts", "accounts flagged")):
            axes.plot(accounts, [100 * row[name] for row in sizes], marker="o", label=label)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("accounts")
        axes.set_ylabel("%")
        axes.legend()
        _save(figure, "decisions-sizes")


def _save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None})
