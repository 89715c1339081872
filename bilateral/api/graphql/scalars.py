"""The scalars of the GraphQL schema. BigInt and BigDecimal are strings in answers, and any number in queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from graphql import GraphQLError, print_ast
from graphql.language import FloatValueNode, IntValueNode, StringValueNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphql import GraphQLScalarType, ValueNode

_WHOLE: Final = re.compile(r"-?[0-9]{1,80}(?:\.0+)?", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,80}(?:\.[0-9]{1,80})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
_BYTES: Final = re.compile(r"(?:0[xX])?(?:[0-9a-fA-F]{2})*", re.ASCII)
_NUMBERS: Final = (IntValueNode, FloatValueNode, StringValueNode)
_SHOWN: Final = 80  # characters of a refused value: an error stays on a line


@dataclass(frozen=True)
class Scalar:
    """A scalar.

    Attributes:
        parse: Returns the value that a text is; None for an invalid text.
        nodes: The literals that it takes.
        description: A value, in words.
    """

    parse: Callable[[str], Any]
    nodes: tuple[type[ValueNode], ...]
    description: str

    def adorn(self, scalar: GraphQLScalarType) -> None:
        """Make a scalar of a schema parse its values so."""
        name = scalar.name

        def parse_value(value: Any) -> Any:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not isinstance(value, str) and not (is_number and IntValueNode in self.nodes):
                raise GraphQLError(f"{name} cannot represent {self._shown(repr(value))}: it takes {self.description}")
            return self._parsed(name, str(value))

        def parse_literal(node: ValueNode, _: Any = None) -> Any:
            if not isinstance(node, self.nodes):
                shown = self._shown(print_ast(node))
                raise GraphQLError(f"{name} cannot represent {shown}: it takes {self.description}", node)
            return self._parsed(name, node.value)  # type: ignore[attr-defined]

        own: Any = scalar
        own.parse_value = own.coerce_input_value = parse_value
        own.parse_literal = own.coerce_input_literal = parse_literal

    def _parsed(self, name: str, text: str) -> Any:
        parsed = self.parse(text)
        if parsed is None:
            raise GraphQLError(f"{name} cannot represent {self._shown(repr(text))}: it takes {self.description}")
        return parsed

    @staticmethod
    def _shown(text: str) -> str:
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _whole(text: str) -> int | None:
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else None


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def _bytes(text: str) -> str | None:
    return text if _BYTES.fullmatch(text) else None


SCALARS: Final = {
    "BigInt": Scalar(_whole, _NUMBERS, "an integer of at most 80 digits, as a number or a text"),
    "BigDecimal": Scalar(_decimal, _NUMBERS, "a decimal number of at most 80 digits, as a number or a text"),
    "Bytes": Scalar(_bytes, (StringValueNode,), "0x and pairs of hexadecimal digits"),
    "Int8": Scalar(_whole, _NUMBERS, "an integer, as a number or a text"),
    "Timestamp": Scalar(_whole, _NUMBERS, "microseconds since 1970, as a number or a text"),
}
"""The scalars beside those of GraphQL itself, by name."""
