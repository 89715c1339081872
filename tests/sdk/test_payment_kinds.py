"""Payments are of the kind that scheme, method and spender say together, and are refused unless all of them agree."""

from __future__ import annotations

import copy
import json

import pytest
from eth_account import Account
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.payments import (
    PROVABLE,
    InvalidPaymentError,
    PaymentKind,
    SignedPayment,
    authorization_identity,
    kind_of,
    kind_of_terms,
    signed_part,
)
from bilateral.core.payments.contracts import (
    BATCH,
    CANONICAL,
    ESCROW_COLLECTORS,
    ESCROWS,
    EXACT_PROXY,
    PERMIT2,
    PERMIT2_COLLECTOR,
    RETIRED_UPTO_PROXY,
    UPTO_PROXY,
)

TOKEN, PAYER, PAYEE, FACILITATOR, OTHER = (
    Account.from_key(keccak(text=name)).address for name in ("token", "payer", "payee", "facilitator", "other")
)
ZERO = "0x" + "00" * 20
MOST = 2**256 - 1
NETWORK = "eip155:8453"

ACCEPTED = {"scheme": "exact", "network": NETWORK, "asset": TOKEN, "payTo": PAYEE, "amount": "1000"}


def terms(scheme="exact", method=None, **fields):
    return ACCEPTED | {"scheme": scheme, "extra": {} if method is None else {"assetTransferMethod": method}} | fields


def eip3009(**changes):
    authorization = {
        "from": PAYER,
        "to": PAYEE,
        "value": "1000",
        "validAfter": "0",
        "validBefore": "2000000000",
        "nonce": "0x" + "ab" * 32,
    }
    return {"authorization": authorization | changes, "signature": "0x"}


def permit2(spender=EXACT_PROXY, facilitator=None, **changes):
    witness = {"to": PAYEE, "validAfter": "0"} | ({"facilitator": facilitator} if facilitator else {})
    authorization = {
        "from": PAYER,
        "permitted": {"token": TOKEN, "amount": "1000"},
        "spender": spender,
        "nonce": "7",
        "deadline": "2000000000",
        "witness": witness,
    }
    return {"permit2Authorization": authorization | changes, "signature": "0x"}


def upto(**changes):
    return permit2(UPTO_PROXY, FACILITATOR, **changes)


EXACT_TERMS, UPTO_TERMS = terms(method="permit2"), terms("upto")
HONEST = {
    PaymentKind.EIP3009: (terms(), eip3009()),
    PaymentKind.PERMIT2_EXACT: (EXACT_TERMS, permit2()),
    PaymentKind.PERMIT2_UPTO: (UPTO_TERMS, upto()),
}

TERMS = {
    ("exact", None): PaymentKind.EIP3009,
    ("exact", "eip3009"): PaymentKind.EIP3009,
    ("exact", "default"): PaymentKind.EIP3009,
    ("exact", "permit2"): PaymentKind.PERMIT2_EXACT,
    ("exact", "erc7710"): PaymentKind.UNKNOWN,
    ("exact", "Permit2"): PaymentKind.UNKNOWN,
    ("upto", None): PaymentKind.PERMIT2_UPTO,
    ("upto", "permit2"): PaymentKind.PERMIT2_UPTO,
    ("upto", "eip3009"): PaymentKind.UNKNOWN,
    ("batch-settlement", None): PaymentKind.CHANNEL,
    ("batch-settlement", "permit2"): PaymentKind.CHANNEL,
    ("auth-capture", "eip3009"): PaymentKind.AUTH_CAPTURE,
    ("Exact", None): PaymentKind.UNKNOWN,
    ("stream", None): PaymentKind.UNKNOWN,
    (None, None): PaymentKind.UNKNOWN,
    (("exact",), None): PaymentKind.UNKNOWN,
}


@pytest.mark.parametrize(("scheme", "method"), TERMS, ids=str)
def test_terms_have_the_kind_of_their_scheme_and_method(scheme, method):
    assert kind_of_terms(scheme, {"assetTransferMethod": method}) is TERMS[scheme, method]


@pytest.mark.parametrize("extra", [None, "permit2", [], 7])
def test_terms_without_a_readable_method_have_the_usual_one(extra):
    assert kind_of_terms("exact", extra) is PaymentKind.EIP3009


@pytest.mark.parametrize("method", [7, True, {}, ["permit2"]], ids=str)
def test_method_that_is_no_text_makes_terms_unknown(method):
    assert kind_of_terms("exact", {"assetTransferMethod": method}) is PaymentKind.UNKNOWN
    assert kind_of_terms("upto", {"assetTransferMethod": method}) is PaymentKind.UNKNOWN


@pytest.mark.parametrize("kind", HONEST)
def test_honest_payment_has_its_kind(kind):
    assert kind_of(*HONEST[kind]) is kind


NEAR_MISSES = {
    "both parts": (terms(), eip3009() | permit2(), PaymentKind.UNKNOWN),
    "neither part": (terms(), {"signature": "0x"}, PaymentKind.UNKNOWN),
    "no object": (terms(), {"authorization": "0x"}, PaymentKind.UNKNOWN),
    "a delegation (ERC-7710)": (
        terms(method="erc7710"),
        {"delegationManager": OTHER, "permissionContext": "0x", "delegator": PAYER},
        PaymentKind.UNKNOWN,
    ),
    "ERC-7710 with a payment of Permit2": (terms(method="erc7710"), permit2(), PaymentKind.UNKNOWN),
    "upto signed by EIP-3009": (UPTO_TERMS, eip3009(), PaymentKind.UNKNOWN),
    "Permit2 asked, EIP-3009 signed": (EXACT_TERMS, eip3009(), PaymentKind.UNKNOWN),
    "exact with upto's proxy": (EXACT_TERMS, upto(), PaymentKind.UNKNOWN),
    "upto with exact's proxy": (UPTO_TERMS, permit2(), PaymentKind.UNKNOWN),
    "upto with the retired proxy": (UPTO_TERMS, permit2(RETIRED_UPTO_PROXY, FACILITATOR), PaymentKind.UNKNOWN),
    "a spender of its own": (EXACT_TERMS, permit2(OTHER), PaymentKind.UNKNOWN),
    "the collector of channels": (EXACT_TERMS, permit2(PERMIT2_COLLECTOR), PaymentKind.UNKNOWN),
    "no spender": (EXACT_TERMS, permit2(None), PaymentKind.UNKNOWN),
    "an escrow with a salt": (terms(), eip3009() | {"salt": "0x01"}, PaymentKind.AUTH_CAPTURE),
    "an escrow by Permit2 with a salt": (EXACT_TERMS, permit2() | {"salt": "0x01"}, PaymentKind.AUTH_CAPTURE),
    "an escrow by its scheme": (terms("auth-capture"), eip3009(), PaymentKind.AUTH_CAPTURE),
    "a channel": (terms("batch-settlement"), {"type": "voucher"}, PaymentKind.CHANNEL),
    "a channel that looks like exact": (terms("batch-settlement"), permit2(), PaymentKind.CHANNEL),
    # A facilitator settles what is signed, so the payer's choice of Permit2 decides.
    "Permit2 signed, no method asked": (terms(), permit2(), PaymentKind.PERMIT2_EXACT),
}


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_near_miss_is_never_taken_for_the_kind_that_it_resembles(case):
    accepted, payload, kind = NEAR_MISSES[case]
    assert kind_of(accepted, payload) is kind


@pytest.mark.parametrize("collector", ESCROW_COLLECTORS)
def test_money_for_a_collector_of_an_escrow_is_no_exact_payment(collector):
    assert kind_of(terms(), eip3009(to=collector)) is PaymentKind.AUTH_CAPTURE
    assert kind_of(terms(), eip3009(to=collector.lower())) is PaymentKind.AUTH_CAPTURE
    assert kind_of(EXACT_TERMS, permit2(collector, witness=None)) is PaymentKind.AUTH_CAPTURE


def test_all_contracts_are_canonical_and_different():
    assert {PERMIT2, EXACT_PROXY, UPTO_PROXY, BATCH, *ESCROWS, *ESCROW_COLLECTORS} < CANONICAL
    assert len(CANONICAL) == 19


def test_spender_is_read_whatever_its_case():
    assert kind_of(EXACT_TERMS, permit2(EXACT_PROXY.lower())) is PaymentKind.PERMIT2_EXACT


def test_signed_payment_has_what_its_payer_signed():
    assert SignedPayment.of(terms(), eip3009(validAfter="5")) == SignedPayment(
        PaymentKind.EIP3009, TOKEN, PAYER, PAYEE, 1000, b"\xab" * 32, 5, 2_000_000_000
    )
    assert SignedPayment.of(EXACT_TERMS, permit2(nonce=str(MOST))) == SignedPayment(
        PaymentKind.PERMIT2_EXACT, TOKEN, PAYER, PAYEE, 1000, b"\xff" * 32, 0, 2_000_000_000
    )
    assert SignedPayment.of(UPTO_TERMS, upto()) == SignedPayment(
        PaymentKind.PERMIT2_UPTO, TOKEN, PAYER, PAYEE, 1000, (7).to_bytes(32), 0, 2_000_000_000, FACILITATOR
    )


def part(**changes):
    return {"permitted": {"token": TOKEN, "amount": "1000"} | changes}


def witness(**changes):
    return {"witness": {"to": PAYEE, "validAfter": "0"} | changes}


PERMIT2_PART = "permit2Authorization"
REFUSED = {
    "both parts": (terms(), eip3009() | permit2(), "ambiguous_payment", ""),
    "neither part": (terms(), {}, "unsupported_payment", ""),
    "a part that is no object": (terms(), {"authorization": []}, "unsupported_payment", ""),
    "a scheme that is no text": (terms(["exact"]), permit2(), "unsupported_payment", ""),
    "a scheme of its own": (terms("stream"), permit2(), "unsupported_payment", ""),
    "a channel": (terms("batch-settlement"), permit2(), "unsupported_payment", ""),
    "an escrow": (terms("auth-capture"), permit2(witness=None), "unsupported_payment", ""),
    "an escrow that looks like exact": (terms(), eip3009() | {"salt": "0x"}, "unsupported_payment", ""),
    "an escrow by Permit2": (
        EXACT_TERMS,
        permit2(ESCROW_COLLECTORS[1], witness=None),
        "unsupported_payment",
        "",
    ),
    "a delegation": (terms(method="erc7710"), {"delegator": PAYER}, "unsupported_payment", ""),
    "Permit2 for other terms": (terms(method="erc7710"), permit2(), "unsupported_payment", ""),
    "EIP-3009 for upto": (UPTO_TERMS, eip3009(), "unsupported_payment", ""),
    "no witness": (EXACT_TERMS, permit2(witness=None), "missing_witness", f"{PERMIT2_PART}.witness"),
    "nothing permitted": (EXACT_TERMS, permit2(permitted=[]), "missing_permitted", f"{PERMIT2_PART}.permitted"),
    "no spender": (EXACT_TERMS, permit2(None), "missing_spender", f"{PERMIT2_PART}.spender"),
    "an unknown spender": (EXACT_TERMS, permit2(OTHER), "unknown_spender", f"{PERMIT2_PART}.spender"),
    "the proxy of upto for exact": (EXACT_TERMS, permit2(UPTO_PROXY), "unknown_spender", f"{PERMIT2_PART}.spender"),
    "the proxy of exact for upto": (
        UPTO_TERMS,
        permit2(facilitator=FACILITATOR),
        "unknown_spender",
        f"{PERMIT2_PART}.spender",
    ),
    "the retired proxy": (
        UPTO_TERMS,
        permit2(RETIRED_UPTO_PROXY, FACILITATOR),
        "unknown_spender",
        f"{PERMIT2_PART}.spender",
    ),
    "upto without a facilitator": (
        UPTO_TERMS,
        permit2(UPTO_PROXY),
        "missing_facilitator",
        f"{PERMIT2_PART}.witness.facilitator",
    ),
    "upto with the zero facilitator": (
        UPTO_TERMS,
        permit2(UPTO_PROXY, ZERO),
        "missing_facilitator",
        f"{PERMIT2_PART}.witness.facilitator",
    ),
    "upto with a facilitator that is no text": (
        UPTO_TERMS,
        permit2(UPTO_PROXY, ["0x"]),
        "invalid_payment",
        f"{PERMIT2_PART}.witness.facilitator",
    ),
    "exact with a facilitator": (
        EXACT_TERMS,
        permit2(facilitator=FACILITATOR),
        "unexpected_facilitator",
        f"{PERMIT2_PART}.witness.facilitator",
    ),
    "exact with a facilitator that is no text": (
        EXACT_TERMS,
        permit2(facilitator={"a": 1}),
        "unexpected_facilitator",
        f"{PERMIT2_PART}.witness.facilitator",
    ),
    "another payee": (EXACT_TERMS, permit2(**witness(to=OTHER)), "payee_mismatch", f"{PERMIT2_PART}.witness.to"),
    "another payee by EIP-3009": (terms(), eip3009(to=OTHER), "payee_mismatch", "authorization.to"),
    "another token": (EXACT_TERMS, permit2(**part(token=OTHER)), "asset_mismatch", f"{PERMIT2_PART}.permitted.token"),
    "more permitted": (
        EXACT_TERMS,
        permit2(**part(amount="1001")),
        "amount_mismatch",
        f"{PERMIT2_PART}.permitted.amount",
    ),
    "less permitted": (
        UPTO_TERMS,
        upto(**part(amount="999")),
        "amount_mismatch",
        f"{PERMIT2_PART}.permitted.amount",
    ),
    "another value": (terms(), eip3009(value="999"), "amount_mismatch", "authorization.value"),
    "a price of zero": (terms(amount="0"), eip3009(value="0"), "invalid_amount", "amount"),
    "no price": (terms(amount=None), eip3009(), "invalid_payment", "amount"),
    "a price as a number": (terms(amount=1000), eip3009(), "invalid_payment", "amount"),
    "no token": (terms(asset="dollars"), eip3009(), "invalid_payment", "asset"),
    "a mistyped payee": (terms(payTo=PAYEE.swapcase()), eip3009(), "invalid_payment", "payTo"),
    "no payer": (terms(), eip3009(**{"from": None}), "invalid_payment", "authorization.from"),
    "no deadline": (EXACT_TERMS, permit2(deadline=None), "invalid_payment", f"{PERMIT2_PART}.deadline"),
    "no start": (
        EXACT_TERMS,
        permit2(**witness(validAfter=0)),
        "invalid_payment",
        f"{PERMIT2_PART}.witness.validAfter",
    ),
    "no end of EIP-3009": (terms(), eip3009(validBefore=None), "invalid_payment", "authorization.validBefore"),
}


def problem_of(accepted, payload):
    with pytest.raises(InvalidPaymentError) as caught:
        SignedPayment.of(accepted, payload)
    assert str(caught.value).startswith(caught.value.field)
    return caught.value.code, caught.value.field


@pytest.mark.parametrize("case", REFUSED)
def test_payment_that_cannot_be_settled_as_agreed_is_refused_with_its_own_code(case):
    accepted, payload, code, field = REFUSED[case]
    assert problem_of(accepted, payload) == (code, field)


@pytest.mark.parametrize(
    "nonce",
    [None, 1000, 1.5, True, "", "-1", "+1", " 1", "1 ", "1_0", "01", "0x07", "1e3", "\u0667", "null", str(MOST + 1)],
    ids=repr,
)
def test_permit2_nonce_in_another_form_than_decimal_digits_is_refused(nonce):
    for accepted, payload in ((EXACT_TERMS, permit2(nonce=nonce)), (UPTO_TERMS, upto(nonce=nonce))):
        assert problem_of(accepted, payload) == ("invalid_nonce", f"{PERMIT2_PART}.nonce")


@pytest.mark.parametrize("nonce", [None, 7, 1.5, "xyz", "0x" + "ab" * 33], ids=repr)
def test_nonce_of_eip3009_that_is_not_32_bytes_is_refused(nonce):
    assert problem_of(terms(), eip3009(nonce=nonce)) == ("invalid_nonce", "authorization.nonce")


@pytest.mark.parametrize("amount", ["1", str(MOST)], ids=["least", "most"])
def test_amounts_up_to_a_word_are_read(amount):
    for accepted, payload in (
        (terms(amount=amount), eip3009(value=amount)),
        (terms(method="permit2", amount=amount), permit2(**part(amount=amount))),
    ):
        assert SignedPayment.of(accepted, payload).amount == int(amount)


@pytest.mark.parametrize("amount", [str(MOST + 1), "9" * 78, "9" * 5000], ids=["one more", "78 digits", "5000 digits"])
def test_amount_of_more_than_a_word_is_refused(amount):
    changed = permit2(**part(amount=amount))
    assert problem_of(terms(method="permit2", amount=amount), changed) == ("invalid_payment", "amount")


def test_refusal_shows_a_part_of_a_long_value_only():
    with pytest.raises(InvalidPaymentError) as caught:
        SignedPayment.of(EXACT_TERMS, permit2("0x" + "ab" * 5000))
    assert len(str(caught.value)) < 200


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def paths(record, before=()):
    """Return the path of every field."""
    for name, value in record.items():
        yield (*before, name)
        if isinstance(value, dict):
            yield from paths(value, (*before, name))


@given(kind=st.sampled_from(sorted(HONEST)), data=st.data(), odd=ODD)
def test_any_value_in_any_field_is_read_alike_or_refused(kind, data, odd):
    """Nothing but a refusal leaves the reader, and what it reads are the terms that were accepted."""
    accepted, payload = copy.deepcopy(HONEST[kind])
    message = {"accepted": accepted, "payload": payload}
    *path, last = data.draw(st.sampled_from(list(paths(message))))
    for name in path:
        message = message[name]
    message[last] = odd
    authorization_identity(NETWORK, TOKEN, payload if isinstance(payload, dict) else {})
    try:
        payment = SignedPayment.of(accepted, payload)
    except InvalidPaymentError as error:
        json.dumps([error.code, error.field, str(error)])
    else:
        assert payment.kind in PROVABLE
        assert str(payment.amount) == accepted["amount"]
        assert payment.kind is kind_of(accepted, payload)


@given(kind=st.sampled_from(sorted(HONEST)), nonce=st.integers(0, MOST), amount=st.integers(1, MOST))
def test_reader_returns_the_numbers_that_were_signed(kind, nonce, amount):
    accepted, payload = copy.deepcopy(HONEST[kind])
    _, signed = signed_part(payload)
    accepted["amount"] = str(amount)
    if kind is PaymentKind.EIP3009:
        signed |= {"value": str(amount), "nonce": "0x" + nonce.to_bytes(32).hex()}
    else:
        signed |= {"nonce": str(nonce), "permitted": {"token": TOKEN, "amount": str(amount)}}
    payment = SignedPayment.of(accepted, payload)
    assert (payment.amount, int.from_bytes(payment.nonce), len(payment.nonce)) == (amount, nonce, 32)


def identity(payload, asset=TOKEN, network=NETWORK):
    return authorization_identity(network, asset, payload)


def test_nonce_of_permit2_is_one_for_all_tokens_proxies_and_signatures():
    copies = [
        permit2(),
        permit2(**part(token=OTHER)),
        upto(),
        permit2() | {"signature": "0x" + "ab" * 64},
        permit2(**{"from": PAYER.lower()}),
        permit2(**{"from": PAYER[2:]}),
        permit2(nonce="0x7"),
        permit2(nonce=" 7"),
        permit2(nonce=7),
    ]
    assert {identity(copy, asset) for copy in copies for asset in (TOKEN, OTHER)} == {identity(permit2())}


def test_nonce_of_eip3009_is_one_of_its_token():
    assert identity(eip3009()) == identity(eip3009(nonce="AB" * 32)) == identity(eip3009(), TOKEN.lower())
    assert identity(eip3009()) != identity(eip3009(), OTHER)
    assert identity(eip3009(nonce="0xab")) == identity(eip3009(nonce="0xab" + "00" * 31))


@pytest.mark.parametrize("payload", [eip3009(), permit2()], ids=["eip3009", "permit2"])
def test_other_accounts_chains_and_nonces_are_other_payments(payload):
    name, signed = signed_part(payload)
    others = [
        identity(payload, network="eip155:1"),
        identity({name: signed | {"from": OTHER}}),
        identity({name: signed | {"nonce": "0x" + "01" * 32}}),
        identity({name: signed | {"nonce": "?"}}),
    ]
    assert len({identity(payload), *others}) == 5


def test_eip3009_and_permit2_never_share_an_identity():
    number = int.from_bytes(b"\xab" * 32)
    assert identity(eip3009()) != identity(permit2(nonce=str(number)))


@pytest.mark.parametrize(
    "payload", [{}, eip3009() | permit2(), {"authorization": []}, {"authorization": {"from": PAYER}}], ids=str
)
def test_payload_without_one_authorization_has_no_identity(payload):
    assert identity(payload) is None


@given(st.integers(0, MOST), st.integers(0, MOST))
def test_different_nonces_have_different_identities(one, another):
    assert (identity(permit2(nonce=str(one))) == identity(permit2(nonce=hex(another)))) is (one == another)
