"""Files of every kind, scheme and misbehaviour: the outcome that the index stores for each."""

from __future__ import annotations

import base64
import socket
import time
from dataclasses import replace

import pytest

from bilateral.documents import Limits, document_hash
from bilateral.index.files import tables as schema
from tests.index.files.conftest import (
    authorized_feedback_given,
    feedback_given,
    registered,
    registration,
    response_appended,
    uri_updated,
    validation_answered,
    validation_requested,
)
from tests.sdk.servers import redirect, respond

FILE = registration(active=True, x402Support=True)


@pytest.fixture
def database_url(tmp_path):
    """SQLite alone: the other tests of files store the same rows on both engines."""
    return f"sqlite:///{tmp_path / 'index.sqlite'}"


def data_uri(content):
    return "data:application/json;base64," + base64.b64encode(content).decode()


def test_a_data_uri_is_read_at_once_without_the_queue(story):
    story.block(*registered(data_uri(FILE)))
    story.scan_all()
    row = story.file()
    assert (row["state"], row["integrity"], row["next_at"]) == ("loaded", "inline", None)
    assert row["content_hash"] == document_hash(FILE)
    assert story.queue.claim() is None
    (read,) = story.rows(schema.registration_file)
    assert (read["name"], read["active"], read["x402_support"]) == ("Agent", True, True)


def test_an_https_registration_is_fetched_and_shown_beside_its_agent(story, server):
    server.routes["/agent.json"] = FILE
    story.block(*registered(f"{server.url}/agent.json"))
    story.settle()
    (shown,) = story.query("SELECT * FROM agent_registration")
    assert (shown["agent_id"], shown["name"], shown["state"], shown["integrity"]) == (1, "Agent", "loaded", None)


def test_a_file_of_ipfs_is_read_through_the_gateway_and_never_again(story, gateway):
    cid = gateway.blocks.add(FILE)
    story.block(*registered(f"ipfs://{cid}"))
    story.settle()
    row = story.file()
    assert (row["state"], row["integrity"], row["next_at"]) == ("loaded", "cid", None)


def test_content_of_another_cid_is_refused_and_tried_again(story, gateway):
    cid = gateway.blocks.add(FILE)
    gateway.forged[cid] = b'{"name":"impostor"}'
    story.block(*registered(f"ipfs://{cid}"))
    story.settle()
    row = story.file()
    assert (row["state"], row["reason"], row["content_hash"]) == ("failed", "cid_mismatch", None)
    assert row["next_at"] > story.clock.now
    del gateway.forged[cid]
    story.clock.pass_(120)
    story.settle()
    assert story.file()["state"] == "loaded"


def test_files_of_all_events_are_fetched_and_their_hashes_are_checked(story, server):
    content = b'{"text":"It worked.","proofOfPayment":{"txHash":"0xabc","chainId":"8453"}}'
    hash_ = document_hash(content)
    for name in "fraqv":
        server.routes[f"/{name}"] = content
    logs = (
        *(feedback_given(f"{server.url}/f", hash_), response_appended(f"{server.url}/r", hash_)),
        *(authorized_feedback_given(f"{server.url}/a", hash_), validation_requested(f"{server.url}/q", hash_)),
        validation_answered(f"{server.url}/v", hash_, hash_),
    )
    story.block(*registered(""), *logs)
    story.settle()
    shown = story.query("SELECT kind, integrity, state FROM referenced_file ORDER BY log_index")
    assert [(entry["kind"], entry["integrity"]) for entry in shown] == [
        *(("feedback", "hash"), ("response", "hash"), ("feedback", "hash")),
        *(("request", "hash"), ("validation", "hash")),
    ]
    (read,) = story.rows(schema.feedback_file)
    assert (read["text"], read["payment_transaction"], read["payment_chain_id"]) == ("It worked.", "0xabc", "8453")
    assert len(story.rows(schema.file_content)) == 1
    assert all(row["next_at"] is None for row in story.rows(schema.file))


def test_a_file_with_another_hash_is_not_shown_and_both_hashes_are_named(story, server):
    server.routes["/f"] = b'{"text":"changed"}'
    story.block(feedback_given(f"{server.url}/f", b"\x11" * 32))
    story.settle()
    row = story.file()
    assert (row["state"], row["reason"], row["content_hash"]) == ("failed", "hash_mismatch", None)
    assert "0x" + "11" * 32 in row["problem"]
    assert story.rows(schema.feedback_file) == story.rows(schema.file_content) == []


def test_a_known_other_form_of_the_hashed_document_is_shown_as_a_variant(story, server):
    server.routes["/f"] = b'{ "text" : "as indented" }'
    story.block(feedback_given(f"{server.url}/f", document_hash(b'{"text":"as indented"}')))
    story.settle()
    assert (story.file()["state"], story.file()["integrity"]) == ("loaded", "variant")


def test_one_uri_with_two_hashes_makes_two_files(story, server):
    content = b'{"text":"one"}'
    server.routes["/f"] = content
    story.block(
        *(feedback_given(f"{server.url}/f", content_hash) for content_hash in (document_hash(content), b"\2" * 32))
    )
    story.settle()
    assert sorted(row["state"] for row in story.rows(schema.file)) == ["failed", "loaded"]


def test_a_missing_file_is_tried_again_less_and_less_often(story, server):
    story.block(*registered(f"{server.url}/absent"))
    waits = []
    for _ in range(8):
        story.settle()
        row = story.file()
        waits.append(row["next_at"] - story.clock.now)
        story.clock.now = row["next_at"]
    assert (row["state"], row["reason"], row["failures"]) == ("failed", "unreachable_document", 8)
    assert "status 404" in row["problem"]
    for wait, expected in zip(waits, (60, 300, 1800, 7200, 43200, 86400, 86400, 86400), strict=True):
        assert 0.89 * expected < wait < 1.11 * expected


def test_a_file_that_appears_later_is_loaded_at_its_next_turn(story, server):
    story.block(*registered(f"{server.url}/late"))
    story.settle()
    server.routes["/late"] = FILE
    story.clock.pass_(70)
    story.settle()
    row = story.file()
    assert (row["state"], row["reason"], row["problem"], row["failures"]) == ("loaded", None, None, 0)


@pytest.mark.parametrize("is_loaded", [False, True])
def test_trouble_of_the_resolver_is_not_held_against_a_file(story, server, is_loaded):
    def look_up(_host, _port):
        raise socket.gaierror(socket.EAI_AGAIN, "the resolver is gone")

    server.routes["/agent.json"] = FILE
    story.block(*registered(f"{server.url}/agent.json"))
    if is_loaded:
        story.settle()
        story.clock.pass_(4000)
    network = story.loader.network
    story.loader = replace(story.loader, network=replace(network, resolver=look_up))
    story.settle()
    row = story.file()
    assert (row["state"], row["reason"], row["failures"]) == ("loaded" if is_loaded else "waiting", None, 0)
    assert 0 < row["next_at"] - story.clock.now < 70
    story.loader = replace(story.loader, network=network)
    story.clock.pass_(70)
    story.settle()
    assert story.file()["state"] == "loaded"


def test_a_file_that_vanishes_keeps_its_content_and_says_why_it_is_old(story, server):
    server.routes["/agent.json"] = FILE
    story.block(*registered(f"{server.url}/agent.json"))
    story.settle()
    loaded_at = story.file()["checked_at"]
    del server.routes["/agent.json"]
    story.clock.pass_(4000)
    story.settle()
    row = story.file()
    assert (row["state"], row["reason"], row["failures"]) == ("loaded", "unreachable_document", 1)
    assert row["checked_at"] > loaded_at
    assert story.query("SELECT name FROM agent_registration")[0]["name"] == "Agent"


def test_a_server_that_trickles_is_given_up(story, server):
    def trickle(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            for _ in range(1200):  # a minute
                handler.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            pass

    server.routes["/slow"] = trickle
    story.loader = replace(story.loader, limits=Limits(seconds=0.3))
    story.block(*registered(f"{server.url}/slow"))
    story.settle()
    assert (story.file()["state"], story.file()["reason"]) == ("failed", "document_timeout")


def test_a_file_as_large_as_the_limit_is_loaded_and_one_byte_more_is_not(story, server):
    limit = story.loader.limits.bytes
    for name, size in (("last", limit), ("first", limit + 1)):
        server.routes[f"/{name}"] = b'"'.ljust(size - 1, b"x") + b'"'
        story.block(response_appended(f"{server.url}/{name}"))
    story.settle()
    assert story.file(f"{server.url}/last")["state"] == "loaded"
    assert story.file(f"{server.url}/first")["reason"] == "document_too_large"


def test_private_addresses_are_refused_by_default_at_once_and_by_redirect(story, server, other_server):
    server.routes["/agent.json"] = redirect(f"{other_server.url}/secret")
    other_server.routes["/secret"] = FILE
    trusted = frozenset({("localhost", server.port)})
    story.loader = replace(story.loader, network=replace(story.loader.network, trusted=trusted, allow_private=False))
    story.block(*registered(f"{server.url}/agent.json"))
    story.block(*registered(f"{other_server.url}/secret", agent_id=2))
    story.settle()
    assert [row["reason"] for row in story.rows(schema.file)] == ["forbidden_address"] * 2
    assert other_server.requests == []


def test_uris_that_name_no_file_fail_for_good(story):
    uris = [
        *("ftp://agent.example/a", "file:///etc/passwd", "javascript:alert(1)", "agent.json", "https://", "ar://abc"),
        *(b"https://agent.example/\xff", b"https://b.example/\0", "http://[::1", "data:application/json"),
        "https://" + "x" * 5_000 + ".example/",
    ]
    story.block(*(log for agent_id, uri in enumerate(uris, 1) for log in registered(uri, agent_id)))
    story.settle()
    rows = story.rows(schema.file)
    assert len(rows) == len(uris)
    assert {(row["state"], row["reason"], row["next_at"]) for row in rows} == {("failed", "unsupported_uri", None)}


def test_an_empty_uri_ends_the_former_file(story, server):
    server.routes["/agent.json"] = FILE
    story.block(*registered(f"{server.url}/agent.json"), feedback_given(""))
    story.settle()
    assert len(story.query("SELECT * FROM agent_registration")) == 1
    story.block(uri_updated(""))
    story.settle()
    assert story.query("SELECT * FROM agent_registration") == []


def test_a_server_that_is_busy_is_left_alone_as_long_as_it_asks(story, server):
    server.routes["/a"] = lambda handler: respond(handler, b"", 429, Retry_After="7200")
    story.block(*registered(f"{server.url}/a"))
    story.settle()
    assert story.file()["next_at"] - story.clock.now >= 0.89 * 7200
    (host,) = story.rows(schema.file_host)
    assert host["closed_until"] == story.clock.now + 7200
    server.routes["/b"] = FILE
    story.block(*registered(f"{server.url}/b", agent_id=2))
    story.settle()
    assert story.file(f"{server.url}/b")["state"] == "waiting"
    story.clock.pass_(7201)
    story.settle()
    assert story.file(f"{server.url}/b")["state"] == "loaded"
