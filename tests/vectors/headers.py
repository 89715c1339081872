"""Writes `headers.json`: headers that readers could read differently, and what they say; null if nobody may read them.

Each name says why. Numbers are compared by their value.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

OBJECTS: dict[str, tuple[bytes, Any]] = {
    "an empty object": (b"{}", {}),
    "white space around": (b" \t\r\n{} ", {}),
    "each type": (b'{"a":[null,true,false,-1,"x",{}]}', {"a": [None, True, False, -1, "x", {}]}),
    "an escape of each kind": (
        rb'{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}',
        {"a": '"\\/\b\f\n\r\t\u00e9\U0001f600'},
    ),
    "a name of objects in JavaScript": (
        b'{"__proto__":{"b":1},"constructor":2}',
        {"__proto__": {"b": 1}, "constructor": 2},
    ),
    "line separators in a text": ('{"a":"\u0085\u2028\u2029"}'.encode(), {"a": "\u0085\u2028\u2029"}),
    "DEL in a text": (b'{"a":"\x7f"}', {"a": "\x7f"}),
    "minus zero": (b'{"a":-0}', {"a": 0}),
    "a number with a point": (b'{"a":1.5}', {"a": 1.5}),
    "a number with an exponent": (b'{"a":1E+2}', {"a": 100}),
    "a number too small for a float": (b'{"a":1e-400}', {"a": 0}),
    "the greatest exact number": (b'{"a":9007199254740991}', {"a": 9007199254740991}),
    "64 levels": (b'{"a":' + b"[" * 63 + b"]" * 63 + b"}", None),  # its value is too deep to compare: see `DEEP`
    "65 levels": (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", None),
    "10,000 levels": (b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}", None),
    "brackets in a text": (b'{"a":"' + b"[" * 100 + b'"}', {"a": "[" * 100}),
    "a name twice": (b'{"x402Version":2,"x402Version":2}', None),
    "a name twice, once escaped": (rb'{"ab":2,"\u0061b":2}', None),
    "a name twice inside": (b'{"a":{"b":1,"b":1}}', None),
    "a name of objects twice": (b'{"__proto__":1,"__proto__":1}', None),
    "NaN": (b'{"a":NaN}', None),
    "Infinity": (b'{"a":Infinity}', None),
    "minus Infinity": (b'{"a":-Infinity}', None),
    "a number too large for a float": (b'{"a":1e400}', None),
    "a whole number that is too long": (b'{"a":' + b"9" * 4301 + b"}", None),
    "a number with a zero before": (b'{"a":01}', None),
    "a number without digits after its point": (b'{"a":1.}', None),
    "a number without digits before its point": (b'{"a":.5}', None),
    "a number with a plus": (b'{"a":+1}', None),
    "a minus alone": (b'{"a":-}', None),
    "a number with an underscore": (b'{"a":1_000}', None),
    "a hexadecimal number": (b'{"a":0x1}', None),
    "half a surrogate pair": (rb'{"a":"\ud800"}', None),
    "half a surrogate pair, the second": (rb'{"a":"\udc00"}', None),
    "half a surrogate pair before a letter": (rb'{"a":"\ud800\u0041"}', None),
    "half a surrogate pair in a name": (rb'{"\ud800":1}', None),
    "half a surrogate pair in UTF-8": (b'{"a":"\xed\xa0\x80"}', None),
    "an overlong form in UTF-8": (b'{"a":"\xc0\xaf"}', None),
    "UTF-8 cut off": (b'{"a":"\xe2\x82', None),
    "UTF-16": (b"\xff\xfe{\x00}\x00", None),
    "a byte order mark": (b"\xef\xbb\xbf{}", None),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf{}", None),
    "a control character in a text": (b'{"a":"\x1f"}', None),
    "a line break in a text": (b'{"a":"\n"}', None),
    "an unknown escape": (rb'{"a":"\x41"}', None),
    "an escape with a sign": (rb'{"a":"\u+041"}', None),
    "an escape that is cut off": (rb'{"a":"\u00"}', None),
    "a comma too many": (b'{"a":1,}', None),
    "a comma too few": (b'{"a":1"b":2}', None),
    "a comma first": (b'{,"a":1}', None),
    "a colon too few": (b'{"a"1}', None),
    "a comment": (b'{"a":1}//', None),
    "single quotes": (b"{'a':1}", None),
    "a name without quotes": (b"{a:1}", None),
    "a list with a hole": (b'{"a":[1,,2]}', None),
    "a vertical tab before": (b"\x0b{}", None),
    "a no-break space inside": (b'{"a":\xc2\xa01}', None),
    "something after the object": (b"{}x", None),
    "two objects": (b"{}{}", None),
    "NUL after the object": (b"{}\x00", None),
    "an object without its end": (b'{"a":1', None),
    "a word that is cut off": (b'{"a":tru}', None),
    "a list": (b"[]", None),
    "a text": (b'"a"', None),
    "null": (b"null", None),
    "nothing": (b"", None),
    "no JSON": (b"payment", None),
}
"""Contents of headers, each with its value."""

DEEP = "64 levels"
"""The object that is read although its value is not listed."""

TEXTS: dict[str, tuple[str, Any]] = {
    "base 64 with one bit too many": ("e31=", None),
    "base 64 with four bits too many": ("eyJhIjoxfR==", None),
    "base 64 without padding": ("e30", None),
    "base 64 with padding too much": ("e30==", None),
    "base 64 with padding that it needs not": ("eyJhIjoxMjN9=", None),
    "base 64 with padding twice": ("e30=e30=", None),
    "base 64 of web addresses": ("eyJhIjoiPz8_In0=", None),
    "a space before base 64": (" e30=", None),
    "a space after base 64": ("e30= ", None),
    "a space in base 64": ("e3 0=", None),
    "a line break after base 64": ("e30=\n", None),
    "a letter that is not in base 64": ("e30\u00e9", None),
    "padding alone": ("====", None),
    "two headers in one": ("e30=, e30=", None),
    "no base 64": ("?", None),
    "an empty header": ("", None),
}
"""Headers as they travel, each with its value."""


def vectors() -> list[dict[str, Any]]:
    """Return the content of the file."""
    contents = {name: (b64encode(content).decode(), value) for name, (content, value) in OBJECTS.items()}
    room = 64 * 1024 // 4 * 3  # bytes in a header of the greatest length
    for size, value in ((room, {"a": "A" * (room - 8)}), (room + 3, None)):
        content = b'{"a":"' + b"A" * (size - 8) + b'"}'
        contents[f"{len(b64encode(content)):,} characters"] = (b64encode(content).decode(), value)
    return [
        {"name": name, "header": header, "isReadable": value is not None or name == DEEP, "value": value}
        for name, (header, value) in {**contents, **TEXTS}.items()
    ]
