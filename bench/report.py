"""The shared parts of drivers: options, Markdown tables, pages with figures, intervals, pictures and local chains."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import ape
import numpy as np
from ape.logging import LogLevel, logger
from eth_account import Account
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console
from rich.table import Table
from scipy.special import stdtrit
from web3 import Web3

DOCS: Final = Path(__file__).parents[1] / "docs"


def options(description: str | None, *arguments: str, **defaults: Any) -> argparse.Namespace:
    """Read the command line of a driver.

    Args:
        description: The documentation of its module.
        *arguments: The positional arguments among the defaults.
        **defaults: The options with their defaults, whose types they have; `...` for a URL that is required.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        if default is ...:
            parser.add_argument(f"--{name}", required=True, metavar="URL")
        elif name in arguments:
            parser.add_argument(name, nargs="?", type=type(default), default=default)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


@contextmanager
def local_chain() -> Iterator[Any]:
    """Connect Ape to a local chain, and yield its provider. Ape says no more than warnings."""
    logger.set_level(LogLevel.WARNING)
    with ape.networks.ethereum.local.use_provider("foundry") as provider:
        yield provider


def funded_account(web3: Web3) -> Any:
    """Return a new account with ether on a local chain."""
    account = Account.create()
    web3.provider.make_request("anvil_setBalance", [account.address, hex(10**21)])  # type: ignore[arg-type]
    return account


def paragraph(text: str) -> str:
    """Wrap a paragraph. A number stays beside its "%"."""
    unbroken = " ".join(text.split()).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = wrap(unbroken, 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def rendered(template: Path, **values: Any) -> str:
    """Return a page with figures, whose template may call functions among the values."""
    environment = Environment(  # noqa: S701  # Markdown of our own
        loader=FileSystemLoader(template.parent), trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters |= {"paragraph": paragraph, "f": format}
    return environment.get_template(template.name).render(**values)


def write_part(page: Path, begin: str, end: str, text: str) -> None:
    """Replace the part of a page between two lines.

    Raises:
        ValueError: The page lacks one of the lines.
    """
    before, begun, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"{page.name} has no part {begin.strip()}")
    page.write_text(before + begin + text + end + after, encoding="utf-8")


def table_head(*columns: str) -> list[str]:
    """Return the head of a Markdown table: names are left, figures right."""
    return [table_row(*columns), f"| --- |{' ---: |' * (len(columns) - 1)}"]


def table_row(*cells: object) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def print_head(*columns: str) -> None:
    """Print the head of a Markdown table."""
    print("\n".join(table_head(*columns)))


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table, at once."""
    print(table_row(*cells), flush=True)


def print_table(title: str, *columns: str, rows: Iterable[Sequence[str]]) -> None:
    """Print a table for people."""
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)


def within(figure: float, limit: float, unit: str = "") -> tuple[str, str]:
    """Return the cells of a limit and of its verdict."""
    return f"{limit:,g}{unit}", "yes" if figure <= limit else "no"


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of finite values, and the limits that hold in 95 of 100 cases by Student's t; nan without any.

    A single value has no limits, and is returned as all three.
    """
    finite = np.array([value for value in values if np.isfinite(value)])
    if not len(finite):
        return (float("nan"),) * 3
    mean = float(finite.mean())
    reach = 0.0
    if len(finite) > 1:
        reach = float(stdtrit(len(finite) - 1, 0.975) * finite.std(ddof=1) / np.sqrt(len(finite)))
    return mean, mean - reach, mean + reach


def interval_cell(values: Sequence[float], scale: float = 100.0, digits: int = 1, unit: str = "") -> str:
    """Return a mean with its interval, each times a factor, as text."""
    # Adding 0.0 turns -0.0, which rounding may leave, into 0.0.
    mean, low, high = (round(scale * value, digits) + 0.0 for value in interval(values))
    return f"{mean:.{digits}f}{unit} [{low:.{digits}f}, {high:.{digits}f}]"


def pyplot() -> Any:
    """Return the module that draws pictures, whose bytes are the same each time."""
    import matplotlib as mpl  # noqa: PLC0415  # heavy, and for this only

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "bilateral"
    from matplotlib import pyplot as module  # noqa: PLC0415

    return module


def save_picture(figure: Any, name: str) -> None:
    """Save a picture beside the pages."""
    figure.tight_layout()
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None})
    pyplot().close(figure)


def draw_intervals(
    name: str, measure: str, rows: Sequence[tuple[str, tuple[float, float, float], str]], height: float, **axis: Any
) -> None:
    """Draw a horizontal bar with its interval for each row: its label, its mean with limits, and its colour."""
    labels, triples, colours = zip(*rows[::-1], strict=True)
    mean, low, high = zip(*triples, strict=True)
    reach = [np.maximum(np.subtract(mean, low), 0), np.maximum(np.subtract(high, mean), 0)]
    figure, axes = pyplot().subplots(figsize=(8, 1.5 + height * len(rows)))
    axes.barh(labels, mean, color=colours, xerr=reach, ecolor="#333333", capsize=2)
    axes.set(xlabel=measure, **axis)
    save_picture(figure, name)
