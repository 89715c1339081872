"""`bilateral index plan`: disk, memory, machines, hours and money for an index of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from bilateral.cli.help import option
from bilateral.cli.invocation import Invocation

_COLUMNS: Final = ("part", "question", "arithmetic", "answer")
_COLUMNS_OF_CONSTANT: Final = ("name", "value", "unit", "source")


def plan(
    invocation: Invocation,
    agents: Annotated[int, option("COUNT", "The agents of all chains.")] = 100_000_000,
    ratings: Annotated[int, option("COUNT", "Their ratings.")] = 10_000_000_000,
    chains: Annotated[int, option("COUNT", "The chains.")] = 20,
    answers: Annotated[int, option("COUNT", "The answers a second at the busiest time.")] = 1_000,
) -> None:
    """Print what an index of a size takes, with the arithmetic and the source of each figure in it."""
    from bilateral.index.plan import CONSTANTS, Size  # noqa: PLC0415  # with the extra's packages
    from bilateral.index.plan import plan as make_plan  # noqa: PLC0415

    lines = make_plan(Size(agents, ratings, chains, answers))
    output = invocation.output
    if output.as_json:
        output.result({"lines": lines, "constants": CONSTANTS})
        return
    output.results(lines, {name: _reads(name) for name in _COLUMNS})
    output.results(CONSTANTS, {name: _reads(name) for name in _COLUMNS_OF_CONSTANT})


def _reads(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, name)
