"""Writes `signatures.json`: signatures that readers could judge differently, and whether they are valid here.

The hostile ones of Ed25519 are made by plain arithmetic on the curve: keys and points of small order, keys with a part
of small order, forms that are not canonical. A reader that multiplies by the cofactor accepts some of them, and a
server could give proofs that buyers believe and aggregators refuse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import coincurve

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
D = -121665 * pow(121666, P - 2, P) % P
DIGEST = hashlib.sha256(b"a digest that was signed").digest()
SECRET = bytes(range(1, 33))

Point = tuple[int, int]
ZERO: Point = (0, 1)


def add(first: Point, second: Point) -> Point:
    """Add two points of the twisted Edwards curve."""
    (x1, y1), (x2, y2) = first, second
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, P - 2, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - product, P - 2, P) % P
    return x, y


def times(number: int, point: Point) -> Point:
    """Multiply a point."""
    result = ZERO
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def with_y(y: int, odd: int = 0) -> Point | None:
    """Return the point with an ordinate and the parity of its abscissa; None if the curve has none."""
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    root = pow(square, (P + 3) // 8, P)
    if root * root % P != square:
        root = root * pow(2, (P - 1) // 4, P) % P
    if root * root % P != square:
        return None
    return (P - root if root % 2 != odd else root) % P, y


def encoded(point: Point, *, beyond: bool = False) -> bytes:
    """Return the 32 bytes of a point; with an ordinate from P on if `beyond`."""
    x, y = point
    return ((y + P if beyond else y) | (x % 2) << 255).to_bytes(32, "little")


BASE = with_y(4 * pow(5, P - 2, P) % P)
assert BASE is not None


def small_order() -> Point:
    """Return a point of order 8."""
    y = 2
    while True:
        point = with_y(y)
        torsion = None if point is None else times(L, point)
        if torsion is not None and times(4, torsion) != ZERO:
            return torsion
        y += 1


TORSION = small_order()


def hashed(*parts: bytes) -> int:
    """Return the challenge of a signature."""
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % L


def signed(secret: int, key: bytes, nonce: int, r: bytes | None = None) -> bytes:
    """Sign by a scalar, for a key and a point that need not fit it."""
    r = encoded(times(nonce, BASE)) if r is None else r
    s = (nonce + hashed(r, key, DIGEST) * secret) % L
    return r + s.to_bytes(32, "little")


def ed25519() -> Iterator[tuple[str, bytes, bytes, bool]]:
    """Yield name, key, signature and whether it is valid."""
    secret, nonce = 987654321987654321, 123456789123456789
    point = times(secret, BASE)
    key = encoded(point)
    good = signed(secret, key, nonce)
    yield "a plain signature", key, good, True
    yield "another digest's nonce", key, signed(secret, key, nonce + 1), True
    yield "s plus the order", key, good[:32] + (int.from_bytes(good[32:], "little") + L).to_bytes(32, "little"), False
    yield "s with a high bit", key, good[:63] + bytes([good[63] | 0x80]), False
    yield "s of zero", key, good[:32] + bytes(32), False
    yield "a flipped bit in R", key, bytes([good[0] ^ 1]) + good[1:], False
    yield "64 zero bytes", key, bytes(64), False
    yield "63 bytes", key, good[:63], False
    yield "65 bytes", key, good + b"\0", False
    for order in (1, 2, 4, 8):
        torsion = times(8 // order, TORSION)
        yield f"a key of order {order}", encoded(torsion), signed(0, encoded(torsion), nonce), False
        mixed = encoded(add(point, torsion))
        # The nonce is chosen so that the challenge is a multiple of the order: equal with and without the cofactor.
        lucky = next(n for n in range(1, 10_000) if hashed(encoded(times(n, BASE)), mixed, DIGEST) % 8 == 0)
        unlucky = next(n for n in range(1, 10_000) if hashed(encoded(times(n, BASE)), mixed, DIGEST) % 8 == 1)
        if order > 1:
            name = f"a key with a part of order {order}"
            yield f"{name}, by whose challenge it vanishes", mixed, signed(secret, mixed, lucky), True
            yield f"{name}, which only the cofactor removes", mixed, signed(secret, mixed, unlucky), False
            shifted = encoded(add(times(nonce, BASE), torsion))
            yield f"R with a part of order {order}", key, signed(secret, key, nonce, shifted), False
        if order == 1:
            continue
        yield f"R of order {order} alone", key, signed(secret, key, 0, encoded(torsion)), False
    yield "R of order 1 alone", key, signed(secret, key, 0, encoded(ZERO)), False
    yield "the identity in a form that is not canonical", encoded(ZERO, beyond=True), bytes([1]) + bytes(63), False
    yield "R of the identity, not canonical", key, signed(secret, key, 0, encoded(ZERO, beyond=True)), False
    yield "a key that is not on the curve", (2).to_bytes(32, "little"), good, False
    yield "a key of all ones", b"\xff" * 32, good, False
    yield "a key of minus zero", (1 | 1 << 255).to_bytes(32, "little"), good, False
    yield "31 bytes of a key", key[:31], good, False
    yield "a key with a zero byte more", key + b"\0", good, False


def secp256k1() -> Iterator[tuple[str, bytes, bytes, bool]]:
    """Yield name, key, signature and whether it is valid."""
    private = coincurve.PrivateKey(SECRET)
    key, compressed = private.public_key.format(compressed=False), private.public_key.format()
    good = private.sign_recoverable(DIGEST, hasher=None)
    r, s, v = good[:32], int.from_bytes(good[32:64], "big"), good[64]
    high = (N - s).to_bytes(32, "big")
    yield "v of 0 or 1", key, good, True
    yield "v of 27 or 28", key, good[:64] + bytes([27 + v]), True
    yield "without v", key, good[:64], True
    yield "a compressed key", compressed, good, True
    yield "a compressed key, without v", compressed, good[:64], True
    yield "the other v", key, good[:64] + bytes([1 - v]), False
    yield "v of 2", key, good[:64] + b"\x02", False
    yield "v of 29", key, good[:64] + b"\x1d", False
    yield "v of 255", key, good[:64] + b"\xff", False
    yield "a high s", key, r + high + bytes([1 - v]), False
    yield "a high s, without v", key, r + high, False
    yield "s of zero", key, r + bytes(32) + bytes([v]), False
    yield "r of zero", key, bytes(32) + good[32:], False
    yield "r of the order", key, N.to_bytes(32, "big") + good[32:], False
    yield "s of the order", key, r + N.to_bytes(32, "big") + bytes([v]), False
    yield "r beyond the field", key, b"\xff" * 32 + good[32:], False
    yield "63 bytes", key, good[:63], False
    yield "66 bytes", key, good + b"\0", False
    yield "nothing", key, b"", False
    yield "a key of 64 bytes", key[1:], good, False
    yield "a key of a hybrid form", bytes([6 + key[64] % 2]) + key[1:], good, False
    yield "another key", coincurve.PrivateKey(bytes(range(2, 34))).public_key.format(compressed=False), good, False
    yield "a key that is not on the curve", b"\x04" + b"\1" * 64, good, False
    yield "a compressed key that is not on the curve", b"\x02" + b"\xff" * 32, good, False
    yield "a compressed key with another sign", bytes([5 - compressed[0]]) + compressed[1:], good, False


def vectors() -> dict[str, Any]:
    """Return the content of the file."""
    return {
        "digest": DIGEST.hex(),
        "signatures": [
            {
                "name": name,
                "algorithm": algorithm,
                "publicKey": key.hex(),
                "signature": signature.hex(),
                "isValid": is_valid,
            }
            for algorithm, made in (("ed25519", ed25519()), ("secp256k1", secp256k1()))
            for name, key, signature, is_valid in made
        ],
    }
