"""The page docs/trust-figures.md. `make evaluate` writes it."""

import json
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.report import DOCS, interval, rendered, table_row
from bench.trust.worlds.kinds import KINDS

TEMPLATE: Final = Path(__file__).with_name("page.md.jinja")
PAGE: Final = DOCS / "trust-figures.md"
FIGURES: Final = Path(__file__).with_name("figures.json")
_METHODS: Final = (
    "Bilateral", "components of funding", "reciprocity", "SybilRank", "trees over plain counts", "time only",
)  # fmt: skip
_WEAKEST: Final = 3
_RUNS: Final = {
    "latest": "first run", "newest": "second run", "fresh": "third run", "strange": "fourth run",
    "first author": "first author run", "second author": "second author run", "third author": "third author run",
}  # fmt: skip
"""The recorded first run of each kind."""

_UNSEEN: Final = {
    "first author": "unseen families and look-alikes of a first author",
    "second author": "unseen families of a second author",
    "third author": "unseen families of a third author",
    "strange": "unseen families of our own",
}

Rows = dict[str, list[float]]


def row(test: str, asked: float | None, value: float, shown: str) -> str:
    """Return a row of the table. It has no verdict if nothing was asked or measured.

    Args:
        test: The test.
        asked: The least value; None for none.
        value: The value; nan for none.
        shown: The value as text.
    """
    met = "" if asked is None or np.isnan(value) else "yes" if value >= asked else "**no**"
    return table_row(test, "" if asked is None else f"{asked:g}", shown, met)


def _worst_group(ours: Rows) -> str:
    """Return the group of look-alikes with the greatest share of false positives, and the share."""
    groups = {name[17:]: float(np.mean(ours[name])) for name in ours if name.startswith("false positives: ")}
    worst = max(groups, key=lambda name: groups[name])
    return f"{groups[worst]:.3f}, {worst}" if groups[worst] else ""


def _weakest(rows: dict[str, Rows]) -> str:
    """Return the families of the least recall at 1 % false positives."""
    recall = {name[7:]: np.mean(row["recall at 1 %"]) for name, row in rows.items() if name.startswith("family ")}
    return ", ".join(f"{name} {recall[name]:.2f}" for name in sorted(recall, key=lambda name: recall[name])[:_WEAKEST])


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
    return f"{value:.3f} [{max(low, 0):.3f}, {min(high, 1):.3f}]"


def _error(values: list[float]) -> float:
    """Return the standard error of a mean over worlds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def recorded() -> dict[str, Any]:
    """Return the recorded figures; none before the first run."""
    return dict(json.loads(FIGURES.read_text())) if FIGURES.is_file() else {}


def write(figures: dict[str, Any]) -> None:
    """Write the page."""
    PAGE.write_text(section(figures))


def section(figures: dict[str, Any]) -> str:
    """Return the page with recorded figures."""
    worlds = figures["worlds"]
    sets = {kind: worlds["sets"][kind] for kind in KINDS if kind in worlds["sets"]}
    parts = [sets[kind]["Bilateral"] for kind in ("seen", "watched", "latest")]
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    known = {name: list(chain.from_iterable(part[name] for part in parts)) for name in shared}
    everywhere = [np.mean(rows["Bilateral"]["recall at 1 %"]) for rows in sets.values()]
    functions = {"row": row, "bracketed": bracketed, "interval": interval, "mean": np.mean, "error": _error}
    functions |= {"of_flagged": of_flagged, "precise": precise, "weakest": _weakest, "worst_group": _worst_group}
    values = {"worlds": worlds, "sets": sets, "known": known, "kinds": KINDS, "runs": _RUNS, "unseen": _UNSEEN}
    values |= {"everywhere": everywhere, "methods": _METHODS, "worlds_of_kind": len(parts[0]["AUC"])}
    return rendered(TEMPLATE, real=figures.get("real"), speed=figures.get("speed", {}), **functions, **values)
