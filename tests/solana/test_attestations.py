"""Feedback of SATI has the bytes that its program takes, and attestations prove what their signatures say."""

from __future__ import annotations

import base64
import json

import pytest
from nacl.signing import SigningKey

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.solana import MalformedAccountError
from bilateral.core.identifiers.caip import base58_bytes
from bilateral.solana.addresses import SATI, TOKEN, TOKEN_2022, address_text
from bilateral.solana.attestations import Attestation, FeedbackData, Outcome, feedback_content, task_ref_of
from bilateral.x402 import interaction_hash
from bilateral.x402.clients.sati import Schema, payment_feedback, read_attestation, sati_feedback
from tests.solana.conftest import fuzz_count
from tests.solana.test_fuzz import fuzz
from tests.x402.examples import SOLANA, SOLANA_TRANSACTION

SCHEMA, AGENT = TOKEN, TOKEN_2022
HOLDER, CLIENT = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))
HOLDER_ADDRESS, CLIENT_ADDRESS = (address_text(bytes(key.verify_key)) for key in (HOLDER, CLIENT))

MESSAGES = {
    (
        0x11,
        0x22,
        "Feedback",
        2,
        0,
        b"",
    ): "U0FUSSBGZWVkYmFjawoKQWdlbnQ6IDI5ZDJTN3ZCNDUzck5ZRmRSNVljd3Q3eTloYVJUNWZ3VndMOXpUbUJo"
    "ZlYyClRhc2s6IDNKRjNzRXFNNzk2aGs1V0ZxQTZFdG1Fd0pROXF1QUxzenNmSnl2WE5RS3kzCk91dGNvbWU6IFBvc2l0aXZlCkRldGFpbHM6IChub25l"
    "KQoKU2lnbiB0byBjcmVhdGUgdGhpcyBhdHRlc3RhdGlvbi4=",
    (
        0x33,
        0x44,
        "Feedback",
        0,
        1,
        b'{"score":25}',
    ): "U0FUSSBGZWVkYmFjawoKQWdlbnQ6IDRTczVKTWtYQUQ5Wjdja3RGRWRycWVNdVQ2akdNRjFw"
    "Vm96VHlQSFo2elQ0ClRhc2s6IDViVjZqVWZoREhDUVZBMVdmS0JVblhVc2JvSmdvS2dremtLY3hyM2pvZXc1Ck91dGNvbWU6IE5lZ2F0aXZlCkRldGFp"
    "bHM6IHsic2NvcmUiOjI1fQoKU2lnbiB0byBjcmVhdGUgdGhpcyBhdHRlc3RhdGlvbi4=",
    (
        0x55,
        0x66,
        "Validation",
        1,
        2,
        b"passed validation",
    ): "U0FUSSBWYWxpZGF0aW9uCgpBZ2VudDogNms3OEFiYXNHTUZGcmhHOTVQajZqUWJx"
    "a1Z0N0ZRTWhWZ2VteEpvdldLUjYKVGFzazogN3RqOWJpVzNLUko3RUVXbVZVR2lnSGlvdUNUWGhWMmR6Y3l2d21hN0N5dTcKT3V0Y29tZTogTmV1dHJh"
    "bApEZXRhaWxzOiBwYXNzZWQgdmFsaWRhdGlvbgoKU2lnbiB0byBjcmVhdGUgdGhpcyBhdHRlc3RhdGlvbi4=",
    (
        0x77,
        0x88,
        "Feedback",
        2,
        2,
        b"Great work!",
    ): "U0FUSSBGZWVkYmFjawoKQWdlbnQ6IDkzTUIycVJETlZMeGJtbVB1WXBMZEFxbjN1Mng5Wmhh"
    "VlpLNXdFTEh1ZVA4ClRhc2s6IEFCeUNUeExQUlpQb3lLMjJLZE14YTN4a0NiY05iZU5XelZlRXZoNlVjSnM5Ck91dGNvbWU6IFBvc2l0aXZlCkRldGFp"
    "bHM6IEdyZWF0IHdvcmshCgpTaWduIHRvIGNyZWF0ZSB0aGlzIGF0dGVzdGF0aW9uLg==",
}
"""The vectors of SATI's program for the text that a counterparty signs."""


def data_of(**changes):
    fields = {
        "task_ref": bytes([1]) * 32,
        "agent": AGENT,
        "counterparty": CLIENT_ADDRESS,
        "outcome": Outcome.POSITIVE,
        "data_hash": bytes([2]) * 32,
        "content_type": 1,
        "content": b'{"value":87}',
    }
    return FeedbackData(**{**fields, **changes})


@pytest.mark.parametrize("vector", MESSAGES, ids=lambda value: f"{value[0]:x}")
def test_s38_text_that_the_counterparty_signs_is_that_of_the_vectors(vector):
    agent, task, name, outcome, kind, content = vector
    data = data_of(
        agent=address_text(bytes([agent]) * 32),
        task_ref=bytes([task]) * 32,
        outcome=Outcome(outcome),
        content_type=kind,
        content=content,
    )
    assert base64.b64encode(data.message(name)).decode() == MESSAGES[vector]


@pytest.mark.parametrize(
    ("kind", "content", "shown"),
    [
        (0, b"a", "(none)"),
        (1, b"\xff", "(1 bytes)"),
        (3, b"abc", "ipfs://ZiCa"),
        (4, b"abc", "ar://ZiCa"),
        (5, b"abc", "(encrypted)"),
        (15, b"abc", "(3 bytes)"),
    ],
)
def test_s38_content_of_each_type_is_shown_as_the_program_shows_it(kind, content, shown):
    assert f"Details: {shown}\n" in data_of(content_type=kind, content=content).message("Feedback").decode()


def test_s38_data_have_their_layout():
    data = data_of()
    content = data.to_bytes()
    assert content[0] == 1
    assert content[1:33] == data.task_ref
    assert content[33:65] == base58_bytes(AGENT)
    assert content[65:97] == bytes(CLIENT.verify_key)
    assert (content[97], content[98:130], content[130]) == (2, data.data_hash, 1)
    assert content[131:] == b'{"value":87}'
    assert FeedbackData.of(content) == data


def test_s38_hash_nonce_and_task_are_those_of_our_vectors():
    data = data_of()
    assert data.interaction_hash(SCHEMA).hex() == "a0a1f53f229cedd5f069d766e5c5994875e63bd9546b3180ca606bc510bf7d80"
    assert data.nonce(SCHEMA).hex() == "89b6b46b35d535b8e5d5008e2aaba184aa9ac24c541de61b881bb3fcf3dca9fb"
    assert task_ref_of(bytes(range(64))).hex() == "002030bde3d4cf89919649775cd71875c4d0ab1708a380e03fefc3a28aa24831"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"outcome": 3}, "outcome 3 is not one of"),
        ({"content": b"a" * 513}, "513 bytes, but at most 512"),
        ({"content_type": 16}, "content type 16"),
        ({"task_ref": b"a"}, "task_ref has 1 bytes"),
        ({"data_hash": b""}, "data_hash has 0 bytes"),
        ({"counterparty": AGENT}, "cannot give feedback about itself"),
    ],
)
def test_s38_data_outside_of_their_limits_are_refused(change, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        data_of(**change)


def test_s38_feedback_of_a_payment_names_it_by_the_hash_of_its_signature():
    made = payment_feedback(f"{SOLANA}:{SOLANA_TRANSACTION}", AGENT, CLIENT_ADDRESS, bytes(32), outcome=Outcome.NEUTRAL)
    assert made.task_ref == task_ref_of(base58_bytes(SOLANA_TRANSACTION))
    assert (made.content_type, made.outcome) == (0, Outcome.NEUTRAL)
    with pytest.raises(InvalidArgumentError, match="not a payment on Solana"):
        payment_feedback("eip155:1:0x" + "12" * 32, AGENT, CLIENT_ADDRESS, bytes(32), outcome=Outcome.NEUTRAL)


def test_s38_public_feedback_has_at_most_100_bytes_of_content():
    arguments = f"{SOLANA}:{SOLANA_TRANSACTION}", AGENT, CLIENT_ADDRESS, bytes(32)
    assert payment_feedback(*arguments, outcome=Outcome.POSITIVE, content=b"a" * 100).content
    with pytest.raises(InvalidArgumentError, match="101 bytes, but at most 100"):
        payment_feedback(*arguments, outcome=Outcome.POSITIVE, content=b"a" * 101)


def test_s39_outcome_is_never_guessed_and_content_has_the_names_of_sati():
    with pytest.raises(InvalidArgumentError, match="outcome is missing"):
        payment_feedback(f"{SOLANA}:{SOLANA_TRANSACTION}", AGENT, CLIENT_ADDRESS, bytes(32))
    content = json.loads(feedback_content(875, 1, "starred", "fast"))
    assert content == {"value": 875, "valueDecimals": 1, "tag1": "starred", "tag2": "fast"}
    assert json.loads(feedback_content(5, 0)) == {"value": 5, "valueDecimals": 0}


def attested(*signatures, data=None, schema=SCHEMA):
    return Attestation(schema, data or data_of(), signatures).to_bytes()


def holder_signature(data=None):
    return HOLDER.sign((data or data_of()).interaction_hash(SCHEMA)).signature


def client_signature(data=None, name="Feedback"):
    return CLIENT.sign((data or data_of()).message(name)).signature


BOTH, PUBLIC, OWNER = ({SCHEMA: Schema("Feedback", mode)} for mode in ("both", "counterparty", "owner"))


def test_s40_public_and_blind_attestations_are_told_apart():
    assert read_attestation(attested(client_signature()), PUBLIC).proof == "public"
    blind = attested(holder_signature(), client_signature())
    assert read_attestation(blind, BOTH, HOLDER_ADDRESS).proof == "blind"
    assert read_attestation(attested(holder_signature()), OWNER, HOLDER_ADDRESS).proof == "public"


@pytest.mark.parametrize(
    ("content", "schemas", "holder", "problem"),
    [
        (attested(holder_signature(), client_signature()), BOTH, None, "holder is unknown"),
        (attested(client_signature()), BOTH, HOLDER_ADDRESS, "there are 1 signatures"),
        (attested(client_signature(), holder_signature()), BOTH, HOLDER_ADDRESS, "was not made by"),
        (attested(holder_signature(), client_signature()), BOTH, CLIENT_ADDRESS, "both the agent's holder"),
        (attested(client_signature(name="Other")), PUBLIC, None, "was not made by"),
        (attested(client_signature(data_of(outcome=Outcome.NEGATIVE))), PUBLIC, None, "was not made by"),
        (attested(holder_signature(data_of(data_hash=bytes(32)))), OWNER, HOLDER_ADDRESS, "was not made by"),
    ],
)
def test_s40_signature_of_somebody_else_or_something_else_proves_nothing(content, schemas, holder, problem):
    result = read_attestation(content, schemas, holder)
    assert result.proof == "unverifiable"
    assert problem in result.problem


def test_s41_agents_signature_of_the_specification_is_not_one_that_sati_accepts():
    """The specification's agent signs `interactionHash` of request and response, by a key of its file."""
    seed = interaction_hash(f"{SOLANA}:{SOLANA_TRANSACTION}", b"", b"snow")
    both = attested(HOLDER.sign(seed).signature, client_signature())
    assert read_attestation(both, BOTH, HOLDER_ADDRESS).proof == "unverifiable"
    assert "No published SATI client accepts these arguments" in sati_feedback.__doc__


def changed(place, byte):
    content = bytearray(attested(client_signature()))
    content[place] = byte
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (attested(client_signature(), schema=SATI), "schema .* is unknown"),
        (changed(68, 2), "version 2 is unknown"),
        (changed(32, 0), "its data is about"),
        (changed(68 + 97, 3), "outcome 3 is unknown"),
        (changed(-129, 0), "has 0 signatures"),
        (changed(-129, 3), "has 3 signatures"),
        (changed(-1, 1), "is not empty"),
        (attested(client_signature()) + b"\0", "1 extra bytes follow the end"),
        (attested(client_signature())[:-1], "are left"),
        (b"", "are left"),
    ],
)
def test_s40_attestation_of_another_layout_is_refused_by_name(content, problem):
    with pytest.raises(MalformedAccountError, match=problem):
        read_attestation(content, PUBLIC)


def test_s40_no_bytes_of_attestations_break_the_reader():
    honest = attested(client_signature())
    outcomes = fuzz(lambda content: read_attestation(content, PUBLIC), honest, 11, fuzz_count(500))
    assert outcomes["MalformedAccountError"] > outcomes.total() // 10, outcomes
    assert outcomes["read"], outcomes
