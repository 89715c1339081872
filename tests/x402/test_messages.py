"""Messages are read strictly and written back exactly; each invalid field is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.x402 import (
    AgentRegistration,
    ClientAgent,
    InteractionData,
    InvalidMessageError,
    ReputationInfo,
    SettlementReceipt,
    reputation_8004_schema,
)
from tests.x402 import examples
from tests.x402.examples import changed

INFO = examples.SINGLE_CHAIN["extensions"]["8004-reputation"]["info"]
INTERACTION = examples.PAYMENT_RESPONSE["extensions"]["8004-reputation"]
EVM_INTERACTION = {
    "networkId": examples.BASE,
    "agentId": "42",
    "agentRegistry": f"{examples.BASE}:{examples.IDENTITY}",
    "taskRef": f"{examples.BASE}:0x{'ab' * 32}",
    "interactionHash": "0x" + "12" * 32,
    "agentSignature": "a1" * 65,
    "timestamp": 1737763200,
}

TEXTS = (("", "malformed"), (7, "wrong_type"), (["42"], "wrong_type"), ("4" * 5000, "too_long"), (None, "missing"))


def lower(value):
    """Return a JSON value with every text in lower case."""
    return json.loads(json.dumps(value).lower())


@pytest.mark.parametrize("info", [INFO, examples.MULTI_CHAIN_INFO], ids=["single chain", "multi chain"])
def test_declarations_of_the_specification_are_read_and_written_back(info):
    assert lower(ReputationInfo.of(info).to_object()) == lower(info)
    assert ReputationInfo.of({"info": info, "schema": {"$ref": "https://hostile.example/"}}) == ReputationInfo.of(info)


def test_the_schema_is_that_of_the_specification():
    assert reputation_8004_schema == examples.SCHEMA


def test_one_program_may_be_both_registries_on_solana():
    registration = ReputationInfo.of(examples.MULTI_CHAIN_INFO).registrations[1]
    assert registration.reputation_registry == registration.agent.registry


def test_registration_on_a_network_is_the_first_one_there():
    info = ReputationInfo.of(
        changed(examples.MULTI_CHAIN_INFO, ["registrations"], [*INFO["registrations"] * 2, *INFO["registrations"]])
    )
    assert info.registration_on(examples.BASE) is info.registrations[0]
    assert info.registration_on("eip155:1") is None


@pytest.mark.parametrize(
    ("path", "value", "field", "fault"),
    [
        *((["version"], value, "version", fault) for value, fault in TEXTS),
        (["version"], "1.0", "version", "malformed"),
        (["version"], "1.0.0\n", "version", "malformed"),
        (["version"], "\u0661.0.0", "version", "malformed"),
        (["version"], "2.0.0", "version", "unsupported_version"),
        (["registrations"], None, "registrations", "missing"),
        (["registrations"], {}, "registrations", "wrong_type"),
        (["registrations"], [], "registrations", "malformed"),
        (["registrations"], INFO["registrations"] * 33, "registrations", "too_many"),
        (["registrations", 0], 42, "registrations[0]", "wrong_type"),
        *((["registrations", 0, "agentId"], value, "registrations[0].agentId", fault) for value, fault in TEXTS),
        (["registrations", 0, "agentId"], "042", "registrations[0].agentId", "malformed"),
        (["registrations", 0, "agentId"], "-1", "registrations[0].agentId", "malformed"),
        (["registrations", 0, "agentId"], str(2**256), "registrations[0].agentId", "malformed"),
        *(
            (["registrations", 0, name], value, f"registrations[0].{name}", fault)
            for name in ("agentRegistry", "reputationRegistry")
            for value, fault in TEXTS
        ),
        (
            ["registrations", 0, "agentRegistry"],
            f"{examples.BASE}:{examples.IDENTITY[:-1]}E".replace("a", "A", 1),
            "registrations[0].agentRegistry",
            "wrong_case",
        ),
        (["registrations", 0, "agentRegistry"], examples.IDENTITY, "registrations[0].agentRegistry", "malformed"),
        (
            ["registrations", 0, "reputationRegistry"],
            f"eip155:1:{examples.REPUTATION}",
            "registrations[0].reputationRegistry",
            "wrong_chain",
        ),
        (["endpoint"], "weather", "endpoint", "malformed"),
        (["endpoint"], "https://[", "endpoint", "malformed"),
        (["endpoint"], "https://a\nb/", "endpoint", "malformed"),
        (["endpoint"], "https://a/" + "b" * 2048, "endpoint", "too_long"),
        (["feedbackAggregator"], 7, "feedbackAggregator", "wrong_type"),
    ],
)
def test_invalid_field_of_a_declaration_is_named(path, value, field, fault):
    with pytest.raises(InvalidMessageError) as error:
        ReputationInfo.of(changed(INFO, path, value))
    assert (error.value.field, error.value.fault) == (field, fault)


@pytest.mark.parametrize("info", [None, [], "info", 7, {"info": None}, {"info": []}])
def test_declaration_of_another_type_is_refused(info):
    with pytest.raises(InvalidMessageError, match=r"^info: "):
        ReputationInfo.of(info)


def test_address_in_one_case_is_accepted():
    upper = changed(INFO, ["registrations", 0, "agentRegistry"], f"{examples.BASE}:0x{examples.IDENTITY[2:].upper()}")
    assert ReputationInfo.of(upper) == ReputationInfo.of(INFO)


def test_unknown_fields_are_ignored():
    assert ReputationInfo.of(INFO | {"clientAgentId": "7", "registration": []}) == ReputationInfo.of(INFO)


def test_registries_on_two_chains_cannot_be_declared():
    here, there = ReputationInfo.of(examples.MULTI_CHAIN_INFO).registrations
    with pytest.raises(InvalidMessageError) as error:
        AgentRegistration(here.agent, there.reputation_registry)
    assert error.value.fault == "wrong_chain"


def test_payment_response_of_the_specification_is_read():
    receipt = SettlementReceipt.of(examples.PAYMENT_RESPONSE)
    assert (receipt.is_success, receipt.network, receipt.transaction, receipt.payer) == (
        True,
        examples.SOLANA,
        examples.SOLANA_TRANSACTION,
        examples.MINT,
    )
    assert InteractionData.of(receipt.interaction).to_object() == INTERACTION


def test_flat_payment_response_of_x402_is_read():
    flat = {"success": True, "transaction": "0x12", "network": examples.BASE, "extensions": {"8004-reputation": {}}}
    assert SettlementReceipt.of(flat) == SettlementReceipt(True, examples.BASE, "0x12", None, {})
    assert SettlementReceipt.of({**flat, "extensions": None}).interaction is None


@pytest.mark.parametrize(
    ("message", "field", "fault"),
    [
        (None, "PAYMENT-RESPONSE", "missing"),
        ([], "PAYMENT-RESPONSE", "wrong_type"),
        ({}, "success", "missing"),
        ({"success": "true"}, "success", "wrong_type"),
        ({"success": True}, "network", "missing"),
        ({"success": True, "network": examples.BASE}, "transaction", "missing"),
        ({"success": True, "network": examples.BASE, "transaction": 7}, "transaction", "wrong_type"),
        ({"success": True, "network": examples.BASE, "transaction": "0x", "payer": 7}, "payer", "wrong_type"),
        ({"success": True, "extensions": []}, "extensions", "wrong_type"),
        ({"settlementResponse": []}, "settlementResponse", "wrong_type"),
        ({"settlementResponse": {"success": True}}, "networkId", "missing"),
    ],
)
def test_invalid_field_of_a_payment_response_is_named(message, field, fault):
    with pytest.raises(InvalidMessageError) as error:
        SettlementReceipt.of(message)
    assert (error.value.field, error.value.fault) == (field, fault)


@pytest.mark.parametrize(
    "wrap", [lambda value: value, lambda value: {"info": value}, lambda value: {"info": {"interaction": value}}]
)
def test_interaction_is_read_bare_or_wrapped(wrap):
    assert InteractionData.of(wrap(EVM_INTERACTION)).agent_id == "42"


@pytest.mark.parametrize(
    ("path", "value", "field", "fault"),
    [
        *(
            ([name], value, name, fault)
            for name in ("networkId", "agentId", "taskRef", "interactionHash", "agentSignature")
            for value, fault in TEXTS
        ),
        (["networkId"], "eip155:1", "taskRef", "wrong_chain"),
        (["agentRegistry"], f"eip155:1:{examples.IDENTITY}", "agentRegistry", "wrong_chain"),
        (["agentId"], examples.MINT, "agentId", "malformed"),
        (["taskRef"], f"{examples.BASE}:0x12", "taskRef", "malformed"),
        (["taskRef"], f"{examples.BASE}:" + "ab" * 32, "taskRef", "malformed"),
        (["interactionHash"], "0x" + "12" * 31, "interactionHash", "malformed"),
        (["interactionHash"], "0x" + "zz" * 32, "interactionHash", "malformed"),
        (["interactionHash"], "1 " * 32, "interactionHash", "malformed"),
        (["agentSignature"], "a1" * 63, "agentSignature", "malformed"),
        (["agentSignature"], "a1" * 66, "agentSignature", "malformed"),
        (["timestamp"], None, "timestamp", "missing"),
        (["timestamp"], "1737763200", "timestamp", "wrong_type"),
        (["timestamp"], True, "timestamp", "wrong_type"),
        (["timestamp"], 1.5, "timestamp", "wrong_type"),
        (["timestamp"], -1, "timestamp", "malformed"),
        (["timestamp"], 2**53, "timestamp", "malformed"),
    ],
)
def test_invalid_field_of_an_interaction_is_named(path, value, field, fault):
    with pytest.raises(InvalidMessageError) as error:
        InteractionData.of(changed(EVM_INTERACTION, path, value))
    assert (error.value.field, error.value.fault) == (field, fault)


def test_hexadecimal_digits_are_read_with_and_without_0x():
    bare = EVM_INTERACTION | {
        "interactionHash": "12" * 32,
        "agentSignature": "0x" + "a1" * 65,
        "timestamp": 1737763200.0,
    }
    assert InteractionData.of(bare) == InteractionData.of(EVM_INTERACTION)


def test_task_reference_keeps_the_case_in_which_it_was_hashed():
    task_ref = f"{examples.BASE}:0x{'AB' * 32}"
    interaction = InteractionData.of(EVM_INTERACTION | {"taskRef": task_ref})
    assert interaction.task_ref == task_ref
    assert str(interaction.payment) == task_ref.lower()


@pytest.mark.parametrize(
    "wrap",
    [lambda claim: claim, lambda claim: {"info": INFO | claim, "schema": {}}, lambda claim: {"info": INFO} | claim],
    ids=["literal", "inside info", "beside info"],
)
def test_claim_of_a_client_agent_is_read_in_every_form(wrap):
    claim = examples.CLIENT_PAYLOAD["8004-reputation"]
    read = ClientAgent.of(wrap(claim))
    assert lower(read.to_object()) == lower(claim)


@pytest.mark.parametrize("value", [None, {}, {"info": INFO}, {"info": None}])
def test_client_that_claims_nothing_counts_as_no_agent(value):
    assert ClientAgent.of(value) is None


@pytest.mark.parametrize(
    ("claim", "field", "fault"),
    [
        ({"clientAgentId": "99"}, "clientAgentRegistry", "missing"),
        ({"clientAgentRegistry": f"{examples.BASE}:{examples.IDENTITY}"}, "clientAgentId", "missing"),
        ({"clientAgentRegistry": 7, "clientAgentId": "99"}, "clientAgentRegistry", "wrong_type"),
        (examples.CLIENT_PAYLOAD["8004-reputation"] | {"clientAgentId": 99}, "clientAgentId", "wrong_type"),
    ],
)
def test_invalid_field_of_a_claim_is_named(claim, field, fault):
    with pytest.raises(InvalidMessageError) as error:
        ClientAgent.of({"info": INFO | claim})
    assert (error.value.field, error.value.fault) == (field, fault)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw, message):
    """A message in which any JSON value stands at one place."""
    path, here = [], message
    while isinstance(here, (dict, list)) and here and (not path or draw(st.booleans())):
        path.append(draw(st.sampled_from(list(here) if isinstance(here, dict) else list(range(len(here))))))
        here = here[path[-1]]
    value = draw(JSON.filter(lambda value: value is not None))
    return changed(message, path, value) if path else value


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (ReputationInfo.of, examples.MULTI_CHAIN_INFO),
        (InteractionData.of, EVM_INTERACTION),
        (SettlementReceipt.of, examples.PAYMENT_RESPONSE),
        (ClientAgent.of, examples.CLIENT_PAYLOAD["8004-reputation"]),
    ],
    ids=["declaration", "interaction", "settlement", "claim"],
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
