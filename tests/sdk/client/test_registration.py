"""Edits of registration files by the client."""

from __future__ import annotations

import pytest

from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError, UnreachableDocumentError
from bilateral.core.text.encoding import encode_object
from bilateral.documents import DataUriStore, RegistrationFile
from tests.sdk.client.helpers import nonce_of

pytestmark = pytest.mark.one_client

MCP = {"name": "MCP", "endpoint": "https://agent.example/mcp", "version": "2025-06-18"}
A2A = {"name": "A2A", "endpoint": "https://agent.example/a2a"}

FILE = RegistrationFile.new(
    "Weather agent", "Forecasts", "https://agent.example/i.png", services=[MCP, A2A], x402Support=True, motto="Sun"
)


@pytest.fixture
def described(register):
    """An agent with a registration file."""
    return register(uri=DataUriStore().put(FILE.to_bytes()).uri)


def uri_of(content):
    return DataUriStore().put(encode_object(content)).uri


def test_an_edit_changes_the_named_fields_only(connect, owner, described):
    client = connect(owner)
    result = client.edit_registration(described, name="Storm agent", fields={"active": False}).wait()
    loaded = client.load_agent(described)
    assert (result.uri, result.updated_by) == (loaded.uri, owner.address)
    entry = {"agentRegistry": str(loaded.registry), "agentId": described.token_id}
    assert loaded.file.to_object() == {
        **FILE.to_object(),
        "name": "Storm agent",
        "active": False,
        "registrations": [entry],
    }


def test_an_edit_replaces_adds_and_removes_services(connect, owner, described):
    client = connect(owner)
    replacement, addition = {**MCP, "version": "2025-11-25"}, {"name": "web", "endpoint": "https://agent.example"}
    client.edit_registration(described, add_services=[replacement, addition], remove_services=["A2A"]).wait()
    assert client.load_agent(described).file.to_object()["services"] == [replacement, addition]


def test_an_edit_keeps_the_name_that_older_files_give_services(connect, owner, register):
    client = connect(owner)
    older = {key: value for key, value in FILE.to_object().items() if key != "services"} | {"endpoints": [MCP]}
    agent = register(uri=uri_of(older))
    client.edit_registration(agent, add_services=[A2A]).wait()
    file = client.load_agent(agent).file.to_object()
    assert file["endpoints"] == [MCP, A2A]
    assert "services" not in file


def test_a_file_that_cannot_be_loaded_is_not_edited(connect, owner, register, web3):
    agent = register(uri="https://unreachable.invalid/agent.json")
    before = nonce_of(web3, owner)
    with pytest.raises(UnreachableDocumentError):
        connect(owner).edit_registration(agent, name="Storm agent")
    malformed = register(uri=uri_of({"signers": [1]}))
    with pytest.raises(MalformedDocumentError, match="signers"):
        connect(owner).edit_registration(malformed, name="Storm agent")
    assert nonce_of(web3, owner) == before + 1  # the registration of the second agent


def test_an_edit_asks_for_the_malformed_fields_of_the_present_file(connect, owner, register):
    client = connect(owner)
    agent = register(uri=uri_of({**FILE.to_object(), "active": "true", "services": ["https://agent.example"]}))
    with pytest.raises(MalformedDocumentError, match="active"):
        client.edit_registration(agent, name="Storm agent")
    with pytest.raises(
        MalformedDocumentError, match="services in the current file is not a list of objects: pass all services"
    ):
        client.edit_registration(agent, add_services=[A2A], fields={"active": True})
    with pytest.raises(MalformedDocumentError, match="active is not true or false"):
        client.register_agent(file=client.load_agent(agent).file)
    client.edit_registration(agent, fields={"active": True, "services": [A2A]}).wait()
    assert client.load_agent(agent).file.faults == ()


def test_an_agent_without_a_file_has_nothing_to_edit(connect, owner, agent):
    with pytest.raises(InvalidArgumentError, match="set_agent_uri"):
        connect(owner).edit_registration(agent, name="Storm agent")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, "pass a new value"),
        ({"name": "Weather agent"}, "pass a new value"),
        ({"remove_services": ["MQTT"]}, "no service 'MQTT'"),
        ({"add_services": [A2A], "fields": {"services": []}}, "not both"),
    ],
)
def test_an_edit_without_a_clear_effect_is_refused(connect, owner, described, changes, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        connect(owner).edit_registration(described, **changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": ""}, "name is missing"),
        ({"add_services": [{"name": "web"}]}, "has no endpoint"),
        ({"fields": {"x402_support": False}}, "x402Support"),
        ({"fields": {"active": "yes"}}, "active"),
    ],
)
def test_an_edit_cannot_make_a_file_invalid(connect, owner, described, changes, problem):
    with pytest.raises(MalformedDocumentError, match=problem):
        connect(owner).edit_registration(described, **changes)


def test_an_edit_may_leave_a_problem_that_was_there_before(connect, owner, register):
    client = connect(owner)
    agent = register(uri=uri_of({"name": "Weather agent"}))
    client.edit_registration(agent, description="Forecasts").wait()
    assert client.load_agent(agent).description == "Forecasts"


def test_others_cannot_edit(connect, other_owner, described):
    with pytest.raises(ContractRevertError) as caught:
        connect(other_owner).edit_registration(described, name="Storm agent")
    assert caught.value.reason == "not_authorized"
