"""The page docs/trust-figures.md. `make evaluate` writes them."""

import json
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import numpy as np

from bench.trust.claims import evasion
from bench.trust.study import interval
from bench.trust.worlds.kinds import KINDS

MEASURES: Final = ("AUC", "recall at 1 %", "recall at 0.1 %", "networks found")
"""The measures of a ranking."""

KNOWN: Final = "families known while the engine was built"
"""The name of the families seen, watched, or changed for."""

_RUNS: Final = (
    ("first author run", "unseen families and look-alikes of a first author"),
    ("second author run", "unseen families of a second author"),
    ("third author run", "unseen families of a third author"),
    ("fourth run", "unseen families of our own"),
    ("third run", "unseen families of our own, third run"),
    ("second run", "unseen families of our own, second run"),
    ("first run", "unseen families of our own, before the ranking was learned"),
)

_UNSCORED: Final = frozenset({"first run", "second run"})
"""The runs of which no figures of scores were recorded."""

_MENDED: Final = (
    ("newest", "second run's families, measured after the mend"),
    ("fresh", "third run's families, measured after the mend"),
    ("first author", "first author's families and look-alikes, measured after the mend"),
)

Rows = dict[str, list[float]]


class Table:
    """The rows of accepted and measured figures."""

    def __init__(self) -> None:
        self.lines = ["| test | asked | measured | met |", "|---|---:|---:|---|"]

    def row(self, test: str, asked: float | None, value: float, shown: str = "", *, most: bool = False) -> None:
        """Add a row. It has no verdict if nothing was asked or measured.

        Args:
            test: The test.
            asked: The limit; None for none.
            value: The value; nan for none.
            shown: The value as text.
            most: Take the limit as the most, not as the least.
        """
        limit = "" if asked is None else f"{'at most ' if most else ''}{asked:g}"
        met = ""
        if asked is not None and not np.isnan(value):
            met = "yes" if (value <= asked if most else value >= asked) else "**no**"
        self.lines.append(f"| {test} | {limit} | {shown or format(value, '.3f')} | {met} |")

    def ranked(self, told: str, ours: Rows) -> None:
        """Add the rows of a ranking.

        Args:
            told: The families.
            ours: The values of each measure, one a world.
        """
        for measure, asked in zip(MEASURES, (0.96, 0.80, 0.60, 0.85), strict=True):
            self._mean(f"{told}: {measure}", asked, ours[measure])

    def flagged(self, told: str, ours: Rows) -> None:
        """Add the rows of flags.

        Args:
            told: The families.
            ours: The values of each measure, one a world.
        """
        self._mean(f"{told}: recall at the own threshold", None, ours["recall"])
        for name, label, none in (
            ("precision", "precision at the own threshold", "nothing flagged"),
            ("precision of evidence", "precision of evidence", "no evidence"),
        ):
            values = of_flagged(ours, name)
            self.row(f"{told}: {label}", 0.90, interval(values)[0], precise(values, none))
        groups = {name[17:]: float(np.mean(ours[name])) for name in ours if name.startswith("false positives: ")}
        worst = max(groups, key=lambda name: groups[name])
        shown = f"{groups[worst]:.3f}" + (f", {worst}" if groups[worst] else "")
        self.row(f"{told}: false positives, worst group", 0.02, groups[worst], shown, most=True)

    def scored(self, told: str, ours: Rows) -> None:
        """Add the rows of scores.

        Args:
            told: The families.
            ours: The values of each measure, one a world.
        """
        for name, asked in (
            ("mean error, honest agents", 6),
            ("attackers among the 100 best", 0.02),
            ("mean error, agents that turned", 12),
            ("honest agents abstained on", 0.05),
        ):
            self._mean(f"{told}: {name}", asked, ours[name], most=True)

    def _mean(self, test: str, asked: float | None, values: list[float], *, most: bool = False) -> None:
        triple = interval(values)
        self.row(test, asked, triple[0], bracketed(triple), most=most)


def acceptance(figures: dict[str, Any]) -> list[str]:
    """Return the table of accepted and measured figures, and two figures below it.

    Args:
        figures: The figures.
    """
    worlds, table = figures["worlds"], Table()
    ours = {kind: rows["Bilateral"] for kind, rows in worlds["sets"].items()}
    visible = interval(ours["visible"]["recall at 1 %"])
    table.row("visible families: recall at 1 %", 0.99, visible[0], bracketed(visible))
    for name, told in _RUNS:
        run = worlds[name]["set"]["Bilateral"]
        table.ranked(told, run)
        table.flagged(told, run)
        if name not in _UNSCORED:
            table.scored(told, run)
    table.ranked("watched families", ours["watched"])
    parts = [ours[kind] for kind in ("seen", "watched", "latest")]
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    known = {name: list(chain.from_iterable(part[name] for part in parts)) for name in shared}
    table.flagged(KNOWN, known)
    table.scored(KNOWN, known)
    for kind, told in _MENDED:
        table.ranked(told, ours[kind])
        table.flagged(told, ours[kind])
        table.scored(told, ours[kind])
    _add_real(table, figures.get("real", {}))
    for size, asked_time, asked_memory in (("1000000", 30, 2), ("10000000", 300, 4)):
        if size in figures.get("speed", {}):
            measured = figures["speed"][size]
            table.row(f"{int(size):,} opinions: seconds", asked_time, measured["seconds"], most=True)
            table.row(f"{int(size):,} opinions: seconds of a processor", asked_time, measured["processor"], most=True)
            table.row(f"{int(size):,} opinions: gigabytes", asked_memory, measured["gigabytes"], most=True)
    honest, rotated = worlds["honest"], worlds["rotated"]
    return [
        *table.lines,
        "",
        f"In worlds without any attack, {honest:.2%} of accounts are flagged.",
        "",
        "The threshold is chosen on one half of our families and tried on the other half, in turn: the harmonic mean",
        f"of precision and recall is {rotated['gap']:.3f} lower there (precision {rotated['precision']:.3f}, recall "
        f"{rotated['recall']:.3f}).",
    ]


def of_flagged(ours: Rows, name: str) -> list[float]:
    """Return a precision by world; nan where nothing was flagged, for which first runs recorded 1.

    Args:
        ours: The values of each measure, one a world.
        name: The measure.
    """
    worlds = zip(ours[name], ours["recall"], ours["false positives"], strict=True)
    return [value if recall or false else float("nan") for value, recall, false in worlds]


def precise(values: list[float], none: str = "nothing flagged") -> str:
    """Return a mean precision as text, and of how many worlds it is if not of all.

    Args:
        values: The precision by world; nan where nothing was flagged.
        none: The text for nan in every world.
    """
    known = int(np.isfinite(values).sum())
    if not known:
        return none
    return bracketed(interval(values)) + (f" ({known} of {len(values)} worlds)" if known < len(values) else "")


def bracketed(triple: Any) -> str:
    """Return a mean and its interval as text.

    Args:
        triple: The mean, perhaps with the limits of the interval.
    """
    value, *limits = triple
    if not limits or limits[0] == limits[1]:
        return f"{value:.3f}"
    low, high = limits
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _add_real(table: Table, real: dict[str, Any]) -> None:
    """Add the rows of real data."""
    if not real:
        return
    data, hop = real["otc"], real["hop"]
    for test, row, asked_auc, asked_recall in (
        ("Bitcoin-OTC, unsupervised", data["unsupervised"], 0.95, None),
        ("Bitcoin-OTC, 10-fold", data["supervised"], 0.975, 0.60),
        ("Bitcoin-OTC, rater side, unsupervised", data["rater side"], 0.83, None),
        ("Bitcoin-OTC, rater side, 10-fold", data["rater side, supervised"], 0.945, None),
        ("Bitcoin-Alpha, on which the models were chosen, 10-fold", real["alpha"]["supervised"], None, None),
        ("Hop, 10 % seeds", hop["by seeds"], 0.92, 0.75),
        ("Hop, folds grouped by component", hop["by component"], 0.82, None),
    ):
        divisions = f", {row['divisions']} divisions" if "divisions" in row else ""
        for measure, asked in (("AUC", asked_auc), ("recall at 1 %", asked_recall)):
            table.row(f"{test}{divisions}: {measure}", asked, row[measure][0], bracketed(row[measure]))


DOCS: Final = Path(__file__).parents[2] / "docs"

Bar = tuple[str, tuple[float, float, float], str]


def plots(figures: dict[str, Any]) -> None:
    """Draw the recall by family, the methods on worlds, and the methods on real data.

    Args:
        figures: The figures.
    """
    sets = figures["worlds"]["sets"]
    families: list[Bar] = [
        (f"{name[7:].replace('_', ' ')}, {told}", interval(row["recall at 1 %"]), kind.colour)
        for told, kind in KINDS.items()
        for name, row in sets[told].items()
        if name.startswith("family ")
    ]
    _draw("trust-families", "Recall by family", "recall at 1 %", families)
    methods: list[Bar] = [
        (f"{name}, {told}", interval(row["AUC"]), kind.colour)
        for told, kind in KINDS.items()
        for name, row in sets[told].items()
        if not name.startswith(("family ", "without "))
    ]
    _draw("trust-methods", "Worlds: ours and the baselines", "AUC", methods)
    if real := figures.get("real"):
        otc, hop = real["otc"], real["hop"]
        bars: list[Bar] = [("OTC, ours without labels", _triple(otc["unsupervised"]["AUC"]), "#4477aa")]
        bars += [(f"OTC, {name}", _triple(value["AUC"]), "#bbbbbb") for name, value in otc["baselines"].items()]
        bars += [
            ("OTC, ours, 10-fold", _triple(otc["supervised"]["AUC"]), "#4477aa"),
            ("OTC, rater side", _triple(otc["rater side"]["AUC"]), "#228833"),
            ("OTC, rater side, 10-fold", _triple(otc["rater side, supervised"]["AUC"]), "#228833"),
            ("Hop, 10 % seeds", _triple(hop["by seeds"]["AUC"]), "#ee6677"),
            ("Hop, by component", _triple(hop["by component"]["AUC"]), "#ee6677"),
        ]
        _draw("trust-real", "Real data: grey are known and simple methods", "AUC", bars)


def _draw(name: str, title: str, measure: str, bars: list[Bar]) -> None:
    """Draw one horizontal bar with its interval for each row."""
    import matplotlib as mpl  # noqa: PLC0415  # heavy, and for this only

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "bilateral"
    from matplotlib import pyplot  # noqa: PLC0415

    bars = bars[::-1]
    labels, triples, colours = zip(*bars, strict=True)
    values = [triple[0] for triple in triples]
    reach = [
        [max(value - triple[1], 0.0) for value, triple in zip(values, triples, strict=True)],
        [max(triple[2] - value, 0.0) for value, triple in zip(values, triples, strict=True)],
    ]
    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.24 * len(bars)))
    axes.barh(labels, values, color=colours, xerr=reach, ecolor="#333333", capsize=2)
    axes.set_xlabel(measure)
    axes.set_xlim(0, 1)
    axes.set_title(title)
    figure.tight_layout()
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def _triple(value: list[float]) -> tuple[float, float, float]:
    mean, low, high = value
    return mean, low, high


ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/trust-figures.md"
FIGURES: Final = Path(__file__).parent / "figures.json"
HEADING: Final = "# Figures of the trust analysis\n"


def recorded() -> dict[str, Any]:
    """Return the recorded figures; none before the first run."""
    return dict(json.loads(FIGURES.read_text())) if FIGURES.is_file() else {}


def write(figures: dict[str, Any]) -> None:
    """Write the page and the plot.

    Args:
        figures: The figures.
    """
    PAGE.write_text(section(figures))
    plots(figures)


def section(figures: dict[str, Any]) -> str:
    """Return the page.

    Args:
        figures: The figures.
    """
    worlds = figures["worlds"]
    lines = [
        HEADING,
        *_paragraph(
            "`make evaluate DATA=folder` writes this page. Figures in brackets hold in 95 of 100 cases, by resampling:",
            "of worlds for worlds, of labelled accounts for real data. Three worlds of a kind make a rough interval.",
            'The "unseen" rows are those of first runs, on families never looked at before. They are recorded once and',
            "never measured again. Three authors wrote families without knowing the engine. Ours were written by its",
            "author, to get past it. The worlds of our first and second run bore no ordinary honest account in the",
            "last 30 % of the time. The second run is too good for that, and because its ranking saw ages. Rows",
            '"after the mend" are of families for which the engine was changed once their first run was recorded.',
        ),
        "",
        *acceptance(figures),
        *_first_run(worlds),
    ]
    for told, kind in KINDS.items():
        lines += ["", f"## Worlds with {kind.about}", "", *_methods(worlds["sets"][told])]
    lines += ["", "![Recall by family](trust-families.svg)", "", "## By family, recall at 1 % false positives", ""]
    lines += ["| family | kind | recall | networks found |", "|---|---|---:|---:|"]
    for told in KINDS:
        for name, row in worlds["sets"][told].items():
            if name.startswith("family "):
                cells = f"{np.mean(row['recall at 1 %']):.2f} | {np.mean(row['networks found']):.2f}"
                lines.append(f"| `{name[7:]}` | {told} | {cells} |")
    lines += ["", "![Ours and the baselines on worlds](trust-methods.svg)"]
    lines += ["", "## Honest look-alikes", "", *_look_alikes(worlds), "", *_claims(worlds), *_evasion()]
    lines += _paths(figures.get("paths", {}))
    lines += _real(figures.get("real", {}))
    return "\n".join(lines) + "\n"


def _first_run(worlds: dict[str, Any]) -> list[str]:
    """Return the tables of the first runs on families that nobody had looked at."""
    carried = (
        "The author knew a simple generator of worlds with seven attacks, facts about it, and the form of the tables,",
        "and neither the engine nor our other families. The families were carried over into our worlds and committed",
        "before this run; nothing was changed between.",
    )
    return [
        *_run(
            worlds,
            ("third author run", "third author"),
            "Worlds with families of a third author who does not know the engine",
            *carried,
            "Seldom does this engine tell the praise that hides how an agent turned bad (`exit_traitor`).",
        ),
        *_run(
            worlds,
            ("second author run", "second author"),
            "Worlds with families of a second author who does not know the engine",
            *carried,
        ),
        *_run(
            worlds,
            ("first author run", "first author"),
            "Worlds with families and look-alikes of a first author who does not know the engine",
            *carried,
            "This author added honest look-alikes: launch campaigns, teams whose treasury pays all members, shops that",
            "refund complaints or reward each buyer, and quarrels. The teams and the clients of the shops took the",
            "whole budget of false positives. The engine was mended afterwards, so the last column is too good: money",
            "back after a complaint, and rewards for what others say as well, blame nobody; accounts of one purse",
            "count less if they pay, and say what others say; the training has larger teams, rewards and quarrels.",
        ),
        *_run(
            worlds,
            ("fourth run", "strange"),
            "Worlds with unseen families of our own: the last first run",
            "The families were written and committed before this run, and before the weights that it used were",
            "learned; nothing was changed between. The same author had written the new structures of drawn attacks in",
            "the hour before, and knew them: `_belittled` and `wolf_pack`, `_extorted` and `judge_toll` share an idea.",
            "Two structures were added after the families (`_puppets` and `_framed`), and one feature, the distance",
            "to the nearest opinions in time. They are like none of the families. Seldom does this engine tell aged",
            "accounts that sell one opinion each (`review_panel`), or that buy from popular agents and call them bad",
            "(`wolf_pack`).",
        ),
        *_run(
            worlds,
            ("third run", "fresh"),
            "Worlds with unseen families of our own: the third run",
            "The engine had not met the families before. Their author says that the last training had begun before",
            "they were written, and used none of them. The order of the commits cannot show it: git has the families",
            "at 07:21, and six new structures of drawn attacks with the weights at 07:35. The same author wrote both",
            "in the same hours, and some drawn structures resemble these families (`_divided` and `thin_spread`,",
            "`_judged` and `judge_ring`, `_lifted` and `booster`), so these figures may be too good as well. In one of",
            "three worlds, lockstep flagged 43 honest newcomers of one popular agent. They took the whole budget of",
            "false positives, so nothing was found there. The engine was mended afterwards, so the last column is too",
            "good: at most 100 raters of a subject count in this test, and some new structures of drawn attacks use",
            "tricks of these families.",
        ),
        *_run(
            worlds,
            ("second run", "newest"),
            "Worlds with unseen families of our own: the second run, with too few honest newcomers",
            "The families were written after the weights of weak signs were first learned on drawn attacks.",
            "Nothing was changed before this run.",
            "The engine was changed afterwards, so the last column is too good: attacks are drawn from more parts,",
            "and some are tricks of these families. The worlds were changed, too: honest accounts are born until",
            "their end, and the ranking does not see ages.",
        ),
        *_run(
            worlds,
            ("first run", "latest"),
            "Worlds with unseen families of our own: the first run, before the ranking was learned",
            "The families were written after all detectors. Nothing was changed before this run.",
            "The engine was changed afterwards, so the last column is too good: weak signs are many, and weighed as",
            "learned on drawn attacks, which use parts like theirs.",
        ),
    ]


def _run(worlds: dict[str, Any], names: tuple[str, str], title: str, *told: str) -> list[str]:
    """Return the tables of one first run.

    Args:
        worlds: The figures of worlds.
        names: The names of the run, and of the kind of its families.
        title: The title.
        *told: The text about the families, and about changes after the run, in parts.
    """
    first = worlds[names[0]]
    ours, seen = first["set"]["Bilateral"], worlds["sets"]["seen"]["Bilateral"]
    gaps = {name: np.mean(seen[name]) - np.mean(ours[name]) for name in MEASURES}
    lines = [
        "",
        f"## {title}",
        "",
        *_paragraph(f"Run on {first['date']}, once.", *told),
        "",
        *_paragraph(
            f'Against the families "seen" as measured now, the AUC is {gaps["AUC"]:.3f} lower, the recall at 1 % is',
            f"{gaps['recall at 1 %']:.3f} lower, the recall at 0.1 % {gaps['recall at 0.1 %']:.3f}, and the share of",
            f"networks found {gaps['networks found']:.3f}. The recall at the own threshold:",
            f"{np.mean(ours['recall']):.3f}. The precision there: {precise(of_flagged(ours, 'precision'))}.",
        ),
        "",
        *_methods(first["set"]),
        "",
        "| family | recall at 1 %, first run | networks found, first run | recall at 1 % now |",
        "|---|---:|---:|---:|",
    ]
    for name, row in first["set"].items():
        if name.startswith("family "):
            now = worlds["sets"][names[1]].get(name, row)
            cells = (row["recall at 1 %"], row["networks found"], now["recall at 1 %"])
            lines.append(f"| `{name[7:]}` | {' | '.join(f'{np.mean(cell):.2f}' for cell in cells)} |")
    return lines


def _paragraph(*parts: str) -> list[str]:
    """Return the lines of a paragraph. A number stays beside its "%"."""
    text = " ".join(parts).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _methods(rows: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return the table of our method and the baselines."""
    lines = [f"| method | {' | '.join(MEASURES)} |", "|---|" + "---:|" * len(MEASURES)]
    for name, row in rows.items():
        if not name.startswith(("family ", "without ")):
            cells = " | ".join(bracketed(interval(row[measure])) for measure in MEASURES)
            lines.append(f"| {name} | {cells} |")
    return lines


def _look_alikes(worlds: dict[str, Any]) -> list[str]:
    """Return the false positives by group, and the recall without each group."""
    lines = [
        "The figures of this table are of the worlds with the families and the look-alikes of the first author, then",
        "and now.",
        "",
        "| group | flagged, first run | flagged now | recall at 1 % without the group, now |",
        "|---|---:|---:|---:|",
    ]
    ours, first = worlds["sets"]["first author"]["Bilateral"], worlds["first author run"]["set"]["Bilateral"]
    for name, values in ours.items():
        if name.startswith("false positives: "):
            label = name[17:]
            without = worlds["sets"]["first author"].get(f"without {label}")
            recall = f"{np.mean(without['recall at 1 %']):.3f}" if without else ""
            lines.append(f"| {label} | {np.mean(first[name]):.2%} | {np.mean(values):.2%} | {recall} |")
    shares = " | ".join(f"{np.mean(figures['false positives']):.2%}" for figures in (first, ours))
    lines.append(f"| all | {shares} | {np.mean(ours['recall at 1 %']):.3f} |")
    return lines


def _evasion() -> list[str]:
    """Return the table of the costs to evade each detector."""
    lines = [
        "## The cost of evasion",
        "",
        "To lift one agent by ten false praises unseen, an attacker needs this much more than for ten plain ones. Gas",
        "is measured (`bench/gas.json`), 21,000 for a transfer, at 0.01 gwei and 3,000 $ an ether. Withdrawals at 0.50",
        "$ and services at 0.40 $ are assumptions. Identity checks of exchanges and the price of waiting come on top.",
        "",
        "| detector | way | accounts | ratings | transfers | days | gas | gas, $ | other money, $ |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.detector} | {row.way} | {row.accounts} | {row.ratings} | {row.transfers} | {row.days} | "
        f"{row.gas:,.0f} | {row.dollars:.2f} | {row.money:.2f} |"
        for row in evasion()
    ]
    return [*lines, ""]


def _claims(worlds: dict[str, Any]) -> list[str]:
    """Return the section about the claims of EIP-8004a."""
    lines = [
        "## The claims of EIP-8004a",
        "",
        "The specification claims that graph clustering detects 95 % of Sybil networks and that reciprocity detects",
        "92 % of collusion. The table has the recall at 1 % false positives, for attacks of 5, 10 and 20 accounts.",
        "",
        "| attack | components of funding | reciprocity | Bilateral |",
        "|---|---:|---:|---:|",
    ]
    for name, row in worlds["claims"].items():
        cells = " | ".join(f"{row[key]:.2f}" for key in ("components of funding", "reciprocity", "Bilateral"))
        lines.append(f"| {name} | {cells} |")
    cost = worlds["price"]
    lines += [
        "",
        "The specification prices ten fake agents at 13 $, a benefit of 10 $ at an expected cost of 12.35 $, and so a",
        f"loss of 2.35 $. At measured gas, ten registrations take {10 * cost['gas of a registration']:,.0f} gas "
        f"({cost['gas of a registration']:,.0f} each), and",
        f"ninety feedbacks {90 * cost['gas of a feedback']:,.0f} more ({cost['gas of a feedback']:,.0f} each). At 0.01 "
        f"gwei and 3,000 $ an ether that is {cost['dollars']:.2f} $",
        f"in all, and the attack gains {10 - 0.95 * cost['dollars']:.2f} $ by the same formula. At 20 gwei it costs "
        f"{cost['dollars at 20 gwei']:,.0f} $. The two",
        f"balance at {10 / 0.95 / cost['dollars'] * 0.01:.2f} gwei. So the claim fails on rollups: gas does not deter.",
        "",
    ]
    return lines


def _paths(paths: dict[str, Any]) -> list[str]:
    """Return the table of the two paths of the relational steps."""
    if not paths:
        return []
    better = [int(size) for size, row in paths.items() if _seconds(row, "database") < _seconds(row, "arrays")]
    lines = [
        "## Arrays or a database",
        "",
        "Seconds of a processor for a whole analysis of tables in a file of DuckDB, with the reading and with a list",
        "of one trusted account; in brackets, the relational steps alone. The threads of DuckDB count, too.",
        "`python -m bench.trust --paths`.",
        "",
        "| feedbacks | steps on arrays | steps in DuckDB by Ibis |",
        "|---:|---:|---:|",
    ]
    for size, row in paths.items():
        cells = " | ".join(f"{_seconds(row, name):.1f} ({row[name]['steps']:.1f})" for name in ("arrays", "database"))
        lines.append(f"| {int(size):,} | {cells} |")
    verdict = f"From {min(better):,} feedbacks on, DuckDB" if better else "At each of these sizes, the steps on arrays"
    return [*lines, "", f"{verdict} took less.", ""]


def _seconds(row: dict[str, Any], path: str) -> float:
    """Return the seconds of a processor of one path."""
    return float(row[path]["processor"])


def _real(real: dict[str, Any]) -> list[str]:
    """Return the section about real data."""
    if not real:
        return []
    chosen = real["otc"]["chosen on Alpha"]
    lines = [
        "## Bitcoin-OTC without its label edges",
        "",
        f"The labels follow from {real['otc']['label edges removed']} edges, which are removed. The formulas without",
        f"labels were chosen on Bitcoin-Alpha, whose {chosen[2]} labels ({chosen[3]} of fraud) follow from its ratings",
        f"by the same rule: ranks by {chosen[0]}; from the rater's side, by {chosen[1]}. So",
        "were the features and models of the ten folds. Figures are means over divisions; intervals are over traders.",
        "",
        "| method | AUC | recall at 1 % |",
        "|---|---:|---:|",
    ]
    methods = {"Bilateral": real["otc"]["unsupervised"], **real["otc"]["baselines"]}
    for name, row in methods.items():
        lines.append(f"| {name} | {bracketed(row['AUC'])} | {bracketed(row['recall at 1 %'])} |")
    lines += [
        "",
        "![Ours and the baselines on real data](trust-real.svg)",
        "",
        "The rows of Hop are measured with the engine's `CaseModel`, which learns from reviewed cases and sees the",
        "transfers alone.",
    ]
    return lines
