"""Faults in the bytes of a valid authorisation."""

from __future__ import annotations

from tests.authorized.helpers import CURVE_ORDER, FIELDS_LENGTH

CLIENT, INDEX_LIMIT, CHAIN_ID = 32, 64, 128
"""Offsets of fields."""

S, V = FIELDS_LENGTH + 32, FIELDS_LENGTH + 64
"""Offsets of parts of the signature."""


def field_is_missing(auth):
    return auth[: FIELDS_LENGTH - 1]


def client_is_no_address(auth):
    return _overwritten(auth, CLIENT, b"\1")


def limit_is_out_of_range(auth):
    return _overwritten(auth, INDEX_LIMIT, b"\1")


def chain_is_another(auth):
    return _overwritten(auth, CHAIN_ID, b"\1")


def signature_is_cut(auth):
    return auth[:-1]


def signature_is_the_malleable_twin(auth):
    s, v = int.from_bytes(auth[S:V]), auth[V]
    return auth[:S] + (CURVE_ORDER - s).to_bytes(32) + bytes([27 + 28 - v])


def signature_is_nobodys(auth):
    return _overwritten(auth, V, b"\0")


def _overwritten(auth, start, part):
    return auth[:start] + part + auth[start + len(part) :]


FAULTS = [
    field_is_missing,
    client_is_no_address,
    limit_is_out_of_range,
    chain_is_another,
    signature_is_cut,
    signature_is_the_malleable_twin,
    signature_is_nobodys,
]
