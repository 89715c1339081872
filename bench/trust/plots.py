"""The plots beside docs/trust-figures.md, each with intervals that hold in 95 of 100 cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench.trust.study import interval
from bench.trust.worlds.kinds import KINDS

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
