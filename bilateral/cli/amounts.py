"""Amounts of the chain's own currency, as people write them, and the cost of transactions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Any, Final

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.core.values.currency import ether, symbol_of

GWEI: Final = 10**9  # wei

_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_LONGEST: Final = 60  # characters: more than the supply of any currency has
_EXACT: Final = Context(prec=90)  # as many digits times 10^18 are exact


def wei_of(amount: str, unit: int, option: str) -> int:
    """Return an amount in wei, exactly.

    Args:
        amount: The amount as a plain decimal number, such as `0.05`.
        unit: The wei of one unit: `GWEI` or `ETHER`.
        option: The option that has the amount, for the message.

    Raises:
        InvalidArgumentError: The text is not a number from 0 on with at most 9 (gwei) or 18 decimals (ether).
    """
    if _AMOUNT.fullmatch(amount) and len(amount) <= _LONGEST:
        wei = _EXACT.multiply(Decimal(amount), Decimal(unit))
        if wei == wei.to_integral_value():
            return int(wei)
    decimals = len(str(unit)) - 1
    raise InvalidArgumentError(f"{option} is a number from 0 with at most {decimals} decimals, not {quoted(amount)}")


def cost_of(transaction: Mapping[str, Any], gas: int) -> str:
    """Write the highest cost of a transaction: its gas limit at its highest fee, and its value.

    Args:
        transaction: The transaction, as web3.py writes one.
        gas: The node's estimate of its gas.
    """
    from bilateral.client.operations.fees import most  # noqa: PLC0415  # slow to import

    return f"{ether(most(transaction))} {symbol_of(int(transaction['chainId']))} ({gas} gas estimated)"
