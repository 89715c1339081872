"""Kinds of evil servers: the bytes that they answer to a request for the price, and to a payment."""

from __future__ import annotations

import base64
import gzip
import json

from tests.x402.world import encoded

STATUSES = (204, 205, 206, 304, 400, 401, 404, 410, 413, 425, 429, 451, 500, 502, 503, 504, 511, 599, 999)
"""The statuses of servers that took the payment, or never will. Redirects have tests of their own."""


def raw(start, *headers, body=b""):
    """Return an answer, byte by byte."""
    lines = [start, *headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def whole(status, *headers, body=b"{}"):
    """Return an answer that is well-formed."""
    return raw(f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", *headers, body=body)


def broken(status, header):
    """Return answers that are not HTTP, or not as the header says."""
    first = f"HTTP/1.1 {status} Status"
    return {
        "nothing": b"",
        "half a status line": b"HTTP/1.",
        "no status line": b"{}\r\n\r\n",
        "a record of TLS": bytes.fromhex("15030300020250"),
        "zeros": bytes(5_000),
        "another protocol": b"HTTP/2.0 402 Status\r\n\r\n",
        "letters as status": raw("HTTP/1.1 4O2 Status", header),
        "a negative status": raw("HTTP/1.1 -402 Status", header),
        "a header without a colon": raw(first, "Content-Length: 2", "no header", header, body=b"{}"),
        "a header with NUL": raw(first, "Content-Length: 2", "X-A: \0", header, body=b"{}"),
        "a header that goes on": raw(first, "Content-Length: 2", header, " and: on", body=b"{}"),
        "a header of 200 kB": raw(first, "Content-Length: 2", "X-A: " + "a" * 200_000, header, body=b"{}"),
        "5,000 headers": raw(first, "Content-Length: 2", *["X-A: a"] * 5_000, header, body=b"{}"),
        "two lengths": raw(first, "Content-Length: 2", "Content-Length: 3", header, body=b"{}"),
        "a negative length": raw(first, "Content-Length: -1", header, body=b"{}"),
        "letters as length": raw(first, "Content-Length: two", header, body=b"{}"),
        "a length of 40 digits": raw(first, "Content-Length: " + "9" * 40, header, body=b"{}"),
        "more than it sends": raw(first, "Content-Length: 900", header, body=b"{}"),
        "chunks and a length": raw(first, "Content-Length: 2", "Transfer-Encoding: chunked", header, body=b"{}"),
        "a chunk without a number": raw(first, "Transfer-Encoding: chunked", header, body=b"xyz\r\n{}\r\n0\r\n\r\n"),
        "a negative chunk": raw(first, "Transfer-Encoding: chunked", header, body=b"-2\r\n{}\r\n0\r\n\r\n"),
        "a chunk that never ends": raw(first, "Transfer-Encoding: chunked", header, body=b"f" * 15 + b"\r\n{}"),
        "chunks without a last one": raw(first, "Transfer-Encoding: chunked", header, body=b"2\r\n{}\r\n"),
        "another transfer coding": raw(first, "Transfer-Encoding: gzip", header, body=b"{}"),
        "no gzip": whole(status, "Content-Encoding: gzip", header),
        "half of gzip": whole(status, "Content-Encoding: gzip", header, body=gzip.compress(bytes(900))[:-9]),
        "an unknown encoding": whole(status, "Content-Encoding: rot13", header),
    }


def unreadable(name):
    """Return headers of a message that cannot be read strictly."""
    nested = b"[" * 20_000 + b"]" * 20_000
    return {
        "no header": "X-Other: a",
        "an empty header": f"{name}: ",
        "no base 64": f"{name}: ????",
        "no JSON": f"{name}: {encoded(b'price')}",
        "no UTF-8": f"{name}: {encoded(bytes(range(128, 256)))}",
        "a list": f"{name}: {encoded(b'[]')}",
        "a number": f"{name}: {encoded(b'402')}",
        "null": f"{name}: {encoded(b'null')}",
        "an empty object": f"{name}: {encoded(b'{}')}",
        "deep JSON": f"{name}: {encoded(nested)}",
        "a number without end": f"{name}: {encoded(b'1' * 9_000)}",
        "a megabyte": f"{name}: {base64.b64encode(bytes(90_000)).decode()}",
    }


def with_field(message, path, value):
    """Return a header's content, of a message with another field."""
    copy = json.loads(json.dumps(message))
    *parents, last = path
    place = copy
    for parent in parents:
        place = place[parent]
    place[last] = value
    return encoded(json.dumps(copy).encode())


THIEF = "0x" + "bad0" * 10
OF_PRICE = {
    ("x402Version",): (None, 3, "2", 2.5, -1),
    ("accepts",): (None, [], {}, "all", [None], [[]]),
    ("extensions",): (None, [], {}, {"8004-reputation": None}, {"8004-reputation": {"info": []}}),
    ("accepts", 0, "scheme"): (None, "", "exactly", 1),
    ("accepts", 0, "network"): (None, "", "eip155:1", "eip155:", "solana:mainnet", 31337),
    ("accepts", 0, "payTo"): (None, "", THIEF, "0x0", "\u202e", 7),
    ("accepts", 0, "amount"): (None, "", "-1", "1.5", "1e3", "NaN", str(2**256), "1" * 5_000),
    ("accepts", 0, "asset"): (None, "", "dollar"),
    ("accepts", 0, "extra"): ([], "Test Dollar"),
}
"""Fields of a price, and values at which nobody may pay."""

OF_SETTLEMENT = {
    ("success",): (None, "true", 1, []),
    ("transaction",): (None, "", "0x", "0x" + "ab" * 32, "\x1b[2J", 7, {}),
    ("network",): (None, "", "eip155:1", 31337),
    ("payer",): (None, THIEF, []),
    ("extensions",): (None, [], {}, {"8004-reputation": []}, {"8004-reputation": {"agentSignature": "0x"}}),
}
"""Fields of a settlement that never happened, and values for them."""


def price_modes(price):
    """Return the answers to a request for the price, by what is wrong with them.

    Args:
        price: The content of an honest server's `PAYMENT-REQUIRED`.
    """
    message, name = json.loads(base64.b64decode(price)), "PAYMENT-REQUIRED"
    modes = {f"price: {kind}": whole(402, header) for kind, header in unreadable(name).items()}
    for path, values in OF_PRICE.items():
        for number, value in enumerate(values):
            mode = f"price: {'.'.join(map(str, path))} {number}"
            modes[mode] = whole(402, f"{name}: {with_field(message, path, value)}")
    return modes


def payment_modes(price):
    """Return the answers to a payment that is not settled, by what is wrong with them.

    Args:
        price: The content of an honest server's `PAYMENT-REQUIRED`.
    """
    name, claim = "PAYMENT-RESPONSE", {"success": True, "transaction": "0x" + "cd" * 32, "network": "eip155:31337"}
    claim |= {"payer": THIEF, "extensions": {}}
    claimed = f"{name}: {encoded(json.dumps(claim).encode())}"
    modes = {f"paid: status {status}": whole(status, body=b"") for status in STATUSES}
    modes |= {"paid: the price again": whole(402, f"PAYMENT-REQUIRED: {price}")}
    modes |= {f"paid: {kind}": answer for kind, answer in broken(200, claimed).items()}
    modes |= {f"paid: settlement is {kind}": whole(200, header) for kind, header in unreadable(name).items()}
    for path, values in OF_SETTLEMENT.items():
        for number, value in enumerate(values):
            modes[f"paid: {path[0]} {number}"] = whole(200, f"{name}: {with_field(claim, path, value)}")
    return modes
