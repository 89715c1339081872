"""`bilateral buyer anchor-states`, `decide` and `remove`: what the operator of a service for buyers does."""

from __future__ import annotations

from typing import Annotated

import typer

from bilateral.cli.help import argument, flag, option, optional
from bilateral.cli.index_options import Database, open_index, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command

Message = Annotated[str, argument("MESSAGE", "The id of the message.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group."""
    command(app, "anchor-states", signs=True)(anchor)
    command(app, is_local=True)(decide)
    command(app, is_local=True)(remove)


def anchor(
    invocation: Invocation,
    policies: list[str] | None = optional(
        "NAME", "A scoring policy; may be repeated. brp-1.0 if left out.", "--policy"
    ),
    database: Database = None,
) -> None:
    """Store the states of all buyers that the index knows, and post their root, as the anchorer. Safe to repeat."""
    require_extra()
    from bilateral.buyers.anchoring import anchor_states  # noqa: PLC0415  # slow to import
    from bilateral.buyers.policies import BRP  # noqa: PLC0415

    with open_index(database) as engine, invocation.signing() as client:
        epoch = anchor_states(engine, client, policies or [BRP.name])
        root = client.get_root(epoch)
    invocation.output.result({"epoch": epoch, "root": root}, title="States anchored")


def decide(
    invocation: Invocation,
    dispute: Message,
    decision: Annotated[str, option("DECISION", "upheld or rejected.", "--as")],
    database: Database = None,
) -> None:
    """Decide a dispute of a seller about a buyer, as the operator of the service."""
    require_extra()
    from bilateral.buyers.moderation import decide_dispute  # noqa: PLC0415  # slow to import

    with open_index(database) as engine:
        decide_dispute(engine, dispute, decision)
    invocation.output.result({"dispute": dispute, "state": decision})


def remove(
    invocation: Invocation,
    message: Message,
    whole: bool = flag("--whole", "Remove the message itself, too: its score counts no longer."),
    database: Database = None,
) -> None:
    """Remove the texts of a message about a buyer or a seller, and the reply to it."""
    require_extra()
    from bilateral.buyers.moderation import remove_message  # noqa: PLC0415  # slow to import

    with open_index(database) as engine:
        table = remove_message(engine, message, whole=whole)
    invocation.output.result({"message": message, "table": table, "removed": "all" if whole else "texts"})
