"""The options that commands on feedback share, and the columns of their tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.tags import marked_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bilateral.client import FeedbackEntry


COLUMNS: Final[Mapping[str, Callable[[FeedbackEntry], Any]]] = {
    "feedback": lambda entry: entry.id,
    "value": lambda entry: entry.value,
    "tag1": lambda entry: marked_tag(entry.tag1),
    "tag2": lambda entry: marked_tag(entry.tag2),
    "revoked": lambda entry: entry.is_revoked or None,
}


Value = Annotated[
    str,
    typer.Argument(metavar="VALUE", help="A number, stored exactly as written; or true or false.", show_default=False),
]


Stars = Annotated[bool, typer.Option("--stars", help="Take the value as 1 to 5 stars, and the tag as starred.")]


Endpoint = Annotated[str, typer.Option("--endpoint", metavar="URI", help="The URI of the endpoint that was used.")]


File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="A feedback file to complete and store; - is the standard input."),
]


Comment = Annotated[
    str | None, typer.Option("--text", metavar="TEXT", help="Your comment; it goes into a feedback file.")
]


Capability = Annotated[
    str | None,
    typer.Option("--capability", metavar="KIND", help="The MCP capability used: tools, prompts or resources."),
]


Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The name of that capability.")]


Skills = Annotated[
    list[str] | None, typer.Option("--skill", metavar="SKILL", help="An A2A skill that was used; may be repeated.")
]


Task = Annotated[str | None, typer.Option("--task", metavar="TASK", help="The A2A task.")]


Names = Annotated[
    list[str] | None, typer.Option("--name", metavar="NAME", help="A name of such a capability; may be repeated.")
]


WithRevoked = Annotated[bool, typer.Option("--revoked", help="Include revoked feedback.")]


STARRED: Final = "starred"


CAPABILITIES: Final = ("tools", "prompts", "resources")


BINARY: Final = {"true": True, "false": False}
