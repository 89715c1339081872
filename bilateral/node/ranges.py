"""Classify nodes' rejections of block ranges, which may state a block limit. Only this module interprets them.

Each node has its own limits, and its own messages for them. The kind of rejection takes precedence over a number in its
message: such a number is only a ceiling to try. `tests/index/test_limits.py` lists the supported messages.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bilateral.core.errors import NodeError, NodeTimeoutError


class Reaction(StrEnum):
    """How to react to a rejection."""

    SPLIT = "split"
    """Request fewer blocks: as many as the rejection states, or else half of the rejected range."""

    WAIT = "wait"
    """Try again later."""

    HEAD = "head"
    """Request the latest block number again, because the chain is shorter than assumed."""

    STOP = "stop"
    """Use a different endpoint, because changing the request does not help."""


@dataclass(frozen=True)
class Verdict:
    """How to react to a particular rejection.

    Attributes:
        reaction: The first reaction.
        blocks: The number of blocks to request next, if the reaction is `SPLIT` and the rejection states a number.
        repeats: The number of consecutive rejections to which this reaction applies; None for any number.
        otherwise: The reaction to subsequent rejections.
        limits_blocks: False if the node limits logs, bytes or time, so that the number of blocks applies only to this
            part of the chain.
    """

    reaction: Reaction
    blocks: int | None = None
    repeats: int | None = None
    otherwise: Reaction = Reaction.STOP
    limits_blocks: bool = True


_HINT: Final = re.compile(r"\[(0x[0-9a-f]+), ?(0x[0-9a-f]+)\]|range (\d+)-(\d+)", re.IGNORECASE)
_STOP: Final = re.compile(
    r"specify an address|archive requests require|filters\. the current limit|error code: 1010|"
    r"method not found|unauthorized|forbidden|api.?key|must be authenticated|http status 40[123]",
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
    r"response (is )?too (big|large)|allowed number of logs|query timeout",
    re.IGNORECASE,
)
_UNTRUE: Final = re.compile(r"on free(tier| plan)", re.IGNORECASE)
"""Wording of messages that state a block limit a hundred times as large as the one that the node enforces."""

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
"""Wording that some nodes use for rejected block ranges and others for rate limits."""

_THOUSAND: Final = 1000  # for limits such as `10k`
_TIMEOUTS: Final = 3  # if an eighth of the range still times out, it is slow for another reason
_OVERLOADS: Final = 2  # then halve the range, because some nodes describe wide ranges as overload
_AMBIGUOUS_SPLITS: Final = 3  # if an eighth of the range is still rejected, the message means the rate
_UNKNOWN_SPLITS: Final = 2  # a quarter of the range shows whether the size was the reason


_BEFORE_HINTS: Final = ((_STOP, Verdict(Reaction.STOP)), (_HEAD, Verdict(Reaction.HEAD)))
_BEFORE_NUMBERS: Final = (
    (_OVERLOADED, Verdict(Reaction.WAIT, repeats=_OVERLOADS, otherwise=Reaction.SPLIT)),
    (_WAIT, Verdict(Reaction.WAIT)),
    (_SIZE, Verdict(Reaction.SPLIT, limits_blocks=False)),
    (_UNTRUE, Verdict(Reaction.SPLIT)),
)
_AFTER_NUMBERS: Final = (
    (_TOO_WIDE, Verdict(Reaction.SPLIT)),
    (_AMBIGUOUS, Verdict(Reaction.SPLIT, repeats=_AMBIGUOUS_SPLITS, otherwise=Reaction.WAIT)),
    (re.compile(""), Verdict(Reaction.SPLIT, repeats=_UNKNOWN_SPLITS)),
)


def judge(error: NodeError | NodeTimeoutError, first: int, last: int) -> Verdict:
    """Decide how to react to a rejected block range."""
    if isinstance(error, NodeTimeoutError):
        return Verdict(Reaction.SPLIT, repeats=_TIMEOUTS, limits_blocks=False)
    text = _words_of(error)
    verdicts = (
        _by_class(_BEFORE_HINTS, text),
        _by_hint(text, first, last),
        _by_class(_BEFORE_NUMBERS, text),
        _by_number(text, last - first + 1),
        _by_class(_AFTER_NUMBERS, text),
    )
    return next(verdict for verdict in verdicts if verdict is not None)


def _words_of(error: NodeError) -> str:
    """Return the full text of an error. Its data comes first, because some nodes state the reason only there."""
    data = error.data if isinstance(error.data, str) else json.dumps(error.data, default=str) if error.data else ""
    return f"{data} {error.node_message}"


def _by_class(classes: Iterable[tuple[re.Pattern[str], Verdict]], text: str) -> Verdict | None:
    return next((verdict for pattern, verdict in classes if pattern.search(text)), None)


def _by_hint(text: str, first: int, last: int) -> Verdict | None:
    """Return the verdict on a rejection that suggests a range; a suggestion of the rejected range itself is ignored."""
    hint = _HINT.search(text)
    if hint is None:
        return None
    start, end = (int(group, 16 if group[:2] in ("0x", "0X") else 10) for group in hint.groups() if group)
    is_useful = first <= start <= end <= last and end - start < last - first
    return Verdict(Reaction.SPLIT, end - start + 1 if is_useful else None, limits_blocks=not _SIZE.search(text))


def _by_number(text: str, requested: int) -> Verdict | None:
    match = next(filter(None, (pattern.search(text) for pattern in _NUMBERS)), None)
    if match is None:
        return None
    number = int(match[1].replace(",", "")) * (_THOUSAND if match[2] else 1)
    return Verdict(Reaction.SPLIT, number if 0 < number < requested else None)
