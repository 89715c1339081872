"""Messages and hashes of the upstream draft `reputation`: read strictly, written exactly, equal to the vectors."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.values import FeedbackValue
from bilateral.x402 import (
    PROFILE_8004,
    PROFILE_DRAFT,
    REPUTATION_DRAFT,
    InvalidMessageError,
    ReputationInfo,
    draft_data_hash,
    draft_interaction_hash,
    draft_reviewer_hash,
    key_from_secret,
    reputation_draft_schema,
)
from bilateral.x402.proof.profiles import profile_among
from tests.x402 import examples
from tests.x402.examples import changed
from tests.x402.test_messages import TEXTS, damaged
from tests.x402.vectors import DRAFT_FILE, SECRET, draft_vectors

VECTORS = json.loads(DRAFT_FILE.read_text(encoding="utf-8"))
STATEMENT = VECTORS["statement"]
REGISTRATIONS = [
    {"agentRegistry": registration["agentRegistry"], "agentId": registration["agentId"]}
    for registration in examples.MULTI_CHAIN_INFO["registrations"]
]
INFO = {"version": "1.0.0", "registrations": REGISTRATIONS}


def test_vectors_are_those_of_the_script():
    assert draft_vectors() == VECTORS


@pytest.mark.parametrize("vector", VECTORS["interactions"], ids=lambda value: value["name"])
def test_hashes_are_the_vectors(vector):
    request, response = (bytes.fromhex(vector[name]) for name in ("requestBody", "responseBody"))
    hashes = PROFILE_DRAFT.hashes(vector["taskRef"], request, vector["requestTarget"], response)
    assert ("0x" + hashes.data.hex(), "0x" + hashes.interaction.hex()) == (
        vector["dataHash"],
        vector["interactionHash"],
    )


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
@pytest.mark.parametrize("vector", VECTORS["interactions"], ids=lambda value: value["name"])
def test_signature_is_the_vectors(vector, algorithm):
    digest = bytes.fromhex(vector["interactionHash"][2:])
    assert "0x" + key_from_secret(SECRET, algorithm).sign(digest).hex() == vector[algorithm]


@pytest.mark.parametrize("vector", VECTORS["reviews"], ids=lambda value: value["value"])
def test_review_is_the_vectors(vector):
    agent = GlobalAgentId(AccountId.parse(vector["agentRegistry"]), vector["agentId"])
    value = FeedbackValue(vector["value"], vector["valueDecimals"])
    data = bytes.fromhex(vector["dataHash"][2:])
    digest = draft_reviewer_hash(agent, vector["taskRef"], data, value, vector["tag1"], vector["tag2"])
    assert "0x" + digest.hex() == vector["reviewerMessage"]
    assert "0x" + key_from_secret(SECRET).sign(digest).hex() == vector["reviewerSignature"]


def test_tag_with_nul_is_not_signed():
    agent = GlobalAgentId(AccountId.parse(VECTORS["reviews"][0]["agentRegistry"]), "42")
    with pytest.raises(InvalidArgumentError, match="contains NUL"):
        draft_reviewer_hash(agent, "task", bytes(32), FeedbackValue(95, 0), "a\0b", "x402")


def test_boundary_between_the_bodies_is_signed():
    assert draft_data_hash(b"ab", b"c") != draft_data_hash(b"a", b"bc")


def test_target_is_signed_where_there_is_no_body():
    oslo, bergen = (PROFILE_DRAFT.hashes("task", b"", f"/weather?city={city}", b"snow") for city in ("Oslo", "Bergen"))
    assert oslo != bergen
    with_body = PROFILE_DRAFT.hashes("task", b"{}", "/weather", b"snow")
    assert with_body == PROFILE_DRAFT.hashes("task", b"{}", "/other", b"snow")
    assert with_body.interaction == draft_interaction_hash("task", draft_data_hash(b"{}", b"snow"))


def test_statement_is_read_and_written_back():
    assert PROFILE_DRAFT.statement_object(PROFILE_DRAFT.statement_of(STATEMENT)) == STATEMENT
    bare = changed(STATEMENT, ["feedbackEndpoint"], None)
    assert PROFILE_DRAFT.statement_object(PROFILE_DRAFT.statement_of(bare)) == bare
    assert str(PROFILE_DRAFT.statement_of(STATEMENT).network) == examples.BASE


def test_declaration_names_no_reputation_registry():
    info = PROFILE_DRAFT.info_of({"info": INFO, "schema": {"$ref": "https://hostile.example/"}})
    assert {registration.reputation_registry for registration in info.registrations} == {None}
    written = PROFILE_DRAFT.declaration(ReputationInfo.of(examples.MULTI_CHAIN_INFO))[REPUTATION_DRAFT]
    assert json.loads(json.dumps(written["info"]).lower()) == json.loads(json.dumps(INFO).lower())
    assert written["schema"] == reputation_draft_schema
    assert PROFILE_DRAFT.info_object(info) == written["info"]


@pytest.mark.parametrize(
    ("path", "value", "field", "fault"),
    [
        *((["version"], value, "version", fault) for value, fault in TEXTS),
        (["version"], "2.0.0", "version", "unsupported_version"),
        (["registrations"], None, "registrations", "missing"),
        (["registrations"], [], "registrations", "malformed"),
        (["registrations"], REGISTRATIONS * 17, "registrations", "too_many"),
        (["registrations", 0], [], "registrations[0]", "wrong_type"),
        *((["registrations", 0, "agentId"], value, "registrations[0].agentId", fault) for value, fault in TEXTS),
        *(
            (["registrations", 0, "agentRegistry"], value, "registrations[0].agentRegistry", fault)
            for value, fault in TEXTS
        ),
    ],
)
def test_invalid_field_of_a_declaration_is_named(path, value, field, fault):
    with pytest.raises(InvalidMessageError) as error:
        PROFILE_DRAFT.info_of(changed(INFO, path, value))
    assert (error.value.field, error.value.fault) == (field, fault)


HEXADECIMAL = ("dataHash", "interactionHash", "agentSignerPublicKey", "agentSignature")


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        *(
            (name, value, fault)
            for name in ("agentRegistry", "agentId", "taskRef", "agentSignatureAlgorithm", *HEXADECIMAL)
            for value, fault in TEXTS
        ),
        *((name, value, "malformed") for name in HEXADECIMAL for value in ("0x12", "0x" + "zz" * 32, "0x" + "12" * 34)),
        ("agentSignatureAlgorithm", "rsa", "malformed"),
        ("agentSignerPublicKey", "0x" + "12" * 32, "malformed"),
        ("agentId", "042", "malformed"),
        ("agentRegistry", f"{examples.BASE}:0x8004a818BFB912233c491871b3d84c89A494BD9e", "wrong_case"),
        ("taskRef", f"{examples.BASE}:0x12", "malformed"),
        ("feedbackEndpoint", 7, "wrong_type"),
        ("feedbackEndpoint", "feedback", "malformed"),
        ("feedbackEndpoint", "https://a/" + "b" * 2048, "too_long"),
    ],
)
def test_invalid_field_of_a_statement_is_named(name, value, fault):
    with pytest.raises(InvalidMessageError) as error:
        PROFILE_DRAFT.statement_of(changed(STATEMENT, [name], value))
    assert (error.value.field, error.value.fault) == (name, fault)


@pytest.mark.parametrize("value", [None, [], "statement", 7])
def test_statement_of_another_type_is_refused(value):
    with pytest.raises(InvalidMessageError, match=r"^reputation: "):
        PROFILE_DRAFT.statement_of(value)


@pytest.mark.parametrize(
    ("read", "message"),
    [(PROFILE_DRAFT.info_of, INFO), (PROFILE_DRAFT.statement_of, STATEMENT)],
    ids=["declaration", "statement"],
)
def test_any_damaged_message_is_read_or_refused_with_the_field(read, message):
    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(damaged(message))
    def check(value):
        try:
            read(value)
        except InvalidMessageError as error:
            assert error.field
            assert str(error).isprintable()

    check()


@pytest.mark.parametrize(
    ("extensions", "profile"),
    [
        ([None, None], PROFILE_8004),
        ([{"reputation": {}}], PROFILE_DRAFT),
        ([{"8004-reputation": {}, "reputation": {}}], PROFILE_8004),
        ([[], {"reputation": {}}], PROFILE_DRAFT),
        ([{"reputation": {}}, {"8004-reputation": {}}], PROFILE_DRAFT),
    ],
    ids=["none", "draft", "both", "strange", "statement first"],
)
def test_profile_is_that_of_the_statement_and_the_specifications_first(extensions, profile):
    assert profile_among(*extensions) is profile
