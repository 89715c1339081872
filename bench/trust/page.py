"""The page docs/trust-figures.md. `make evaluate` writes them."""

import json
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.report import DOCS, draw_intervals, interval, rendered, table_row
from bench.trust.study import evasion
from bench.trust.worlds.kinds import KINDS

TEMPLATE: Final = Path(__file__).with_name("page.md.jinja")
PAGE: Final = DOCS / "trust-figures.md"
FIGURES: Final = Path(__file__).with_name("figures.json")
HEADING: Final = "# Figures of the trust analysis\n"
MEASURES: Final = ("AUC", "recall at 1 %", "recall at 0.1 %", "networks found")
"""The measures of a ranking."""

Rows = dict[str, list[float]]


def acceptance(figures: dict[str, Any]) -> list[str]:
    """Return the table of accepted and measured figures, and two figures below it."""
    sets = {kind: rows["Bilateral"] for kind, rows in figures["worlds"]["sets"].items()}
    parts = [sets[kind] for kind in ("seen", "watched", "latest")]
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    known = {name: list(chain.from_iterable(part[name] for part in parts)) for name in shared}
    functions = {"row": row, "bracketed": bracketed, "interval": interval, "mean": np.mean, "zip": zip}
    functions |= {"of_flagged": of_flagged, "precise": precise, "worst_group": _worst_group}
    template = TEMPLATE.with_name("acceptance.md.jinja")
    values = {"worlds": figures["worlds"], "sets": sets, "known": known, "real": figures.get("real")}
    return rendered(template, measures=MEASURES, speed=figures.get("speed", {}), **functions, **values).splitlines()


def row(test: str, asked: float | None, value: float, shown: str = "", *, most: bool = False) -> str:
    """Return a row of the table. It has no verdict if nothing was asked or measured.

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
    return table_row(test, limit, shown or format(value, ".3f"), met)


def _worst_group(ours: Rows) -> tuple[float, str]:
    """Return the greatest share of false positives of a group of look-alikes, and its text."""
    groups = {name[17:]: float(np.mean(ours[name])) for name in ours if name.startswith("false positives: ")}
    worst = max(groups, key=lambda name: groups[name])
    return groups[worst], f"{groups[worst]:.3f}" + (f", {worst}" if groups[worst] else "")


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
        hop = real["hop"]
        bars: list[Bar] = [
            ("Hop, 10 % seeds", tuple(hop["by seeds"]["AUC"]), "#ee6677"),
            ("Hop, by component", tuple(hop["by component"]["AUC"]), "#ee6677"),
        ]
        draw_intervals("trust-real", "AUC", bars, 0.24, xlim=(0, 1), title="Real data")


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
