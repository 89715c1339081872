"""Decimal numbers as people write them. Sellers need them without the index, which `records` takes."""

from __future__ import annotations

from decimal import Decimal


def plain(value: Decimal) -> Decimal:
    """Return a number without zeros at its end and without an exponent."""
    short = value.normalize()
    return short.quantize(Decimal(1)) if short == short.to_integral_value() else short
