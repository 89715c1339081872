"""A registry's log, as it was found on the chain or in the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilateral.events import Event, RawLog, UndecodedLog


@dataclass(frozen=True, slots=True)
class Found:
    """A log of a registry, decoded or not.

    Attributes:
        log: The log.
        event: Its event, or the reason why it was not decoded.
        time: The time of its block, in Unix seconds.
    """

    log: RawLog
    event: Event | UndecodedLog
    time: int
