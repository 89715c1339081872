"""The number of blocks to ask for: a node's refusal says, or must be guessed from, how many it gives at once.

Each endpoint has limits of its own, and words of its own for them. The class of a refusal comes first, its number
second, and a number is a ceiling to try, never a truth: `docs/index.md` lists the words that are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bilateral.errors import NodeError, NodeTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Reaction(StrEnum):
    """The answer to a refusal."""

    SPLIT = "split"
    """Ask for fewer blocks: as many as the refusal names, or half."""

    WAIT = "wait"
    """Ask again later."""

    HEAD = "head"
    """The chain is shorter than assumed: ask for its head again."""

    STOP = "stop"
    """Use another endpoint: asking differently does not help."""


@dataclass(frozen=True)
class Verdict:
    """The answer to one refusal.

    Attributes:
        reaction: The answer.
        blocks: The number of blocks to ask for next, where it is `SPLIT` and the refusal names a number.
        repeats: The number of refusals in a row that get this answer; None for any number of them.
        otherwise: The answer to further ones.
    """

    reaction: Reaction
    blocks: int | None = None
    repeats: int | None = None
    otherwise: Reaction = Reaction.STOP


_HINT: Final = re.compile(r"\[(0x[0-9a-f]+), ?(0x[0-9a-f]+)\]|range (\d+)-(\d+)", re.IGNORECASE)
_STOP: Final = re.compile(
    r"specify an address|archive requests require|filters\. the current limit|error code: 1010|"
    r"method not found|unauthorized|forbidden|invalid api key|must be authenticated|http status 40[123]",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(
    r"block ?out ?of ?range|block height is \d+ but requested|beyond (the )?(current )?head", re.IGNORECASE
)
_WAIT: Final = re.compile(
    r"requests per second|rate limit|too many requests|"
    r"request timeout on the free plan|http status (429|503|408)|capacity|throttl",
    re.IGNORECASE,
)
_OVERLOADED: Final = re.compile(r"no backend is currently healthy", re.IGNORECASE)
_SIZE: Final = re.compile(
    r"more than [\d,]+ (results|logs)|exceeds? max results|logs matched|response size|"
    r"response (is )?too (big|large)|allowed number of logs|query timeout|on free(tier| plan)",
    re.IGNORECASE,
)
_NUMBERS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"up to an? ([\d,]+)(k?) block range",
        r"limited to an? ([\d,]+)(k?) (?:block )?range",
        r"limited to 0 - ([\d,]+)(k?) blocks? range",
        r"exceeds (?:the )?limit of ([\d,]+)(k?)",
        r"exceed(?:s|ed)? (?:the )?max(?:imum)? block range:? ([\d,]+)(k?)",
        r"maximum is set to ([\d,]+)(k?)",
        r"max(?:imum)? (?:block )?range:? ([\d,]+)(k?)",
        r"block range greater than ([\d,]+)(k?)",
        r"\(max(?:imum)? block range:? ([\d,]+)(k?)",
        r"blocks distance: ([\d,]+)(k?)",
        r"the limit is ([\d,]+)(k?)",
        r"smaller than size ([\d,]+)(k?)",
        r"too wide \(maximum ([\d,]+)(k?)\)",
        r"maxallowedrange\D+([\d,]+)(k?)",
    )
)
_TOO_WIDE: Final = re.compile(
    r"range (is )?(too|bigger|larger|exceed)|too (wide|many|large)|too big|maxblockrange", re.IGNORECASE
)
_AMBIGUOUS: Final = re.compile(r"limit exceeded", re.IGNORECASE)
"""Some nodes mean the range by these words, and others the rate."""

_THOUSAND: Final = 1000
_TIMEOUTS: Final = 3
_OVERLOADS: Final = 2
_AMBIGUOUS_SPLITS: Final = 3
_UNKNOWN_SPLITS: Final = 2


_BEFORE_HINTS: Final = ((_STOP, Verdict(Reaction.STOP)), (_HEAD, Verdict(Reaction.HEAD)))
_BEFORE_NUMBERS: Final = (
    (_OVERLOADED, Verdict(Reaction.WAIT, repeats=_OVERLOADS, otherwise=Reaction.SPLIT)),
    (_WAIT, Verdict(Reaction.WAIT)),
    (_SIZE, Verdict(Reaction.SPLIT)),
)
_AFTER_NUMBERS: Final = (
    (_TOO_WIDE, Verdict(Reaction.SPLIT)),
    (_AMBIGUOUS, Verdict(Reaction.SPLIT, repeats=_AMBIGUOUS_SPLITS, otherwise=Reaction.WAIT)),
    (re.compile(""), Verdict(Reaction.SPLIT, repeats=_UNKNOWN_SPLITS)),
)


def judge(error: NodeError | NodeTimeoutError, first: int, last: int) -> Verdict:
    """Decide how to answer a refused range of blocks.

    Args:
        error: The refusal.
        first: The first block that was asked for.
        last: The last block that was asked for.

    Returns:
        The verdict. A number of blocks is always smaller than the range that was refused.
    """
    if isinstance(error, NodeTimeoutError):
        return Verdict(Reaction.SPLIT, repeats=_TIMEOUTS)
    text = error.node_message
    verdicts = (
        _by_class(_BEFORE_HINTS, text),
        _by_hint(text, first, last),
        _by_class(_BEFORE_NUMBERS, text),
        _by_number(text, last - first + 1),
        _by_class(_AFTER_NUMBERS, text),
    )
    return next(verdict for verdict in verdicts if verdict is not None)


def _by_class(classes: Iterable[tuple[re.Pattern[str], Verdict]], text: str) -> Verdict | None:
    """Return the verdict of the first class with the words of a refusal."""
    return next((verdict for pattern, verdict in classes if pattern.search(text)), None)


def _by_hint(text: str, first: int, last: int) -> Verdict | None:
    """Return the verdict of a refusal that names a range. One that repeats the range asked is of no use."""
    hint = _HINT.search(text)
    if hint is None:
        return None
    start, end = (int(it, 16 if it[:2] in ("0x", "0X") else 10) for it in hint.groups() if it)
    is_useful = first <= start <= end <= last and end - start < last - first
    return Verdict(Reaction.SPLIT, end - start + 1 if is_useful else None)


def _by_number(text: str, asked: int) -> Verdict | None:
    """Return the verdict of a refusal that names a number of blocks."""
    found = next(filter(None, (pattern.search(text) for pattern in _NUMBERS)), None)
    if found is None:
        return None
    number = int(found[1].replace(",", "")) * (_THOUSAND if found[2] else 1)
    return Verdict(Reaction.SPLIT, number if 0 < number < asked else None)


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

    _GROW_AFTER: Final = 8
    _EXACT_ENOUGH: Final = 8

    def __init__(self, most: int, ceiling: int | None = None, first: int | None = None) -> None:
        """See the class."""
        self._most = most
        self._is_first = first is not None
        self.ceiling = ceiling
        self.blocks = min(most, ceiling or most, first or most)
        self.was_refused = False
        self._accepted = 0
        self._refused: int | None = None
        self._answers = 0

    def accepted(self, asked: int, logs: int) -> None:
        """Take note of an answer.

        Args:
            asked: The number of blocks it is about.
            logs: The number of logs it holds. An answer with very many costs memory, so the next range is shorter.
        """
        if logs > _MANY_LOGS:
            self.blocks = max(1, min(self.blocks, asked * _MANY_LOGS // logs))
            self._answers = 0
            return
        if asked < self.blocks:  # the end of the chain came first: nothing was learnt
            return
        if self._is_first:
            self._is_first = False
            self._ask_for(max(asked, asked * _GOOD_LOGS // max(logs, 1)))
            return
        self._accepted = asked
        self._answers += 1
        if 2 * logs >= _MANY_LOGS:
            return
        if self._refused is not None and self._refused - asked > max(1, asked // self._EXACT_ENOUGH):
            self._ask_for((asked + self._refused) // 2)
        elif self._answers >= self._GROW_AFTER:
            self._answers, self._refused = 0, None
            self._ask_for(asked + max(1, asked // 4))

    def refused(self, asked: int, named: int | None) -> None:
        """Take note of a refusal.

        Args:
            asked: The number of blocks that were asked for; more than 1.
            named: The number of blocks that the refusal names; None if it names no number.
        """
        self._answers, self._is_first, self.was_refused = 0, False, True
        if named is not None and named < asked:
            self.ceiling = self.blocks = max(1, named)
            self._refused = None
            return
        self._refused = asked
        self.blocks = self._accepted if asked // 2 < self._accepted < asked else max(1, asked // 2)
        self._accepted = 0

    def resume(self, blocks: int, ceiling: int | None) -> None:
        """Go on from a size that was learnt earlier.

        Args:
            blocks: The number of blocks to ask for next.
            ceiling: The most blocks that the endpoint said it gives; None if it did not say so.
        """
        self.ceiling, self._is_first = ceiling, False
        self._ask_for(blocks)

    def _ask_for(self, blocks: int) -> None:
        """Set the size of the next range, within the limits that are known."""
        self.blocks = min(blocks, self.ceiling or self._most, self._most)
