"""The number of blocks to ask an endpoint for, learnt from its answers and refusals (`bilateral.node.ranges`)."""

from __future__ import annotations

from typing import Final

_MANY_LOGS: Final = 10_000
"""The logs that one answer should hold at most: more would cost memory."""

_GOOD_LOGS: Final = 6_000
"""The logs that the second answer should hold, by the number that the first one held."""


class RangeSize:
    """The number of blocks to ask one endpoint for, learnt from its answers.

    Between a size that was accepted and one that was refused, it looks for the limit by bisection. Limits on logs move
    with the chain, so after eight answers in a row it tries a quarter more, but never more than a ceiling.

    Args:
        most: The most blocks to ask for.
        ceiling: The ceiling that was learnt earlier; None if none was.
        first: The blocks to ask for first, while nothing is known about the number of logs; as many as may be if left
            out.

    Attributes:
        blocks: The number of blocks to ask for next.
        ceiling: The most blocks that the endpoint says it gives; None if it has not said so.
        was_refused: True once the endpoint refused a range, so that its limit is worth remembering.
    """

    _GROW_AFTER: Final = 8  # so at most one request in nine is a try that may be refused
    _EXACT_ENOUGH: Final = 8  # a limit is known to an eighth: each half more costs a refusal
    _FASTEST_GROWTH: Final = 16
    """The largest step of growth behind a dense stretch: three steps lead from a few blocks to ten thousand."""

    def __init__(self, most: int, ceiling: int | None = None, first: int | None = None) -> None:
        self._most = most
        self._is_first = first is not None
        self.ceiling = ceiling
        self.blocks = min(most, ceiling or most, first or most)
        self.was_refused = False
        self._accepted = 0
        self._refused: int | None = None
        self._answers = 0
        self._fitting: int | None = None
        self._last = 0

    def accepted(self, requested: int, logs: int) -> None:
        """Take note of an answer."""
        if logs > _MANY_LOGS:
            self.blocks = max(1, min(self.blocks, requested * _MANY_LOGS // logs))
            self._answers = 0
            return
        if requested < self.blocks:  # the end of the chain came first: nothing was learnt
            return
        if self._is_first:
            self._is_first = False
            self._ask_for(max(requested, requested * _GOOD_LOGS // max(logs, 1)))
            return
        self._accepted, self._last = requested, logs
        self._answers += 1
        if 2 * logs >= _MANY_LOGS:
            return
        if self._fitting is not None and self._is_sparse(requested, logs):
            return
        if self._refused is not None and self._refused - requested > max(1, requested // self._EXACT_ENOUGH):
            self._ask_for((requested + self._refused) // 2)
        elif self._answers >= self._GROW_AFTER:
            self._answers, self._refused = 0, None
            self._ask_for(requested + max(1, requested // 4))

    def _is_sparse(self, requested: int, logs: int) -> bool:
        """Ask for many more blocks after an answer with far fewer logs than the endpoint gives at once."""
        self._fitting = max(self._fitting or 0, logs)
        if 2 * logs > self._fitting or self._fitting == 0:
            return False
        self._answers, self._refused = 0, None
        self._ask_for(requested * min(self._fitting // max(logs, 1), self._FASTEST_GROWTH))
        return True

    def refused(self, requested: int, limit: int | None, *, limits_blocks: bool = True) -> None:
        """Take note of a refusal."""
        if not limits_blocks:
            self._fitting = self._last  # an earlier answer may have had more by chance
        self._answers, self._is_first, self.was_refused = 0, False, True
        if limit is not None and limit < requested:
            self.blocks = max(1, limit)
            self.ceiling = self.blocks if limits_blocks else self.ceiling
            self._refused = None
            return
        self._refused = requested
        self.blocks = self._accepted if requested // 2 < self._accepted < requested else max(1, requested // 2)
        self._accepted = 0

    def resume(self, blocks: int, ceiling: int | None) -> None:
        """Go on from a size that was learnt earlier."""
        self.ceiling, self._is_first = ceiling, False
        self._ask_for(blocks)

    def _ask_for(self, blocks: int) -> None:
        """Set the size of the next range, within the limits that are known."""
        self.blocks = min(blocks, self.ceiling or self._most, self._most)
