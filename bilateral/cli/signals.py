"""`bilateral signals …`: watchtower measurements."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from bilateral.cli.invocation import NOT_SENT, Invocation
from bilateral.cli.options import argument, command, make_group, optional
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client import Signal

app = make_group("signals")

_REQUIRED: Final = ("agent", "tag", "value")
_OPTIONAL: Final = ("endpoint", "feedback_uri", "feedback_hash")


@command(app, writes=True)
def publish(
    invocation: Invocation,
    measured: Annotated[
        Path,
        argument(
            "FILE",
            "A JSON list of objects with agent, tag, value and optionally endpoint, feedback_uri and feedback_hash;"
            " - for standard input.",
        ),
    ],
    period: str | None = optional("PERIOD", "The name of the period; this ISO week by default."),
) -> None:
    """Publish the measurements of a period that are not yet on chain."""
    from bilateral.client import week_of  # noqa: PLC0415  # slow to import

    signals = _signals(invocation.read_file(measured))
    name = period if period is not None else week_of(datetime.now(UTC))
    with invocation.client() as client:
        batch = invocation.send(lambda: client.publish_signals(signals, name))
        invocation.output.sent = [handle.hash for handle in batch.handles if handle.hash]
        value: dict[str, Any] = {
            "period": name,
            "hashes": [handle.hash for handle in batch.handles],
            "gas": [handle.gas for handle in batch.handles],
            "transactions": None,
            "already_published": batch.already_published,
            "results": None,
        }
        title = f"Signals of {name}"
        if invocation.settings.dry_run:
            value["transactions"] = [invocation.unsent(handle) for handle in batch.handles]
            title = NOT_SENT
        elif invocation.settings.wait:
            for sent in invocation.output.sent:
                invocation.output.note(f"sent {sent}")  # before the first wait, which the user may interrupt
            value["results"] = [invocation.wait_for(handle.wait) for handle in batch.handles]
    invocation.output.result(value, title=title)


def _signals(content: bytes) -> Sequence[Signal]:
    from bilateral.client import Signal  # noqa: PLC0415  # slow to import

    try:
        entries = json.loads(content, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        raise InvalidArgumentError("FILE is not valid JSON") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidArgumentError("FILE must contain a JSON list of objects")
    signals = []
    for entry in entries:
        unknown = entry.keys() - {*_REQUIRED, *_OPTIONAL}
        if unknown or not entry.keys() >= {*_REQUIRED}:
            raise InvalidArgumentError(
                f"a measurement must have {', '.join(_REQUIRED)}, may have {', '.join(_OPTIONAL)}, and no other fields"
            )
        if not all(isinstance(value, str | bool) for value in entry.values()):
            raise InvalidArgumentError("a measurement's fields must be strings, numbers or booleans")
        signals.append(Signal(entry.pop("agent"), **entry))
    return signals
