"""ABI encodings of calls, answers and reverts, for models that know no contract."""

from __future__ import annotations

from functools import lru_cache

from eth_abi import encode
from eth_utils import keccak

remembered = lru_cache(maxsize=50_000)
"""Models ask for the same encodings again and again."""


@remembered
def encoded(signature, *arguments):
    """Return the ABI encoding of a call or an error: a selector and arguments."""
    return selector(signature) + encode(types_of(signature), arguments)


@remembered
def answer(kinds, *values):
    """Return the ABI encoding of a view's answer. Commas separate the types."""
    return encode(split_types(kinds), values)


@remembered
def selector(signature):
    return keccak(text=signature)[:4]


@remembered
def types_of(signature):
    """Return the argument types of a call or an error."""
    return split_types(signature[signature.index("(") + 1 : -1])


def split_types(types):
    """Split `"string,(string,bytes)[]"` into `["string", "(string,bytes)[]"]`."""
    parts, depth = [""], 0
    for letter in types:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]


class Refused(Exception):  # noqa: N818 - an expected result
    """A revert of a registry.

    Attributes:
        data: The revert data.
        rule: The broken rule: the error's name or text, and the circumstances if one error has several.
    """

    def __init__(self, signature, *arguments, circumstances=None):
        super().__init__(signature, *arguments)
        self.data = encoded(signature, *arguments)
        self.rule = arguments[0] if signature == "Error(string)" else signature.partition("(")[0]
        if circumstances:
            self.rule += f": {circumstances}"


def require(condition, signature, *arguments, circumstances=None):
    """Revert unless a condition holds. A signature without parentheses is the text of an `Error(string)`."""
    if condition:
        return
    if "(" not in signature:
        signature, arguments = "Error(string)", (signature,)
    raise Refused(signature, *arguments, circumstances=circumstances)
