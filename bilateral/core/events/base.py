"""The base of registry events, and logs that cannot be decoded."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from bilateral.core.contracts.logs import LogPosition, RawLog  # readers of the fields' types need them at run time


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a registry.

    Attributes:
        position: Its position in the chain.
    """

    position: LogPosition

    abi_name: ClassVar[str]
    """The event's name in Solidity: the class name, unless overridden."""

    def __init_subclass__(cls) -> None:
        if "abi_name" not in vars(cls):
            cls.abi_name = cls.__name__


class Undecodable(StrEnum):
    """A reason why a log is not decoded."""

    FOREIGN_ADDRESS = "foreign_address"
    """The address that emitted it is not a registry."""

    UNKNOWN_EVENT = "unknown_event"
    """The registry's ABI has no event with its first topic, or it has no topic."""

    MALFORMED = "malformed"
    """Its topics or its data are not the ABI encoding of its event."""


@dataclass(frozen=True, slots=True)
class UndecodedLog:
    """A log that cannot be decoded as an event.

    Attributes:
        reason: The kind of problem, for programs.
        problem: The problem, for human readers.
    """

    log: RawLog
    reason: Undecodable
    problem: str

    @property
    def position(self) -> LogPosition:
        """Its position in the chain."""
        return self.log.position
