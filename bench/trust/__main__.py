"""`make evaluate DATA=folder`: measures the trust analysis, and writes the figures into docs/trust-figures.md.

Without DATA, the figures of real data stay as they were recorded. The data are not part of the project:
`hop/` is from the repository hop-protocol/hop-airdrop: `eligibleAddresses.txt`, `eliminatedSybilAttackers.csv` and
the transfers as `transfers.parquet` with the columns from, to, kind, chain.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.trust import page, real_data, study
from bench.trust.measures import measured
from bench.trust.speed import speed
from bench.trust.worlds.kinds import KINDS


def worlds(console: Console, before: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of worlds.

    Args:
        console: Shows what is measured.
        before: The recorded figures, of which those of the first run stay.
    """
    out: dict[str, Any] = {"sets": {}}
    for kind in KINDS:
        console.print(f"worlds: {kind}")
        out["sets"][kind] = study.study(kind)
    out["honest"] = study.honest_only(range(1031, 1034))
    out["rotated"] = study.rotated(range(1041, 1043))
    out["claims"] = study.sybil_networks()
    out["price"] = study.price()
    out.update({name: run for name, run in before.items() if name.endswith(" run")})
    return out


def real(folder: Path, console: Console) -> dict[str, Any]:
    """Return the figures of real data.

    Args:
        folder: The folder of the data.
        console: Shows what is measured.
    """
    console.print("Hop")
    transfers = real_data.Hop.read(folder / "hop")
    score, label = real_data.by_component(transfers)
    scores, label_of_draws = real_data.by_seeds(transfers, 20)
    by_seeds = {"divisions": len(scores), **measured(label_of_draws, scores, 200)}  # 32,000 accounts take time
    return {"hop": {"by component": measured(label, [score]), "by seeds": by_seeds}}


def main() -> None:
    """Measure, record and write the page."""
    parser = argparse.ArgumentParser(prog="make evaluate", description="Measure the trust analysis.")
    parser.add_argument("data", nargs="?", type=Path, help="the folder of the real data; see the top of this module")
    parser.add_argument("--large", action="store_true", help="measure the speed at ten million opinions, too")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--worlds", action="store_true", help="measure the worlds alone")
    only.add_argument("--speed", action="store_true", help="measure the speed alone")
    only.add_argument("--real", action="store_true", help="measure the real data alone")
    only.add_argument("--page", action="store_true", help="write the page from the recorded figures")
    arguments = parser.parse_args()
    console = Console()
    figures = page.recorded()
    chosen = {name for name in ("worlds", "speed", "real", "page") if getattr(arguments, name)}
    if "real" in chosen and arguments.data is None:
        parser.error("--real needs the folder of the data")
    if chosen <= {"worlds"}:
        figures["worlds"] = worlds(console, figures["worlds"])
        _record(figures)
    if arguments.data is not None and chosen <= {"real"}:
        figures["real"] = real(arguments.data, console)
        _record(figures)
    if chosen <= {"speed"}:
        console.print("speed")
        sizes = [1_000_000, *([10_000_000] if arguments.large else [])]
        figures["speed"] = {**figures.get("speed", {}), **speed(sizes)}
    _record(figures)
    page.write(figures)
    console.print(f"written: {page.PAGE.name}")


def _record(figures: dict[str, Any]) -> None:
    """Write the figures down, so that a run that ends early loses nothing."""
    page.FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
