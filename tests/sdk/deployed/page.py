"""The table of docs/deployed-registries.md, made from the outcomes of the methods."""

from __future__ import annotations

import inspect
from pathlib import Path

from bilateral.client import Client

PAGE = Path(__file__).parents[3] / "docs" / "deployed-registries.md"
BEGIN = "<!-- methods: written by `make deployed-registries` from runs -->\n"
END = "<!-- end of methods -->\n"


def public_names():
    """Return the public methods and properties of the client, in the order of their classes' bodies."""
    members_of = {}
    for base in reversed(Client.__mro__[:-1]):
        members = {name: member for name, member in vars(base).items() if not name.startswith("_")}
        members_of |= {
            name: None for name, member in members.items() if inspect.isfunction(member) or isinstance(member, property)
        }
    return list(members_of)


def table(outcomes):
    """Return the table.

    Args:
        outcomes: By deployment: the outcome of each method.
    """
    columns = list(outcomes)
    lines = [f"| method | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    lines += [f"| `{name}` | {' | '.join(outcomes[column][name] for column in columns)} |" for name in public_names()]
    return "\n".join(["", *lines, "", ""])


def with_table(page, outcomes):
    """Return the page with the table of these outcomes."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table(outcomes) + END + after


def outcomes_on(page):
    """Return the outcomes that the page has, by deployment and method."""
    rows = page.split(BEGIN)[1].split(END)[0].strip().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    columns = cells[0][1:]
    return {column: {row[0].strip("`"): row[number] for row in cells[2:]} for number, column in enumerate(columns, 1)}
