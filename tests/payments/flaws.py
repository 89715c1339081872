"""What may be wrong with a signed message, each in one way, and the code of its refusal."""

from __future__ import annotations

import copy

from tests.payments import wire

CODES = {
    "two authorizations": "ambiguous_payment",
    "neither authorization": "unsupported_payment",
    "no witness": "missing_witness",
    "no spender": "missing_spender",
    "an unknown spender": "unknown_spender",
    "the other proxy": "unknown_spender",
    "the retired proxy": "unknown_spender",
    "no facilitator": "missing_facilitator",
    "a facilitator where none belongs": "unexpected_facilitator",
    "another payee": "payee_mismatch",
    "another token": "asset_mismatch",
    "another amount": "amount_mismatch",
    "a nonce as a number": "ambiguous_payment",
    "a nonce in hexadecimal digits": "invalid_nonce",
    "a negative nonce": "invalid_nonce",
    "a nonce of more than a word": "invalid_nonce",
    "an escrow": "auth-capture_not_supported",
    "an escrow with a salt": "auth-capture_not_supported",
}


def flawed(payload, flaw, chain):
    """Return a message with one flaw."""
    payload = copy.deepcopy(payload)
    _FLAWS[flaw](payload, chain)
    return payload


def _part(payload):
    return next(payload[name] for name in ("authorization", "permit2Authorization") if name in payload)


def _two(payload, _):
    other = "authorization" if "permit2Authorization" in payload else "permit2Authorization"
    payload[other] = _part(payload)


def _neither(payload, _):
    payload.pop("authorization", None)
    payload.pop("permit2Authorization", None)


def _without(*path):
    def remove(payload, _):
        *parents, last = path
        record = _part(payload)
        for name in parents:
            record = record[name]
        del record[last]

    return remove


def _with(value, *path):
    """Return what puts a value, or that of an attribute of the chain, into a field."""

    def change(payload, chain):
        *parents, last = path
        record = _part(payload)
        for name in parents:
            record = record[name]
        record[last] = value(chain, record.get(last)) if callable(value) else value

    return change


def _other_proxy(payload, _):
    part = _part(payload)
    part["spender"] = wire.UPTO if part["spender"] == wire.EXACT else wire.EXACT


def _other_payee(payload, chain):
    part = _part(payload)
    part.get("witness", part)["to"] = chain.front_runner.address


def _other_amount(payload, _):
    part = _part(payload)
    record, name = (part["permitted"], "amount") if "permitted" in part else (part, "value")
    record[name] = str(int(record[name]) + 1)


def _escrow(payload, _):
    part = _part(payload)
    if "permitted" in part:
        del part["witness"]
        part["spender"] = wire.ESCROW_COLLECTORS[1]
    else:
        part["to"] = wire.ESCROW_COLLECTORS[0]
    payload["salt"] = "0x01"


_FLAWS = {
    "two authorizations": _two,
    "neither authorization": _neither,
    "no witness": _without("witness"),
    "no spender": _without("spender"),
    "an unknown spender": _with(lambda chain, _: chain.relayer.address, "spender"),
    "the other proxy": _other_proxy,
    "the retired proxy": _with(wire.RETIRED_PROXY, "spender"),
    "no facilitator": _without("witness", "facilitator"),
    "a facilitator where none belongs": _with(lambda chain, _: chain.facilitator.address, "witness", "facilitator"),
    "another payee": _other_payee,
    "another token": _with(lambda chain, _: chain.tokens["foreign"], "permitted", "token"),
    "another amount": _other_amount,
    "a nonce as a number": _with(1000, "nonce"),
    "a nonce in hexadecimal digits": _with("0x2a", "nonce"),
    "a negative nonce": _with("-1", "nonce"),
    "a nonce of more than a word": _with(str(2**256), "nonce"),
    "an escrow": _escrow,
    "an escrow with a salt": lambda payload, _: payload.update(salt="0x01"),
}
