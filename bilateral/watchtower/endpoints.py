"""The endpoints of a run."""

from dataclasses import dataclass
from typing import Any, Self

from bilateral.index.measurements.values import Outcome, Target
from bilateral.watchtower.outcomes import Probe
from bilateral.watchtower.politeness import Host
from bilateral.watchtower.states import Condition
from bilateral.watchtower.store import target_of


@dataclass(eq=False)
class Endpoint:
    """An endpoint and its turn.

    Attributes:
        rounds: The rounds from one probe to the next.
        round: The Unix time at which the last round began; None before the first.
        deep_at: The Unix time of the last deep probe; None if the next one is deep.
        facts: What the last deep probe read.
        memory: What remains of the reads before, to confirm changes.
        due: The time of its next turn in the time of the run.
        due_wall: The same in Unix time.
        failed: The first probe of the round, if it failed and a retry follows.
        was_retried: True if the last round had a retry.
        has_turn: True if a turn of its address is reserved for it.
    """

    number: int
    target: Target
    host: Host
    condition: Condition
    rounds: int
    round: int | None
    deep_at: int | None
    facts: dict[str, Any]
    memory: dict[str, Any]
    due: float = 0.0
    due_wall: float = 0.0
    failed: Probe | None = None
    was_retried: bool = False
    has_turn: bool = False

    @classmethod
    def of(cls, row: Any, host: Host) -> Self:
        """Return the endpoint of a row."""
        stored = (row.rounds, row.round, row.deep_at, row.facts or {}, row.drift or {})
        return cls(row.number, target_of(row), host, Condition.of(row), *stored)

    @property
    def may_retry(self) -> bool:
        """True if a failure is tried again in the same round: unless the round before was, or it is down."""
        is_open = self.condition.suspect_at is not None or not self.was_retried
        return self.failed is None and self.condition.state is not Outcome.DOWN and is_open
