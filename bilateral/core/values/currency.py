"""Amounts in dollars and in a chain's own currency, formatted for human readers."""

from decimal import Context, Decimal
from typing import Final

ETHER: Final = 10**18  # wei

_CENT: Final = Decimal("0.01")
_WEI: Final = Decimal(ETHER)
_DIGITS: Final = Context(prec=6)  # significant digits, as `ether` promises
_EXACT: Final = Context(prec=90)  # a uint256 has 78 digits

_SYMBOLS: Final = {56: "BNB", 97: "BNB", 100: "xDAI", 137: "POL", 80002: "POL", 43113: "AVAX", 43114: "AVAX"}
"""The currency symbols of chains whose currency is not ether, by EIP-155 id."""


def ether(wei: int) -> str:
    """Convert an amount in wei to the currency's main unit, and format it with at most six significant digits."""
    text = format(_DIGITS.plus(_EXACT.divide(Decimal(wei), _WEI)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def dollars(value: Decimal | float) -> str:
    """Format an amount in dollars: with cents or, below one cent, with up to six decimals."""
    return f"{value:,.2f}" if value >= _CENT or not value else f"{value:.6f}".rstrip("0").rstrip(".")


def symbol_of(chain_id: int) -> str:
    """Return the symbol of a chain's currency; ETH for unknown chains."""
    return _SYMBOLS.get(chain_id, "ETH")
