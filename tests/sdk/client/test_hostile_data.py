"""Anybody can write any bytes on chain. No read fails because of somebody else's entry, and no byte of it acts."""

from __future__ import annotations

import threading

import pytest
from eth_abi import encode
from eth_utils.crypto import keccak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilateral.client import Client
from bilateral.core.errors import DocumentError, ForbiddenAddressError, MalformedDocumentError, UnsupportedUriError
from bilateral.core.identifiers import AgentId
from bilateral.core.text import ChainText
from bilateral.documents import DataUriStore, Loader
from tests.sdk.client.helpers import send

HOSTILE = {
    "no UTF-8": b"\xff\xfe\x80",
    "half a character": "ü".encode()[:1],
    "NUL": b"a\x00b",
    "markup": b"<script>alert(1)</script>[bold]",
    "escapes": b"\x1b[2J\x07\r\n\xe2\x80\xae",
    "100 kB": b"x" * 100_000,
}

pytestmark = pytest.mark.parametrize("connect", [Client], indirect=True)  # what comes back does not depend on it


def data(signature, types, values):
    """A call whose texts are any bytes, which the ABI does not tell from strings."""
    return keccak(text=signature)[:4] + encode([kind.replace("string", "bytes") for kind in types], values)


@pytest.fixture
def scribble(web3, deployment, reviewer):
    """Gives feedback with any bytes for texts."""
    types = ["uint256", "int128", "uint8", "string", "string", "string", "string", "bytes32"]

    def give(agent, tag1=b"", tag2=b"", endpoint=b"", uri=b"", digest=bytes(32)):
        call = data(
            f"giveFeedback({','.join(types)})", types, [agent.token_id, 1, 0, tag1, tag2, endpoint, uri, digest]
        )
        send(web3, reviewer, deployment.reputation, call)

    return give


@pytest.fixture
def named(web3, deployment, owner):
    """Registers an agent with any bytes for its URI."""

    def register(uri):
        receipt = send(web3, owner, deployment.identity, data("register(string)", ["string"], [uri]))
        return AgentId(int(receipt["logs"][0]["topics"][3].hex(), 16), deployment.chain_id)

    return register


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_feedback_with_any_bytes_is_read(connect, reviewer, agent, scribble, text):
    scribble(agent, text, text, text, text)
    client = connect()
    entry = client.get_feedback(agent, reviewer.address, 0)
    for shown in (entry.tag1, entry.tag2, entry.event.endpoint, entry.event.uri):
        assert shown.raw == text
        assert shown.printable.isprintable()
        assert shown.is_valid == (text == text.decode(errors="ignore").encode())
    assert isinstance(entry.file_problem, DocumentError)
    assert str(entry.file_problem).isprintable()
    assert len(str(entry.file_problem)) < 1000


def test_one_entry_does_not_spoil_the_others(connect, other_reviewer, agent, scribble):
    for text in HOSTILE.values():
        scribble(agent, text, text, text, text)
    client = connect(other_reviewer)
    client.give_feedback(agent, 85, "starred").wait()
    assert [entry.value for entry in client.search_feedback(agent, tags=["starred"], load_files=True)] == [85]
    assert len(client.read_all_feedback(agent)) == len(HOSTILE) + 1
    assert client.get_reputation_summary(agent, "starred").count == 1


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_an_agent_with_any_bytes_is_loaded(connect, named, text):
    agent = connect().load_agent(named(text))
    assert agent.uri.raw == text
    assert agent.file is None
    assert isinstance(agent.file_problem, DocumentError)


@pytest.mark.parametrize(
    "uri",
    [
        b"http://127.0.0.1:8545/",
        b"http://169.254.169.254/latest/meta-data/",
        b"http://[::1]/",
        b"http://localhost/",
        b"http://0x7f.1/",
        b"https://10.0.0.1/agent.json",
    ],
)
def test_a_uri_to_a_private_address_is_not_followed(connect, named, uri):
    agent = connect(loader=Loader(gateways=())).load_agent(named(uri))
    assert agent.file is None
    assert isinstance(agent.file_problem, ForbiddenAddressError)


@pytest.mark.parametrize("uri", [b"file:///etc/passwd", b"javascript:alert(1)", b"ftp://a/b", b"//a/b"])
def test_a_uri_of_another_scheme_is_not_followed(connect, named, uri):
    agent = connect().load_agent(named(uri))
    assert isinstance(agent.file_problem, UnsupportedUriError)


@pytest.mark.parametrize(
    "document",
    [b"", b"null", b"[" * 50_000, b'{"a":1,"a":2}', b'{"signers":[7]}', b"\xff", b'{"value":1e999}'],
    ids=["empty", "null", "brackets", "a name twice", "a wrong type", "no UTF-8", "infinity"],
)
def test_a_file_of_any_content_is_reported(connect, reviewer, agent, scribble, named, document):
    stored = DataUriStore().put(document)
    scribble(agent, uri=stored.uri.encode(), digest=stored.hash)
    entry = connect().get_feedback(agent, reviewer.address, 0)
    if document == b'{"signers":[7]}':  # an unknown field of a feedback file, and so kept
        assert entry.file is not None
    else:
        assert entry.file is None
        assert isinstance(entry.file_problem, DocumentError)
    assert isinstance(connect().load_agent(named(stored.uri.encode())).file_problem, MalformedDocumentError)


def test_metadata_of_any_bytes_is_read(connect, owner, agent):
    client = connect(owner)
    for value in (b"", b"\xff" * 1000, bytes(32)):
        client.set_metadata(agent, "key", value).wait()
        assert client.get_metadata(agent, "key") == value


def test_an_answer_with_any_bytes_is_read(connect, web3, deployment, reviewer, payer, agent, scribble):
    scribble(agent)
    types = ["uint256", "address", "uint64", "string", "bytes32"]
    call = data(
        f"appendResponse({','.join(types)})", types, [agent.token_id, reviewer.address, 1, b"\xff\x1b", bytes(32)]
    )
    send(web3, payer, deployment.reputation, call)
    (answer,) = connect().get_responses(agent, reviewer.address, 0)
    assert answer.uri.raw == b"\xff\x1b"


def test_a_validation_with_any_bytes_is_read(connect, web3, deployment, owner, checker, agent):
    name = keccak(str(agent).encode() + connect().__class__.__name__.encode())
    connect(owner).request_validation(agent, checker.address, "data:,", name).wait()
    types = ["bytes32", "uint8", "string", "bytes32", "string"]
    call = data(f"validationResponse({','.join(types)})", types, [name, 7, b"\xff", bytes(32), b"\xff\x00<b>"])
    send(web3, checker, deployment.validation, call)
    status = connect().get_validation_status(name)
    assert (status.response, status.tag.raw, status.tag.is_valid) == (7, b"\xff\x00<b>", False)


def test_a_domain_of_any_bytes_is_read(connect, web3, deployment, newcomer):
    domain = b"\xff\x1b" + newcomer.address.encode()
    call = data("newAgent(string,address)", ["string", "address"], [domain, newcomer.address])
    send(web3, newcomer, deployment.identity, call)
    client = connect()
    entry = client.resolve_by_address(newcomer.address)
    assert entry.domain.raw == domain
    assert client.load_agent(entry.agent).domain == ChainText(domain)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.tuples(*[st.binary(max_size=80)] * 4), digest=st.binary(min_size=32, max_size=32))
def test_no_bytes_break_a_read(connect, reviewer, agent, scribble, texts, digest):
    scribble(agent, *texts, digest)
    entry = connect().search_feedback(agent, reviewers=[reviewer.address], load_files=True)[-1]
    assert (entry.tag1.raw, entry.tag2.raw, entry.event.endpoint.raw, entry.event.uri.raw) == texts


def test_slow_servers_are_waited_for_together(connect, reviewer, agent, scribble, server):
    together = threading.Barrier(12)

    def stall(handler):
        together.wait(60)
        handler.send_error(404)

    for number in range(12):
        server.routes[f"/{number}"] = stall
        scribble(agent, uri=f"{server.url}/{number}".encode())
    entries = connect().search_feedback(agent, load_files=True)
    assert not together.broken
    assert [entry.file_problem.reason for entry in entries] == ["unreachable_document"] * 12
