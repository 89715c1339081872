"""Exact conversion of human-readable values to and from the registry's `(int128 value, uint8 valueDecimals)`.

ERC-8004 stores a fixed-point number: 99.77 is `(9977, 2)`. The registry also stores the number of decimals, which
affects averages. This module therefore preserves decimals as written: `99.70` and `99.7` are stored differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias

from bilateral.core.errors import UnrepresentableValueError
from bilateral.core.text import quoted
from bilateral.core.values.arguments import checked, is_whole

MAX_DECIMALS: Final = 18  # ERC-8004: `valueDecimals` is 0 to 18
MAX_VALUE: Final = 10**38  # the registry takes values from -1e38 to 1e38
_MAX_EXPONENT: Final = 38  # of the greatest value
_MAX_DIGITS: Final = _MAX_EXPONENT + 1 + MAX_DECIMALS

HumanValue: TypeAlias = Decimal | int | str | bool

_PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_POINTS_A_STAR: Final = 20  # five stars are 100 points


@dataclass(frozen=True)
class FeedbackValue:
    """A value as the reputation registry stores it.

    Attributes:
        value: The integer, from -1e38 to 1e38.
        decimals: The number of decimals, 0 to 18.

    Raises:
        UnrepresentableValueError: `value` or `decimals` is out of range.
    """

    value: int
    decimals: int = 0

    def __post_init__(self) -> None:
        if not (is_whole(self.value) and is_whole(self.decimals)):
            raise UnrepresentableValueError(
                "a stored value consists of two integers, value and decimals: use FeedbackValue.of for decimal numbers"
            )
        if not 0 <= self.decimals <= MAX_DECIMALS:
            raise UnrepresentableValueError(f"decimals {self.decimals} is out of range 0..{MAX_DECIMALS}")
        if abs(self.value) > MAX_VALUE:
            raise UnrepresentableValueError("the value's digits exceed the registry's limit of ±1e38")

    @classmethod
    def of(cls, human: HumanValue, decimals: int | None = None) -> FeedbackValue:
        """Convert a human-readable value to the registry's form.

        Args:
            human: A `Decimal`, an `int`, a plain decimal number as text (`"-3.2"`), or a `bool` for a binary tag. A
                `float` is rejected, because it rarely represents a decimal number exactly.
            decimals: The number of decimals to store; by default, as many as the value is written with.

        Returns:
            The exact value: `of("99.77")` is `(9977, 2)`, `of("99.770")` is `(99770, 3)`, `of(True)` is `(1, 0)`.

        Raises:
            UnrepresentableValueError: The value is not a finite number, has more than 18 decimals, exceeds 1e38, or
                cannot be stored exactly with the requested decimals.
        """
        number = _number(human)
        sign, digits, exponent = number.as_tuple()
        if not isinstance(exponent, int):
            raise UnrepresentableValueError(f"{number} is not a finite number")
        # Check both limits before formatting the number: a short text such as 1e999999999 has a billion digits.
        if number and number.adjusted() > _MAX_EXPONENT:
            raise UnrepresentableValueError(f"{quoted(str(human))} exceeds the registry's limit of 1e38")
        if len(digits) > _MAX_DIGITS:
            raise UnrepresentableValueError(f"{quoted(str(human))} has more digits than the registry can store")
        places = max(0, -exponent) if decimals is None else decimals
        if not is_whole(places):
            raise UnrepresentableValueError(f"decimals must be a whole number, not {type(places).__name__}")
        if not 0 <= places <= MAX_DECIMALS:
            raise UnrepresentableValueError(
                f"{quoted(str(human))} has {places} decimals: the registry supports 0 to {MAX_DECIMALS}"
            )
        integer = int("".join(map(str, digits)))
        shift = exponent + places if integer else 0
        if -shift >= len(digits) or integer % 10 ** max(0, -shift):
            raise UnrepresentableValueError(
                f"{quoted(str(human))} cannot be represented exactly with {places} decimals"
            )
        value = integer * 10**shift if shift >= 0 else integer // 10**-shift
        return cls(-value if sign else value, places)

    @property
    def human(self) -> Decimal:
        """The value as a number, with all its decimals: `(9970, 2)` is `Decimal("99.70")`."""
        return Decimal(f"{self.value}e-{self.decimals}")  # exact for any precision of the context, unlike arithmetic

    def __str__(self) -> str:
        return format(self.human, "f")


@dataclass(frozen=True)
class StandardTag:
    """A `tag1` defined by ERC-8004's best practices.

    Attributes:
        name: The tag.
        measures: What the tag measures.
        unit: The unit of the tag's values; empty for a binary tag.
        lowest: The lowest meaningful value; None if there is no limit.
        highest: The highest meaningful value; None if there is no limit.
        binary: True if the only values are true and false.
        qualifiers: The meaningful values of `tag2`; empty if any text is allowed.
    """

    name: str
    measures: str
    unit: str = ""
    lowest: int | None = 0
    highest: int | None = None
    binary: bool = False
    qualifiers: tuple[str, ...] = ()


STANDARD_TAGS: Final[Mapping[str, StandardTag]] = MappingProxyType(
    {
        tag.name: tag
        for tag in (
            StandardTag("starred", "quality rating", "of 100", highest=100),
            StandardTag("reachable", "whether the endpoint is reachable", highest=1, binary=True),
            StandardTag("ownerVerified", "whether the endpoint is owned by the agent", highest=1, binary=True),
            StandardTag("uptime", "endpoint uptime", "%", highest=100),
            StandardTag("successRate", "request success rate", "%", highest=100),
            StandardTag("responseTime", "latency", "ms"),
            StandardTag("blocktimeFreshness", "average block delay", "blocks"),
            StandardTag("revenues", "cumulative revenues", "$"),
            StandardTag("tradingYield", "yield", "%", lowest=None, qualifiers=("day", "week", "month", "year")),
        )
    }
)


MEASURED_TAGS: Final = (
    *("reachable", "ownerVerified", "uptime", "successRate", "responseTime", "blocktimeFreshness", "revenues"),
)
"""The tags whose values a watchtower measures, spelled as in the best practices. Such values are not opinions about
quality, and anyone can run ten watchtowers, so the trust analysis uses only values from raters who paid the agent.
"""

PAID_TAGS: Final = ("x402-resource-delivered", "x402-resource-missing", "x402-response-delayed", "x402-payment-amount")
"""The tags for feedback on paid responses, as defined by the x402 extension `8004-reputation`."""

_LOOK_ALIKES = str.maketrans({"1": "l", "i": "l", "|": "l", "0": "o", "5": "s", "$": "s"})


def resembled_tag(tag: str) -> str | None:
    """Return the standard tag for which another tag could be mistaken.

    The comparison ignores case, blanks, punctuation, accents and invisible characters. It treats l, I, 1 and | as the
    same, and likewise 0 and O, 5 and S, rn and m, and vv and w.

    Args:
        tag: Any tag.

    Returns:
        The standard tag; None if `tag` is itself a standard tag, or resembles none.
    """
    return None if tag in STANDARD_TAGS else _STANDARD_SKELETONS.get(_skeleton(tag))


def _skeleton(tag: str) -> str:
    """Return the normalised form of a tag, which is the same for all tags that look alike."""
    letters = unicodedata.normalize("NFKD", tag[:_LONGEST_LOOK_ALIKE]).casefold().translate(_LOOK_ALIKES)
    return "".join(filter(str.isalnum, letters)).replace("rn", "m").replace("vv", "w")


_LONGEST_LOOK_ALIKE: Final = 200
"""The maximum number of characters to compare per tag, because anyone may store tags of any length."""

_STANDARD_SKELETONS: Final[Mapping[str, str]] = {_skeleton(name): name for name in STANDARD_TAGS}


@checked
def value_for_tag(tag1: str, human: HumanValue, tag2: str = "") -> FeedbackValue:
    """Convert a human-readable value to the registry's form, after checking it against its tag.

    Args:
        tag1: The tag, which states what is measured. Tags not defined by the best practices accept any value.
        human: The value, in a form accepted by `FeedbackValue.of`. A binary tag accepts a `bool`, 0 or 1; no other
            standard tag accepts a `bool`.
        tag2: The qualifier, which must be a period such as `week` if `tag1` is `tradingYield`.

    Returns:
        The value for `giveFeedback`.

    Raises:
        InvalidArgumentError: A tag is not a string.
        UnrepresentableValueError: `FeedbackValue.of` rejects the value, or the value or qualifier is not meaningful for
            this tag.
    """
    value = FeedbackValue.of(human)
    tag = STANDARD_TAGS.get(tag1)
    if tag is None:
        return value
    if tag.binary and value.human not in (0, 1):
        raise UnrepresentableValueError(f"{tag1} must be true or false (1 or 0), not {value}")
    if isinstance(human, bool) and not tag.binary:
        raise UnrepresentableValueError(f"{tag1} requires a number ({tag.measures}, {tag.unit}), not {human}")
    if tag.lowest is not None and value.human < tag.lowest:
        raise UnrepresentableValueError(f"{tag1} must be at least {tag.lowest}, not {value}")
    if tag.highest is not None and value.human > tag.highest:
        raise UnrepresentableValueError(f"{tag1} must be at most {tag.highest}, not {value}")
    if tag.qualifiers and tag2 and tag2 not in tag.qualifiers:
        raise UnrepresentableValueError(f"the tag2 of {tag1} must be {' or '.join(tag.qualifiers)}, not {quoted(tag2)}")
    return value


def human_for_tag(tag1: str, value: FeedbackValue) -> Decimal | bool:
    """Interpret a stored value according to its tag.

    Args:
        tag1: What is measured.
        value: The stored value.

    Returns:
        A `bool` if the tag is binary and the value is 0 or 1; otherwise a number, because anyone may store any value.
    """
    tag = STANDARD_TAGS.get(tag1)
    if tag is not None and tag.binary and value.human in (0, 1):
        return value.human == 1
    return value.human


def stars_to_value(stars: HumanValue) -> FeedbackValue:
    """Convert a star rating to 0-100, as catalogues do: 1 star becomes 20, 5 stars become 100.

    Args:
        stars: The rating, 1 to 5. Fractions of a star, as in `"4.5"`, are converted proportionally.

    Returns:
        The value for the tag `starred`, with as few decimals as it needs.

    Raises:
        UnrepresentableValueError: The rating is below 1 star or above 5, or needs more than 18 decimals.
    """
    number = FeedbackValue.of(stars)
    if isinstance(stars, bool) or not 1 <= number.human <= 5:  # noqa: PLR2004  # the scale itself
        raise UnrepresentableValueError(f"a rating must have 1 to 5 stars, not {stars}")
    points, decimals = number.value * _POINTS_A_STAR, number.decimals
    while decimals and points % 10 == 0:
        points, decimals = points // 10, decimals - 1
    return FeedbackValue(points, decimals)


@checked
def value_to_stars(value: FeedbackValue) -> Decimal:
    """Convert a `starred` value back to stars.

    Args:
        value: 0 to 100.

    Returns:
        The exact number of stars: 87 becomes `Decimal("4.35")`. Values below 20 are less than one star.

    Raises:
        UnrepresentableValueError: The value is not between 0 and 100.
    """
    if not 0 <= value.human <= 100:  # noqa: PLR2004  # the scale itself
        raise UnrepresentableValueError(f"value {value} is out of range 0..100 for a number of stars")
    fifths = Decimal(f"{value.value * 5}e-{value.decimals + 2}")  # a twentieth is five hundredths
    return Decimal(format(fifths, "f").rstrip("0").rstrip(".")) if fifths else Decimal(0)


def _number(human: HumanValue) -> Decimal:
    if isinstance(human, Decimal):
        return human
    if isinstance(human, int):
        if abs(human) > MAX_VALUE:
            raise UnrepresentableValueError("the integer exceeds the registry's limit of ±1e38")
        return Decimal(int(human))
    if not isinstance(human, str):
        raise UnrepresentableValueError(
            f"a {type(human).__name__} is not exact: pass a Decimal, an int, or the number as a string"
        )
    if not _PLAIN_NUMBER.fullmatch(human):
        raise UnrepresentableValueError(f"{quoted(human)} is not a plain decimal number")
    return Decimal(human)
