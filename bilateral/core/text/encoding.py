"""JSON documents, decoded strictly and encoded canonically.

Decoding is strict, because attackers can exploit files that two readers interpret differently. Encoding is canonical,
so that the hashed bytes are identical to the stored bytes.
"""

import json
import math
import re
from typing import Any, Final, NoReturn

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text import quoted

MAX_DEPTH: Final = 64  # far below the recursion limit of Python, 1,000, see `is_shallow`

_BRACKET_OR_STRING = re.compile(r'[\[{\]}]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # linear in the length of any text
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def decode_object(content: bytes) -> dict[str, Any]:
    """Decode the JSON object that a document consists of."""
    if not isinstance(content, (bytes, bytearray)):
        raise MalformedDocumentError(f"a document must be bytes, not {type(content).__name__}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedDocumentError(f"the document is not UTF-8: {error.reason} at byte {error.start}") from None
    if not is_shallow(text):
        raise MalformedDocumentError(f"the document is nested deeper than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            text, object_pairs_hook=_unique_names, parse_constant=_not_a_number, parse_float=_finite_number
        )
    except json.JSONDecodeError as error:
        raise MalformedDocumentError(f"the document is not JSON: {error}") from None
    except MalformedDocumentError:
        raise
    except ValueError:  # an integer of more than 4300 digits, the interpreter's limit
        raise MalformedDocumentError("the document contains a number that is too long") from None
    if not isinstance(value, dict):
        raise MalformedDocumentError(f"the document is a JSON {type(value).__name__}, not an object")
    if "\\u" in text:
        encode_object(value)  # rejects lone surrogates, which escapes can contain but UTF-8 cannot
    return value


def encode_object(value: dict[str, Any]) -> bytes:
    """Encode a JSON object as `JSON.stringify` does: no spaces or needless escapes, and names in original order."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        raise MalformedDocumentError("a string in the document contains a lone surrogate") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedDocumentError(f"the document cannot be written as JSON: {error}") from None


def is_shallow(text: str) -> bool:
    """Return whether a JSON text is nested at most 64 levels deep.

    The JSON parser is recursive. If a library has raised Python's recursion limit, a long series of opening brackets
    would crash the program.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return True
    depth = 0
    for token in _BRACKET_OR_STRING.finditer(text):
        depth += _STEPS.get(token[0], 0)
        if depth > MAX_DEPTH:
            return False
    return True


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names: set[str] = set()
        name = next(name for name, _ in pairs if name in names or names.add(name))  # type: ignore[func-returns-value]
        raise MalformedDocumentError(f"the name {quoted(name)} occurs twice in one object")
    return value


def _finite_number(text: str) -> float:
    """Parse a number with a decimal point or exponent. Reject numbers too large for a float, such as 1e400."""
    number = float(text)
    if not math.isfinite(number):
        raise MalformedDocumentError(f"the number {quoted(text)} is too large")
    return number


def _not_a_number(text: str) -> NoReturn:
    """Reject NaN and the infinities, which Python accepts although they are not valid JSON."""
    raise MalformedDocumentError(f"{text} is not JSON")
