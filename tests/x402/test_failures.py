"""Bad input from either side raises nothing where money is at stake, and takes no money."""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from x402 import SettleResponse
from x402.http import decode_payment_required_header
from x402.mcp import MCPToolResult
from x402.schemas import PaymentPayload, PaymentRequirements, VerifyResponse
from x402.schemas.hooks import (
    SettleContext,
    SettleFailureContext,
    SettleResultContext,
    VerifiedPaymentCanceledContext,
    VerifyContext,
    VerifyResultContext,
)

from bilateral.documents.data_uri import encode_data_uri
from bilateral.x402 import (
    CheckName,
    InvalidMessageError,
    PaymentRefusedError,
    Reputation8004ResourceServerExtension,
    ReputationDraftResourceServerExtension,
    ReputationInfo,
    Verifier,
    declare_8004_reputation,
    declare_reputation_draft,
)
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.offers import decode_header
from bilateral.x402.server.exchange import CURRENT, Exchange
from tests.x402.buying import buy, signed_anew
from tests.x402.examples import SINGLE_CHAIN, changed
from tests.x402.test_messages import JSON, damaged
from tests.x402.test_readers import INFO, Ledger, paid_answer
from tests.x402.world import NETWORK, SIGNING_KEY, payment_for, refusal

KINDS = [Reputation8004ResourceServerExtension, ReputationDraftResourceServerExtension]
TERMS = {
    "scheme": "exact",
    "network": NETWORK,
    "asset": "0x" + "12" * 20,
    "amount": "1000",
    "payTo": "0x" + "34" * 20,
    "maxTimeoutSeconds": 60,
}
fuzzed = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def declared(agent, deployment):
    """Both declarations by key."""
    return {**declare_8004_reputation(agent, deployment), **declare_reputation_draft(agent, deployment)}


def parts(**changes):
    """Return the payment and the terms that a hook gets."""
    terms = PaymentRequirements.model_validate(TERMS | changes)
    payload = {"authorization": {"from": "0x" + "56" * 20, "nonce": "0x" + "78" * 32}}
    return {"payment_payload": PaymentPayload(payload=payload, accepted=terms), "requirements": terms}


TRANSPORTS = st.one_of(
    JSON,
    st.builds(
        lambda arguments, content: {
            "toolName": "forecast",
            "arguments": arguments,
            "meta": {},
            "result": MCPToolResult(content=content),
        },
        st.dictionaries(st.text(max_size=5), JSON, max_size=2),
        st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=2), max_size=2),
    ),
)
EXCHANGES = st.none() | st.builds(
    Exchange, request=st.binary(max_size=9), response=st.none() | st.binary(max_size=9), target=st.text(max_size=9)
)


@pytest.mark.parametrize("kind", KINDS, ids=["8004-reputation", "draft"])
def test_no_hook_raises_whatever_it_is_given(declared, kind):
    extension = kind(SIGNING_KEY)
    original = declared[extension.key]

    @fuzzed
    @given(
        declaration=damaged(original) | st.just(original),
        network=st.just(NETWORK) | st.text(max_size=20),
        transaction=st.just("0x" + "ab" * 32) | st.text(max_size=20),
        transport=TRANSPORTS,
        exchange=EXCHANGES,
        phase=st.sampled_from(["after-handler", "before-handler"]),
        error=st.builds(Exception, st.text(max_size=9)) | st.builds(TimeoutError),
    )
    def check(declaration, network, transaction, transport, exchange, phase, error):  # as many
        result = SettleResponse(success=True, network=network, transaction=transaction, payer=None)
        given_parts = {**parts(), "transport_context": transport, "phase": phase}
        token = CURRENT.set(exchange)
        before = extension.signed_responses + extension.unsigned_responses
        try:
            written = extension.enrich_settlement_response(
                declaration, SettleResultContext(**given_parts, result=result)
            )
            extension.on_before_settle(declaration, SettleContext(**given_parts))
            extension.on_settle_failure(declaration, SettleFailureContext(**given_parts, error=error))
            extension.on_verified_payment_canceled(declaration, VerifiedPaymentCanceledContext(**given_parts))
        finally:
            CURRENT.reset(token)
        counted = extension.signed_responses + extension.unsigned_responses - before
        assert counted == 1 or (phase == "before-handler" and written is None)
        if written is not None:
            extension.profile.statement_of(written)

    check()


@pytest.mark.parametrize("kind", KINDS, ids=["8004-reputation", "draft"])
def test_hooks_before_the_payment_refuse_or_pass_whatever_the_client_sends(declared, kind):
    extension = kind(SIGNING_KEY)

    @fuzzed
    @given(
        extensions=st.none() | st.dictionaries(st.sampled_from(["8004-reputation", "reputation"]), JSON), payload=JSON
    )
    def check(extensions, payload):
        answers = parts()
        answers["payment_payload"] = SimpleNamespace(
            x402_version=2, extensions=extensions, payload=payload if isinstance(payload, dict) else {}
        )
        token = CURRENT.set(Exchange())
        try:
            refused = extension.on_before_verify(declared[extension.key], VerifyContext(**answers))
            result = VerifyResponse(is_valid=True)
            extension.on_after_verify(declared[extension.key], VerifyResultContext(**answers, result=result))
        finally:
            CURRENT.reset(token)
        reasons = ("invalid_client_agent", "no_agent", "ambiguous_payment", "unsupported_payment")
        assert refused is None or refused.reason.startswith(reasons)

    check()


@pytest.mark.parametrize("version", [0, 1, 3, 99])
def test_other_versions_of_x402_take_no_money(shop, buyer, token, version):
    def change(payload):
        payload.x402_version = version
        return payload

    response = httpx.get(shop + "/weather", headers=payment_for(shop + "/weather", buyer, change=change))
    assert response.status_code == 402
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_payment_with_two_authorizations_takes_no_money(shop, buyer, stranger, token):
    """The facilitator would settle one, and the gate would believe the payer of the other."""

    def add(payload):
        payload.payload["permit2Authorization"] = {**payload.payload["authorization"], "from": stranger.address}
        return payload

    response = httpx.get(shop + "/weather", headers=payment_for(shop + "/weather", buyer, change=add))
    assert (response.status_code, refusal(response)) == (402, "ambiguous_payment")
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize("name", ["authorization", "permit2Authorization"])
@pytest.mark.parametrize("change", [{"nonce": 1000}, {"nonce": 1000.9}, {"nonce": True}, {"from": 7}])
def test_payment_whose_account_or_nonce_is_not_text_takes_no_money(shop, buyer, token, name, change):
    """The facilitator would take many numbers for one nonce, and the application would run for each."""

    def write(payload):
        payload.payload[name] = payload.payload.pop("authorization") | change
        return payload

    response = httpx.get(shop + "/weather", headers=payment_for(shop + "/weather", buyer, change=write))
    assert (response.status_code, refusal(response)) == (402, "ambiguous_payment")
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_payment_of_version_1_is_answered_with_402(shop, buyer, token):
    headers = payment_for(shop + "/weather", buyer)
    response = httpx.get(shop + "/weather", headers={"X-PAYMENT": headers["PAYMENT-SIGNATURE"]})
    assert response.status_code == 402
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize("scheme", ["batch-settlement", "auth-capture"])
def test_scheme_without_a_transaction_for_each_payment_takes_no_money(declared, scheme, caplog):
    extension = KINDS[0](SIGNING_KEY)
    refused = extension.on_before_verify(declared[extension.key], VerifyContext(**parts(scheme=scheme)))
    assert refused.reason == f"{scheme}_not_supported"
    assert "payments of this kind cannot be proven by a single transaction" in caplog.text


@pytest.fixture(scope="module")
def bought(shop, enrich):
    """A paid answer of the honest server."""
    return buy(shop, enrich())


@pytest.mark.parametrize("timestamp", [0, 2**52])
def test_timestamp_decides_nothing(verifier, bought, timestamp):
    assert verifier.verify(signed_anew(bought, timestamp=timestamp)).is_verified


PLACEHOLDERS = [
    "eip155:8453:0x8004A818...",
    "solana:5eykt4...:satiRkx...",
    "0x8004A818BFB912233c491871b3d84c89A494BD9e",
]


@pytest.mark.parametrize("registry", PLACEHOLDERS)
def test_placeholders_of_the_specification_are_refused(verifier, declared, registry):
    info = SINGLE_CHAIN["extensions"]["8004-reputation"]["info"]
    with pytest.raises(InvalidMessageError):
        ReputationInfo.of(changed(info, ["registrations", 0, "agentRegistry"], registry))
    with pytest.raises(PaymentRefusedError, match="Payment address mismatch"):
        verifier.check_before_payment(declared["8004-reputation"], NETWORK, "0xAgentWallet123456...")


def test_extra_of_the_terms_is_passed_on(sell, agent, deployment):
    with sell(declare_8004_reputation(agent, deployment), includeProof=True) as url:
        required = decode_payment_required_header(httpx.get(url + "/weather").headers["payment-required"])
    assert required.accepts[0].extra["includeProof"] is True


def header_of(message):
    return base64.b64encode(json.dumps(message).encode()).decode()


@pytest.mark.parametrize(
    "text",
    ["", "?", "ÿ", header_of([]), header_of("text"), "a" * 65537, base64.b64encode(b"[" * 40_000).decode()],
    ids=["empty", "no base64", "no ascii", "list", "text", "too long", "deep"],
)
def test_malformed_header_is_left_out(text):
    assert decode_header(text) is None
    assert paid_request(text, "GET https://a/", {}, b"", {"payment-response": text}, b"") is None


def test_header_is_read_up_to_its_limit():
    text = header_of({"a": "b" * 49_140})
    assert len(text) <= 65536
    assert decode_header(text) == {"a": "b" * 49_140}


def test_client_never_fails_at_a_server_that_sends_anything():
    verifier, paid = Verifier({}, readers=[Ledger()]), paid_answer()

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(settlement=damaged(paid.settlement) | st.just(paid.settlement), payment=damaged(paid.payment))
    def check(settlement, payment):
        altered = replace(
            paid,
            settlement=settlement if isinstance(settlement, dict) else None,
            payment=payment if isinstance(payment, dict) else {},
        )
        verification = verifier.verify(altered)
        assert len(verification.checks) == len(CheckName)
        assert all(problem.isprintable() for problem in verification.problems)

    check()


def test_client_never_fails_at_any_declaration():
    verifier = Verifier({}, readers=[Ledger()])

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(damaged({"info": INFO}), st.text(max_size=9))
    def check(declaration, pay_to):
        with pytest.raises(PaymentRefusedError) as refused:
            verifier.check_before_payment(declaration, paid_answer().network, pay_to)
        assert refused.value.code in {
            "invalid_declaration",
            "agent_not_registered",
            "payment_address_mismatch",
            "unsupported_network",
        }

    check()


def test_client_never_fails_at_any_registration_file():
    ledger, paid = Ledger(), paid_answer()
    verifier = Verifier({}, readers=[ledger])
    (uri,) = ledger.uris.values()
    file = json.loads(verifier._chains.files.load(uri).content)

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(damaged(file))
    def check(content):
        ledger.uris = dict.fromkeys(ledger.uris, encode_data_uri(json.dumps(content).encode()))
        verification = verifier.verify(paid)
        assert not verification.is_verified or (content["signers"], content["registrations"]) == (
            file["signers"],
            file["registrations"],
        )
        assert all(problem.isprintable() for problem in verification.problems)

    check()


def test_server_takes_no_money_and_never_fails_at_any_payment(sell, agent, deployment, buyer, token):
    runs = []

    def add(app):
        @app.get("/counted")
        def counted():
            runs.append(1)
            return "counted"

    with sell(declare_8004_reputation(agent, deployment), register=add) as url, httpx.Client() as http:
        header = payment_for(url + "/counted", buyer)["PAYMENT-SIGNATURE"]
        message = json.loads(base64.b64decode(header))
        forged = copy.deepcopy(message)
        forged["payload"]["signature"] = "0x" + "11" * 65

        @settings(max_examples=40, deadline=None, derandomize=True)
        @given(damaged(forged))
        def check(value):
            try:
                encoded = header_of(value)
            except (ValueError, UnicodeEncodeError):
                return
            response = http.get(url + "/counted", headers={"PAYMENT-SIGNATURE": encoded}, timeout=120)
            assert response.status_code in {400, 402}, response.text

        check()
        assert runs == []
        assert http.get(url + "/counted", headers={"PAYMENT-SIGNATURE": header}, timeout=120).status_code == 200
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - 1000
