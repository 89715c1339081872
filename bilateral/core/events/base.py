"""The base class of registry events, and the type of logs that cannot be decoded."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from bilateral.core.contracts.logs import LogPosition, RawLog  # code that reads the field types needs them


@dataclass(frozen=True, slots=True)
class Event:
    """The base class of registry events.

    Attributes:
        position: The log's position in the chain.
    """

    position: LogPosition

    abi_name: ClassVar[str]
    """The event's name in Solidity: the class name, unless overridden."""

    def __init_subclass__(cls) -> None:
        if "abi_name" not in vars(cls):
            cls.abi_name = cls.__name__


class Undecodable(StrEnum):
    """A reason why a log cannot be decoded."""

    FOREIGN_ADDRESS = "foreign_address"
    """The address that emitted the log is not a registry."""

    UNKNOWN_EVENT = "unknown_event"
    """The log has no topic, or the registry's ABI has no event with the log's first topic."""

    MALFORMED = "malformed"
    """The log's topics or data are not a valid ABI encoding of the event."""


@dataclass(frozen=True, slots=True)
class UndecodedLog:
    """A log that cannot be decoded as an event.

    Attributes:
        reason: The machine-readable kind of problem.
        problem: A description of the problem.
    """

    log: RawLog
    reason: Undecodable
    problem: str

    @property
    def position(self) -> LogPosition:
        """The log's position in the chain."""
        return self.log.position
