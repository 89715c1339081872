"""Types of values in answers: how Python programs and JSON see them."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainSerializer

Wide = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]
"""An integer of up to 256 bits. In JSON it is text: many programs read larger numbers than 2^53 wrongly."""


def hexadecimal(raw: bytes | None) -> str | None:
    """Return bytes as `0x…`; None for None, and for 32 zeros, by which the registries say "no hash".

    Args:
        raw: The bytes, as a database gives them.
    """
    return None if raw is None or raw == bytes(32) else f"0x{raw.hex()}"
