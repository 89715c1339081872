"""The page docs/trust-figures.md. `make evaluate` writes them."""

import json
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.report import DOCS, draw_intervals, interval, rendered
from bench.trust.claims import evasion
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
    draw_intervals("trust-families", "recall at 1 %", families, 0.24, xlim=(0, 1), title="Recall by family")
    methods: list[Bar] = [
        (f"{name}, {told}", interval(row["AUC"]), kind.colour)
        for told, kind in KINDS.items()
        for name, row in sets[told].items()
        if not name.startswith(("family ", "without "))
    ]
    draw_intervals("trust-methods", "AUC", methods, 0.24, xlim=(0, 1), title="Worlds: ours and the baselines")
    if real := figures.get("real"):
        otc, hop = real["otc"], real["hop"]
        bars: list[Bar] = [("OTC, ours without labels", tuple(otc["unsupervised"]["AUC"]), "#4477aa")]
        bars += [(f"OTC, {name}", tuple(value["AUC"]), "#bbbbbb") for name, value in otc["baselines"].items()]
        bars += [
            ("OTC, ours, 10-fold", tuple(otc["supervised"]["AUC"]), "#4477aa"),
            ("OTC, rater side", tuple(otc["rater side"]["AUC"]), "#228833"),
            ("OTC, rater side, 10-fold", tuple(otc["rater side, supervised"]["AUC"]), "#228833"),
            ("Hop, 10 % seeds", tuple(hop["by seeds"]["AUC"]), "#ee6677"),
            ("Hop, by component", tuple(hop["by component"]["AUC"]), "#ee6677"),
        ]
        title = "Real data: grey are known and simple methods"
        draw_intervals("trust-real", "AUC", bars, 0.24, xlim=(0, 1), title=title)


TEMPLATE: Final = Path(__file__).with_name("page.md.jinja")
PAGE: Final = DOCS / "trust-figures.md"
FIGURES: Final = Path(__file__).with_name("figures.json")
HEADING: Final = "# Figures of the trust analysis\n"


def recorded() -> dict[str, Any]:
    """Return the recorded figures; none before the first run."""
    return dict(json.loads(FIGURES.read_text())) if FIGURES.is_file() else {}


def write(figures: dict[str, Any]) -> None:
    """Write the page and the plots."""
    PAGE.write_text(section(figures))
    plots(figures)


def section(figures: dict[str, Any]) -> str:
    """Return the page with recorded figures."""
    functions = {"acceptance": acceptance, "bracketed": bracketed, "evasion": evasion, "interval": interval}
    functions |= {"mean": np.mean, "of_flagged": of_flagged, "precise": precise, "gap": _gap}
    values = {"figures": figures, "worlds": figures["worlds"], "real": figures.get("real"), "kinds": KINDS}
    return rendered(TEMPLATE, measures=MEASURES, **functions, **values)


def _gap(seen: Rows, ours: Rows, measure: str) -> str:
    """Return how much lower a mean is than that of the families seen."""
    return f"{np.mean(seen[measure]) - np.mean(ours[measure]):.3f}"
