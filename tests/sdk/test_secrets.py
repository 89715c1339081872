"""Passwords and tokens for IPFS gateways and nodes: sent only to their server, and shown nowhere."""

from __future__ import annotations

import base64
import logging

import pytest

from bilateral.core.errors import (
    BrokenAnswerError,
    DocumentError,
    RefusedDocumentError,
    TooManyRedirectsError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.documents import KuboStore, Loader
from bilateral.documents.http import quoted_url
from tests.sdk.servers import Blocks, redirect

FILE = b'{"name":"agent"}'
ADD = "/api/v0/add?cid-version=1&raw-leaves=true&pin=true"
BASIC = "Basic " + base64.b64encode(b"project:s3cr@t").decode()


def with_password(url):
    return url.replace("//", "//project:s3cr%40t@")


@pytest.fixture(autouse=True)
def log(caplog):
    """All log records, which must not contain a secret."""
    caplog.set_level(logging.DEBUG)
    yield caplog
    assert "s3cr" not in caplog.text


def refused(error, load):
    """Return the message of the raised error."""
    with pytest.raises(DocumentError) as refusal:
        load()
    assert type(refusal.value) is error
    assert "s3cr" not in str(refusal.value)
    return str(refusal.value)


def test_a_node_gets_the_password_of_its_url(kubo, gateway):
    stored = KuboStore(with_password(kubo.url)).put(FILE)
    assert {headers["Authorization"] for _, _, headers in kubo.requests} == {BASIC}
    gateway.blocks.update(kubo.blocks)
    assert Loader(gateways=[with_password(gateway.url)]).load(stored.uri).content == FILE
    assert {headers["Authorization"] for _, _, headers in gateway.requests} == {BASIC}


def test_a_redirect_takes_the_password_no_further_than_its_server(server, other_server, loader):
    server.routes |= {"/": redirect("/again"), "/again": redirect(f"{other_server.url}/")}
    other_server.routes["/"] = FILE
    assert loader.load(f"{with_password(server.url)}/").content == FILE
    assert [headers.get("Authorization") for _, _, headers in server.requests] == [BASIC, BASIC]
    assert [headers.get("Authorization") for _, _, headers in other_server.requests] == [None]


@pytest.mark.parametrize(
    ("answer", "error", "problem"),
    [
        (lambda handler: handler.send_error(401), RefusedDocumentError, "returned status 401"),
        (lambda handler: handler.wfile.write(b"\0\r\n\r\n"), BrokenAnswerError, "cannot be read: "),
        (redirect("/"), TooManyRedirectsError, "redirects more than 3 times"),
        (redirect("ftp://u:s3cret@elsewhere/"), UnsupportedUriError, 'redirects to "ftp://elsewhere/", which is not'),
        (redirect("http://xn--/"), UnsupportedUriError, "leads to a malformed URL: "),
    ],
)
def test_an_error_quotes_a_url_without_its_password(server, loader, answer, error, problem):
    server.routes["/"] = answer
    text = refused(error, lambda: loader.load(f"{with_password(server.url)}/"))
    assert text.startswith(f'"{server.url}/" {problem}')


def test_a_redirect_to_http_is_told_without_the_password(secure_server, server, trusting):
    secure_server.routes["/"] = redirect(server.url)
    message = refused(TooManyRedirectsError, lambda: trusting.load(f"{with_password(secure_server.url)}/"))
    assert message == f'"{secure_server.url}/" redirects from https to http'


def test_a_gateway_is_named_without_its_password(gateway):
    cid = Blocks().add(FILE)
    message = refused(RefusedDocumentError, lambda: Loader(gateways=[with_password(gateway.url)]).load(f"ipfs://{cid}"))
    assert message == f'"{gateway.url}/ipfs/{cid}?format=raw" returned status 404'


def test_a_node_is_named_without_its_password(server):
    store = KuboStore(with_password(server.url))
    message = refused(RefusedDocumentError, lambda: store.put(FILE))
    assert message == f'"{server.url}/api/v0/add" returned status 404'
    server.routes[ADD] = b"ok"
    message = refused(UnreachableDocumentError, lambda: store.put(FILE))
    assert message == f'"{server.url}" did not return a valid Kubo API response'


@pytest.mark.parametrize(
    ("url", "rest"),
    [
        ("http://project:s3cret@host:99999", "host:99999"),
        ("http://project:s3cret@host:x", "host:x"),
        ("project:s3cret@host:5001", "host:5001"),
        ("http://project:s3/cret@host:5001", "host:5001"),
        ("http://project:s3#cret@host:5001", "host:5001"),
    ],
)
def test_a_malformed_url_is_quoted_from_behind_its_password(url, rest):
    message = refused(UnsupportedUriError, lambda: KuboStore(url).put(FILE))
    assert f'"{rest}" is not' in message
    assert "s3" not in message


def test_a_header_that_cannot_be_sent_is_not_quoted(kubo):
    """An example is a token read from a file with its line break."""
    store = KuboStore(kubo.url, headers={"Authorization": "Bearer s3cret\n"})
    message = refused(UnreachableDocumentError, lambda: store.put(FILE))
    assert (
        message == f'"{kubo.url}/api/v0/add" cannot be requested: the request is malformed, '
        "perhaps due to a line break in a header"
    )
    assert kubo.requests == []


def test_neither_a_store_nor_a_loader_shows_its_urls(kubo):
    assert "s3cr" not in repr(KuboStore(with_password(kubo.url)))
    assert "s3cr" not in repr(Loader(gateways=[with_password(kubo.url)]))


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://host/@name?mail=a@b.example#c@d", "https://host/@name?mail=a@b.example#c@d"),
        ("https://host//name@example/x", "https://host//name@example/x"),
        ("https://name@host", "https://host"),
        ("https://a@b:c@d@host:1/x@y", "https://host:1/x@y"),
        ("https://trusted.example:443@host?x@y", "https://host?x@y"),
        ("https://@host", "https://host"),
    ],
)
def test_only_the_part_before_the_host_is_hidden(url, text):
    assert quoted_url(url) == f'"{text}"'
