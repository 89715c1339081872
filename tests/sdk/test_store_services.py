"""Stores behind services: pinning services, Pinata, and object stores with presigned URLs."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from bilateral.core.errors import (
    CidMismatchError,
    DocumentError,
    DocumentTimeoutError,
    HashMismatchError,
    UnreachableDocumentError,
)
from bilateral.documents import HttpPutStore, KuboStore, Limits, Loader, Network, PinataStore, PinningStore
from tests.sdk.servers import Blocks, GatewayServer, KuboServer, PinataServer, PinningServer, PutServer, respond

FILE = b'{"name":"agent"}'
OTHER = Blocks().add(b"other")
SECRET = "secret"  # noqa: S105  # of servers that tests start


@pytest.fixture
def node():
    with KuboServer() as running:
        yield running


@pytest.fixture
def service(node):
    """A pinning service, and the store that uses it."""
    with PinningServer() as running:
        yield running, PinningStore(KuboStore(node.url), running.url, SECRET)


@pytest.fixture
def pinata():
    """Pinata, and the store that uses it."""
    with PinataServer() as running:
        yield running, PinataStore(SECRET, upload_url=f"{running.url}/v3/files", gateway=running.url)


@pytest.fixture
def objects():
    """An object store, and the store that puts a document there."""
    with PutServer() as running:
        yield running, HttpPutStore(f"{running.url}/agent.json?signature=s")


@pytest.mark.parametrize("looks", [1, 2])
def test_a_service_pins_the_document_of_a_node(node, service, looks):
    running, store = service
    running.looks = looks
    stored = store.put(FILE)
    (pin,) = running.pins.values()
    assert stored.uri == f"ipfs://{pin['cid']}"
    assert node.blocks[pin["cid"]] == FILE
    assert pin["origins"] == [f"/ip4/127.0.0.1/tcp/{node.port}/p2p/12D3Koo"]
    assert running.looks == 0


@pytest.mark.parametrize("status", ["failed", "unknown"])
def test_a_document_that_is_not_pinned_is_an_error(service, status):
    running, store = service
    running.outcome = status
    with pytest.raises(UnreachableDocumentError, match=f'its status is "{status}"'):
        store.put(FILE)


def test_a_service_that_pins_another_document_is_an_error(service):
    running, store = service
    running.pinned_cid = lambda _: OTHER
    with pytest.raises(CidMismatchError) as raised:
        store.put(FILE)
    assert raised.value.actual == OTHER


def test_a_service_that_never_pins_runs_out_of_time(service):
    running, store = service
    running.looks = 1000
    with pytest.raises(DocumentTimeoutError):
        replace(store, limits=Limits(seconds=1.2)).put(FILE)


def test_the_address_of_a_request_is_not_a_strangers(service):
    """A request id is a part of a URL."""
    running, store = service
    running.answer = lambda handler: respond(
        handler, b'{"requestid": "../admin", "status": "queued", "pin": {"cid": "x"}}', 202
    )
    with pytest.raises(UnreachableDocumentError, match="did not return a valid IPFS Pinning Service API response"):
        store.put(FILE)
    assert len(running.requests) == 1


@pytest.mark.parametrize("content", [FILE, b"x" * 262_144, b"x" * 262_145], ids=["small", "one block", "two blocks"])
def test_a_document_is_stored_by_pinata(pinata, content):
    running, store = pinata
    stored = replace(store, limits=Limits(bytes=2**20)).put(content)
    with GatewayServer() as gateway:
        gateway.blocks |= running.blocks
        assert Loader(gateways=(gateway.url,)).load(stored.uri).content == content


def test_a_layout_of_pinata_is_read_back(pinata):
    running, store = pinata
    running.add = lambda content: running.blocks.add(content, raw_leaves=False)
    store.put(FILE)
    assert sum(method == "GET" for method, _, _ in running.requests) == 1


def test_pinata_is_not_believed(pinata):
    running, store = pinata
    running.add = lambda _: running.blocks.add(b"other")
    with pytest.raises(CidMismatchError):
        store.put(FILE)
    running.add = lambda _: "x"
    with pytest.raises(UnreachableDocumentError, match="did not return a valid Pinata API response"):
        store.put(FILE)


def test_a_document_is_put_at_a_presigned_url(objects):
    running, store = objects
    stored = store.put(FILE)
    assert (stored.uri, running.contents) == (f"{running.url}/agent.json", {"/agent.json": FILE})
    ((_, _, headers), _) = running.requests
    assert headers["Content-Type"] == "application/json"


def test_a_document_has_the_public_url_that_is_named(objects):
    running, store = objects
    running.contents["/public.json"] = FILE
    assert replace(store, public_url=f"{running.url}/public.json").put(FILE).uri == f"{running.url}/public.json"


def test_a_public_url_with_another_document_is_an_error(objects):
    running, store = objects
    running.contents["/public.json"] = b"{}"
    with pytest.raises(HashMismatchError):
        replace(store, public_url=f"{running.url}/public.json").put(FILE)


def test_a_public_url_without_a_document_is_an_error(objects):
    running, store = objects
    with pytest.raises(UnreachableDocumentError, match="returned status 403"):
        replace(store, public_url=f"{running.url}/nothing.json").put(FILE)


def test_neither_errors_nor_logs_show_secrets(service, pinata, objects, caplog):
    caplog.set_level(logging.DEBUG)
    shown = []
    (_, pinning), (_, of_pinata), (_, put) = service, pinata, objects
    for store in (pinning, of_pinata, put):
        store.put(FILE)
        shown.append(repr(store))
    wrong = [
        replace(pinning, token="wrong" + SECRET),
        replace(of_pinata, token="wrong" + SECRET),
        replace(put, upload_url=f"{put.upload_url}{SECRET}"),
    ]
    for store in wrong:
        with pytest.raises(DocumentError) as raised:
            store.put(FILE)
        shown.append(str(raised.value))
    text = "\n".join([*shown, caplog.text])
    assert (SECRET in text, "signature=" in text) == (False, False)
    assert "HTTP Request: PUT" in caplog.text


def test_a_private_address_of_pinatas_gateway_is_refused(pinata):
    """The gateway is named by the user, so it may be private; what it redirects to may not."""
    running, store = pinata
    running.add = lambda content: running.blocks.add(content, raw_leaves=False)
    answer = running.answer
    target = "http://169.254.169.254/"
    running.answer = lambda handler: (
        respond(handler, b"", 302, Location=target) if handler.command == "GET" else answer(handler)
    )
    with pytest.raises(UnreachableDocumentError):
        replace(store, network=Network()).put(FILE)
