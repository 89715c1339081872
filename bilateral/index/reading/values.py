"""Types of values in answers: how Python programs and JSON see them."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field, PlainSerializer

_DIGITS = Annotated[str, Field(pattern=r"^-?\d+$")]
_DECIMALS = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]

Wide = Annotated[int, PlainSerializer(str, return_type=_DIGITS, when_used="json")]
"""An integer of up to 256 bits. In JSON it is text: many programs read larger numbers than 2^53 wrongly."""


def hexadecimal(raw: bytes | None) -> str | None:
    """Return bytes as `0x…`; None for None, and for 32 zeros, by which the registries say "no hash"."""
    return None if raw is None or raw == bytes(32) else f"0x{raw.hex()}"


def exact(value: int, decimals: int) -> Decimal:
    """Return a fixed-point number, with all of its digits."""
    return Decimal((value < 0, tuple(map(int, str(abs(value)))), -decimals))


Exact = Annotated[Decimal, PlainSerializer(lambda number: format(number, "f"), return_type=_DECIMALS, when_used="json")]
"""An exact number. In JSON it is text in plain decimals."""


def short_text(raw: bytes) -> str:
    """Return a text that a registry stores in 32 bytes; its hexadecimal digits if it is not UTF-8."""
    text = raw.rstrip(b"\0")
    try:
        return text.decode() if b"\0" not in text else f"0x{raw.hex()}"
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"
