"""A payment by Permit2 is what the calldata of its proxy says, and has one transfer of its own."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_account import Account
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.payments import (
    PaymentKind,
    ProxyCall,
    ReceiptLog,
    SignedPayment,
    inner_calls,
    proxy_call,
    settled_calls,
    settling,
)
from bilateral.core.payments.contracts import EXACT_PROXY, PERMIT2, RETIRED_UPTO_PROXY, TRANSFER, UPTO_PROXY
from bilateral.core.payments.settling import address_topic, is_settlement

TOKEN, OWNER, PAYEE, FACILITATOR, OTHER = (
    Account.from_key(keccak(text=name)).address for name in ("token", "owner", "payee", "facilitator", "other")
)
NONCE = b"\xab" * 32
MOST = 2**256 - 1
SETTLED, SETTLED_WITH_PERMIT = keccak(text="Settled()"), keccak(text="SettledWithPermit()")

_PERMIT = "((address,uint256),uint256,uint256)"
_EIP2612 = "(uint256,uint256,bytes32,bytes32,uint8)"
_EXACT = f"{_PERMIT},address,(address,uint256),bytes"
_UPTO = f"{_PERMIT},uint256,address,(address,address,uint256),bytes"


def split(signature):
    """Return the types of the arguments that stand at the top."""
    types, depth = [""], 0
    for sign in signature:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            types.append("")
        else:
            types[-1] += sign
    return types


def calldata(kind, *, ceiling=5000, amount=1234, nonce=NONCE, token=TOKEN, owner=OWNER, payee=PAYEE, permit=False):
    """Encode a call as the SDKs do, by its types alone."""
    signed = ((token, ceiling), int.from_bytes(nonce), 2_000_000_000)
    if kind is PaymentKind.PERMIT2_UPTO:
        types, arguments = _UPTO, [signed, amount, owner, (payee, FACILITATOR, 7), b"\x01" * 65]
    else:
        types, arguments = _EXACT, [signed, owner, (payee, 7), b"\x01" * 65]
    if permit:
        types, arguments = f"{_EIP2612},{types}", [(ceiling, 9, b"\x02" * 32, b"\x03" * 32, 27), *arguments]
    name = "settleWithPermit" if permit else "settle"
    return keccak(text=f"{name}({types})")[:4] + encode(split(types), arguments)


def settlement(kind, amount=1234, ceiling=5000, **fields):
    signed = {"token": TOKEN, "nonce": NONCE, "owner": OWNER, "payee": PAYEE} | fields
    is_upto = kind is PaymentKind.PERMIT2_UPTO
    moved, facilitator = (amount, FACILITATOR) if is_upto else (ceiling, None)
    accounts, times = (signed["token"], signed["owner"], signed["payee"]), (7, 2_000_000_000)
    return ProxyCall(SignedPayment(kind, *accounts, ceiling, signed["nonce"], *times, facilitator), moved)


PROXIES = {PaymentKind.PERMIT2_EXACT: EXACT_PROXY, PaymentKind.PERMIT2_UPTO: UPTO_PROXY}
KINDS = pytest.mark.parametrize("kind", PROXIES)
PERMITS = pytest.mark.parametrize("permit", [False, True], ids=["settle", "settleWithPermit"])


@KINDS
@PERMITS
def test_call_of_a_proxy_says_who_pays_whom_how_much(kind, permit):
    data = calldata(kind, permit=permit)
    assert proxy_call(PROXIES[kind], data) == settlement(kind)
    assert proxy_call(PROXIES[kind].lower(), data) == settlement(kind)


@KINDS
@PERMITS
def test_bytes_after_the_calldata_change_nothing(kind, permit):
    assert proxy_call(PROXIES[kind], calldata(kind, permit=permit) + b"builder") == settlement(kind)


@KINDS
def test_signature_and_its_offset_change_nothing(kind):
    data = calldata(kind)
    words = 7 if kind is PaymentKind.PERMIT2_EXACT else 9
    fixed = 4 + 32 * words
    assert proxy_call(PROXIES[kind], data[:fixed] + b"\xff" * 32) == settlement(kind)
    assert proxy_call(PROXIES[kind], data[:fixed]) == settlement(kind)
    assert proxy_call(PROXIES[kind], data[: fixed - 1]) is None


@KINDS
@pytest.mark.parametrize("to", [None, "", OTHER, PERMIT2, RETIRED_UPTO_PROXY])
def test_call_of_another_contract_is_no_payment(kind, to):
    assert proxy_call(to, calldata(kind)) is None


@KINDS
def test_call_of_the_other_proxy_is_no_payment(kind):
    (other,) = set(PROXIES.values()) - {PROXIES[kind]}
    assert proxy_call(other, calldata(kind)) is None


@pytest.mark.parametrize("data", [b"", b"\x13\xcd\x3b", bytes.fromhex("13cd3b53"), bytes.fromhex("deadbeef") * 90])
def test_short_or_unknown_calldata_is_no_payment(data):
    assert proxy_call(EXACT_PROXY, data) is None


@KINDS
@PERMITS
def test_word_with_bytes_before_an_address_is_no_payment(kind, permit):
    """The contract reverts there, so a reader that cut them off would read what nobody settled."""
    data, start = calldata(kind, permit=permit), 4 + 160 * permit
    addresses = (0, 4, 5) if kind is PaymentKind.PERMIT2_EXACT else (0, 5, 6, 7)
    for word in addresses:
        for place in (0, 11):
            at = start + 32 * word + place
            assert proxy_call(PROXIES[kind], data[:at] + b"\x01" + data[at + 1 :]) is None


@given(
    kind=st.sampled_from(sorted(PROXIES)),
    permit=st.booleans(),
    ceiling=st.integers(0, MOST),
    amount=st.integers(0, MOST),
    nonce=st.binary(min_size=32, max_size=32),
    after=st.binary(max_size=70),
)
def test_every_call_is_read_as_it_was_encoded(kind, permit, ceiling, amount, nonce, after):
    data = calldata(kind, ceiling=ceiling, amount=amount, nonce=nonce, permit=permit) + after
    assert proxy_call(PROXIES[kind], data) == settlement(kind, amount, ceiling, nonce=nonce)


@given(st.sampled_from([*PROXIES.values(), None]), st.binary(max_size=600))
def test_any_bytes_are_a_payment_or_none(to, data):
    call = proxy_call(to, data)
    assert call is None or call.payment.asset.startswith("0x")


def frame(kind=None, calls=(), **fields):
    call = {"type": "CALL", "to": OTHER, "input": "0x"} | ({"calls": list(calls)} if calls else {})
    if kind is not None:
        call |= {"to": PROXIES[kind].lower(), "input": "0x" + calldata(kind).hex()}
    return call | fields


EXACT, UPTO = PaymentKind.PERMIT2_EXACT, PaymentKind.PERMIT2_UPTO


def kinds_in(trace):
    return [call.payment.kind for call in inner_calls(trace)]


def test_calls_come_in_the_order_of_their_events():
    assert kinds_in(frame(calls=[frame(EXACT), frame(calls=[frame(UPTO)]), frame(EXACT)])) == [EXACT, UPTO, EXACT]


def test_call_inside_another_one_comes_first():
    """A proxy logs at its end, after all that a hostile token calls meanwhile."""
    assert kinds_in(frame(EXACT, [frame(calls=[frame(UPTO)])])) == [UPTO, EXACT]


def test_direct_call_is_one_too():
    assert kinds_in(frame(EXACT)) == [EXACT]


@pytest.mark.parametrize("error", ["execution reverted", "out of gas"])
def test_call_that_failed_and_all_below_it_settled_nothing(error):
    failed = frame(calls=[frame(EXACT), frame(calls=[frame(UPTO)])], error=error)
    assert kinds_in(frame(calls=[failed, frame(UPTO), frame(EXACT, error=error)])) == [UPTO]
    assert kinds_in(frame(calls=[frame(EXACT)], error=error)) == []


@pytest.mark.parametrize("kind", ["DELEGATECALL", "CALLCODE", "STATICCALL", "CREATE", None])
def test_only_a_plain_call_runs_the_proxy_as_itself(kind):
    assert kinds_in(frame(calls=[frame(EXACT, type=kind)])) == []


def test_create_without_a_receiver_is_passed_over():
    assert kinds_in(frame(calls=[{"type": "CREATE", "to": None, "input": "0x60"}, frame(EXACT)])) == [EXACT]


@pytest.mark.parametrize(
    "trace",
    [
        None,
        [],
        "0x",
        {"type": "CALL", "to": EXACT_PROXY, "input": "0xzz"},
        {"type": "CALL", "to": EXACT_PROXY, "input": "0x1"},
        {"type": "CALL", "to": EXACT_PROXY},
        frame(calls=[7]),
        {"type": "CALL", "to": OTHER, "input": "0x", "calls": {}},
    ],
    ids=str,
)
def test_malformed_trace_is_an_error(trace):
    with pytest.raises(ValueError, match=r"trace|hexadecimal"):
        inner_calls(trace)


def test_trace_is_read_to_its_limit_and_no_further():
    most = settling._MOST_FRAMES
    assert len(inner_calls(frame(calls=[frame(EXACT)] * (most - 1)))) == most - 1
    with pytest.raises(ValueError, match=f"more than {most} calls"):
        inner_calls(frame(calls=[frame(EXACT)] * most))


def test_trace_may_be_as_deep_as_the_chain_allows():
    deep = frame(EXACT)
    for _ in range(1024):
        deep = frame(calls=[deep])
    assert kinds_in(deep) == [EXACT]


def transfer(amount=1234, sender=OWNER, receiver=PAYEE, token=TOKEN):
    return token, (TRANSFER, address_topic(sender), address_topic(receiver)), amount.to_bytes(32)


def event(kind=UPTO, topic=SETTLED, address=None):
    return address or PROXIES[kind], (topic,), b""


def numbered(*logs):
    return [ReceiptLog(place, *log) for place, log in enumerate(logs, start=10)]


def pairs(calls, *logs):
    """Return the index of the log of each call that has one, with the nonce's first byte."""
    return [(call.payment.nonce[0], log.log_index) for call, log in settled_calls(calls, numbered(*logs))]


def uptos(*amounts):
    return [settlement(UPTO, amount, nonce=bytes([number]) * 32) for number, amount in enumerate(amounts, start=1)]


@KINDS
@pytest.mark.parametrize("topic", [SETTLED, SETTLED_WITH_PERMIT])
def test_payment_is_the_transfer_before_its_event(kind, topic):
    logs = numbered(transfer(1234), event(kind, topic))
    assert list(settled_calls([settlement(kind)], logs)) == [(settlement(kind), logs[0])]


def test_two_payments_take_two_transfers():
    logs = transfer(100), event(), transfer(100), event()
    assert pairs(uptos(100, 100), *logs) == [(1, 10), (2, 12)]


def test_payments_inside_each_other_take_two_transfers():
    logs = transfer(100), transfer(100), event(), event()
    assert pairs(uptos(100, 100), *logs) == [(1, 11), (2, 10)]


def test_payment_without_a_transfer_takes_none_of_another():
    logs = transfer(100), event(), event()
    assert pairs(uptos(100, 100), *logs) == [(1, 10)]


def test_transfer_after_the_event_is_none_of_it():
    assert pairs(uptos(100), event(), transfer(100)) == []


@pytest.mark.parametrize(
    "other",
    [
        transfer(1234, sender=OTHER),
        transfer(1234, receiver=OTHER),
        transfer(1234, token=OTHER),
        transfer(1235),
        transfer(0),
        (TOKEN, transfer()[1], b""),
        (TOKEN, (*transfer()[1], bytes(32)), b""),
        (TOKEN, (keccak(text="Approval(address,address,uint256)"), *transfer()[1][1:]), transfer()[2]),
    ],
    ids=["payer", "payee", "token", "too much", "zero", "no amount", "a token's number", "another event"],
)
def test_other_transfer_beside_the_event_is_no_payment(other):
    assert pairs(uptos(1234), other, event()) == []
    assert pairs(uptos(1234), transfer(), other, event()) == [(1, 10)]


def test_token_with_a_fee_pays_less():
    logs = transfer(100, receiver=OTHER), transfer(900), event()
    ((call, log),) = settled_calls(uptos(1000), numbered(*logs))
    assert (call.amount, int.from_bytes(log.data)) == (1000, 900)


@pytest.mark.parametrize("events", [0, 1, 3])
def test_nothing_is_paired_if_events_and_calls_differ_in_number(events):
    """A call that is missing would take the transfer of another one."""
    logs = [entry for _ in range(events) for entry in (transfer(100), event())]
    assert pairs(uptos(100, 100), *logs) == []


@pytest.mark.parametrize(
    "log",
    [
        event(address=OTHER),
        event(address=RETIRED_UPTO_PROXY),
        event(topic=TRANSFER),
        (UPTO_PROXY, (SETTLED, bytes(32)), b""),
        (UPTO_PROXY, (SETTLED,), b"\x00"),
        (UPTO_PROXY, (), b""),
    ],
    ids=["look-alike", "retired proxy", "another event", "more topics", "data", "no topic"],
)
def test_log_that_is_no_event_of_a_proxy_settles_nothing(log):
    assert not is_settlement(ReceiptLog(0, *log))
    assert pairs(uptos(100), transfer(100), log) == []


@given(
    st.lists(
        st.one_of(
            st.integers(0, 3).map(lambda number: ("settle", number)),
            st.integers(0, 3).map(lambda number: ("plain", number)),
            st.just(("stranger", 2)),
            st.integers(1, 3).map(lambda number: ("broken", number)),
        ),
        max_size=12,
    )
)
def test_each_transfer_proves_one_payment_at_most(acts):
    """Settlements among plain transfers of the same accounts: each pairs with its own, whatever stands around it."""
    logs, calls, expected = [], [], []
    for act, amount in acts:
        if act in {"settle", "broken"}:
            calls.append(settlement(UPTO, amount, nonce=len(calls).to_bytes(32)))
        if act == "settle" and amount:
            expected.append((len(calls) - 1, 10 + len(logs)))
        if act != "broken":
            logs.append(transfer(amount, sender=OTHER if act == "stranger" else OWNER))
        if act in {"settle", "broken"}:
            logs.append(event())
    found = [(int.from_bytes(call.payment.nonce), log.log_index) for call, log in settled_calls(calls, numbered(*logs))]
    assert len({index for _, index in found}) == len(found)
    assert len({nonce for nonce, _ in found}) == len(found)
    if not any(act == "broken" for act, _ in acts):
        honest = dict(expected)
        assert {nonce: index for nonce, index in found if nonce in honest} == honest
