"""`bilateral signals …`: what watchtowers measure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bilateral.cli.options import command, make_group
from bilateral.cli.session import NOT_SENT, Session
from bilateral.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client import Signal

app = make_group("signals", "Publish what a watchtower measures.")


@command(
    app,
    "publish",
    "bilateral signals publish measured.json --period 2026-W47 --account watchtower",
    """echo '[{"agent": "42", "tag": "uptime", "value": "99.8"}]' | bilateral signals publish - --account watchtower""",
    writes=True,
)
def publish(
    session: Session,
    measured: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A JSON list of objects with agent, tag, value and, if it has one, endpoint; - is the standard input.",
            show_default=False,
        ),
    ],
    period: Annotated[
        str | None, typer.Option("--period", metavar="PERIOD", help="What names the period; this ISO week if left out.")
    ] = None,
) -> None:
    """Publish the measurements of a period; those that are on chain already are not published again."""
    from bilateral.client import week_of  # noqa: PLC0415  # web3.py is heavy

    signals = _signals(session.read_file(measured))
    name = period if period is not None else week_of(datetime.now(UTC))
    with session.client() as client:
        batch = session.send(lambda: client.publish_signals(signals, name))
        session.output.sent = [handle.hash for handle in batch.handles if handle.hash]
        value: dict[str, Any] = {
            "period": name,
            "hashes": [handle.hash for handle in batch.handles],
            "gas": [handle.gas for handle in batch.handles],
            "transactions": None,
            "already_published": batch.already_published,
            "results": None,
        }
        title = f"Signals of {name}"
        if session.settings.dry_run:
            value["transactions"] = [session.unsent(handle) for handle in batch.handles]
            title = NOT_SENT
        elif session.settings.wait:
            for sent in session.output.sent:
                session.output.note(f"sent {sent}")  # all of them first, for whoever does not see the end
            value["results"] = [session.wait_for(handle.wait) for handle in batch.handles]
    session.output.result(value, title=title)


def _signals(content: bytes) -> Sequence[Signal]:
    """The measurements in a file."""
    from bilateral.client import Signal  # noqa: PLC0415  # web3.py is heavy

    try:
        entries = json.loads(content, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        raise InvalidArgumentError("the measurements are not JSON") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidArgumentError("the measurements are not a list of objects")
    found = []
    for entry in entries:
        unknown = entry.keys() - {"agent", "tag", "value", "endpoint"}
        if unknown or not entry.keys() >= {"agent", "tag", "value"}:
            raise InvalidArgumentError("a measurement has agent, tag, value and perhaps endpoint, and nothing else")
        if not all(isinstance(value, str | bool) for value in entry.values()):
            raise InvalidArgumentError("a measurement's fields are text, numbers or true and false")
        found.append(Signal(**entry))
    return found
