"""URIs as agents register them: almost valid ones are read where their meaning is certain, and bombs are not."""

from __future__ import annotations

import base64
import gzip
import json
import tracemalloc
import zlib
from dataclasses import replace
from urllib.parse import quote

import pytest

from bilateral.core.errors import (
    CidMismatchError,
    DocumentTooLargeError,
    ForbiddenAddressError,
    RefusedDocumentError,
    UnsupportedUriError,
)
from bilateral.documents import Limits, Loader
from bilateral.index.files.loading import Loaded, host_of_file, load_file
from bilateral.index.files.tables import Kind
from tests.sdk.servers import respond

OBJECT = {"name": "agent", "description": "100% a+b, c>d?~~~ÿ 33"}
FILE = json.dumps(OBJECT, ensure_ascii=False).encode()
TEXT = FILE.decode()
CODED = base64.b64encode(FILE).decode()
PACKED = base64.b64encode(gzip.compress(FILE, mtime=0)).decode()
assert "+" in CODED
assert "+" in PACKED

URIS = {
    "gzip": f"data:application/json;enc=gzip;base64,{PACKED}",
    "gzip with its level": f"data:application/json;enc=gzip;level=6;base64,{PACKED}",
    "deflate": f"data:application/json;enc=deflate;base64,{base64.b64encode(zlib.compress(FILE)).decode()}",
    "gzip without a label": f"data:application/json;base64,{PACKED}",
    "the label of gzip on what is not packed": f"data:application/json;enc=gzip;base64,{CODED}",
    "JSON alone": TEXT,
    "quoted JSON alone": quote(TEXT),
    "the label of base 64 on JSON": f"data:application/json;base64,{TEXT}",
    "the label of base 64 on quoted JSON": f"data:application/json;base64,{quote(TEXT)}",
    "base 64 without a label": f"data:application/json,{CODED}",
    "utf8 as a parameter": f"data:application/json;utf8,{quote(TEXT)}",
    "base 64 alone": CODED,
    "gzip in base 64 alone": PACKED,
    "blanks around it": f" \n\tdata:application/json;base64,{CODED}\r\n ",
    "blanks around JSON": f"  {TEXT}\n",
    "a blank before base64": f"data:application/json; base64,{CODED}",
    "a blank after the comma": f"data:application/json;base64, {CODED}",
    "a blank for the comma": f"data:application/json;base64 {CODED}",
    "no comma before JSON": f"data:application/json{TEXT}",
    "blanks for plus signs": f"data:application/json;base64,{CODED.replace('+', ' ')}",
    "blanks for plus signs of gzip": f"data:application/json;enc=gzip;base64,{PACKED.replace('+', ' ')}",
    "folded lines": "data:application/json;base64,"
    + "\n ".join(CODED[at : at + 16] for at in range(0, len(CODED), 16)),
}


@pytest.mark.parametrize("form", URIS)
def test_a_document_is_read_from_a_uri_by_sdk_and_index(form):
    document = Loader().load(URIS[form])
    assert (document.content, document.integrity) == (FILE, "inline")
    assert host_of_file(URIS[form]) is None
    outcome = load_file(Loader(), Kind.REGISTRATION, URIS[form], None, document.validators)
    assert isinstance(outcome, Loaded)
    assert (outcome.content, outcome.is_final, outcome.problem) == (FILE, True, None)


@pytest.mark.parametrize(
    "uri",
    [
        f"data:application/json;enc=gzip;base64,{PACKED[:-40]}",
        f"data:application/json;enc=gzip;base64,{base64.b64encode(b'text').decode()}",
        "data:application/json;base64,{",
        "example",
        "eyJub3QganNvbg",
        "eyJ",
        "agent.example/file.json",
    ],
)
def test_other_text_stays_an_error_or_plain_bytes(uri):
    try:
        document = Loader().load(uri)
    except UnsupportedUriError as refusal:
        assert str(refusal).isprintable()
    else:
        assert document.integrity == "inline"
        assert not document.content.startswith(b"{}")


@pytest.mark.parametrize("depth", [1, 2])
def test_a_bomb_in_a_uri_takes_no_more_memory_than_the_limit(depth):
    content = bytes(10**8)
    for _ in range(depth):
        content = gzip.compress(content)
    uri = f"data:application/json;enc=gzip;base64,{base64.b64encode(content).decode()}"
    loader = Loader(limits=Limits(bytes=2**20))
    tracemalloc.start()
    try:
        if depth == 1:
            with pytest.raises(DocumentTooLargeError):
                loader.load(uri)
        else:
            assert len(loader.load(uri).content) < 2**20  # one encoding is removed
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(FILE)),
        ("x-gzip", gzip.compress(FILE)),
        ("deflate", zlib.compress(FILE)),
        ("deflate", zlib.compress(FILE)[2:-4]),
        ("gzip, gzip", gzip.compress(gzip.compress(FILE))),
        ("gzip", FILE),
        ("utf-8", FILE),
        ("none", FILE),
        ("application/json", FILE),
        ("br", FILE),
        ("", FILE),
    ],
)
def test_an_unasked_or_nonsensical_encoding_is_removed_or_ignored(server, loader, encoding, body):
    server.routes["/"] = lambda handler: respond(handler, body, Content_Encoding=encoding)
    assert loader.load(f"{server.url}/").content == FILE
    assert server.requests[0][2]["Accept-Encoding"] == "identity"


def test_an_encoding_that_nobody_reads_counts_against_the_file_and_not_its_host(server, loader):
    server.routes["/"] = lambda handler: respond(handler, b"\x1b\x0f\x00", Content_Encoding="br")
    document = loader.load(f"{server.url}/")
    outcome = load_file(loader, Kind.REGISTRATION, document.uri, None, document.validators)
    assert isinstance(outcome, Loaded)
    assert "not JSON" in outcome.problem or "not UTF-8" in outcome.problem


@pytest.fixture
def across(loader, gateway):
    """A loader with a gateway of its own, which may connect to this machine."""
    return replace(loader, limits=Limits(bytes=2**20, seconds=30), gateways=(gateway.url,))


FORMS = {
    "one raw block": {},
    "one block of dag-pb": {"raw_leaves": False, "version": 0},
    "blocks": {"raw_leaves": False, "chunk": 20},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_at_the_url_of_a_gateway_is_checked_against_its_cid(server, across, gateway, form):
    path = f"/ipfs/{gateway.blocks.add(FILE, **FORMS[form])}"
    server.routes[f"{path}?token=x"] = FILE
    document = across.load(f" {server.url}{path}?token=x#top")
    assert (document.content, document.integrity) == (FILE, "cid")
    assert bool(gateway.requests) is (form == "blocks")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("answer", [b'{"name":"forged"}', None], ids=["forged", "an error"])
def test_another_gateway_serves_what_the_named_one_forges_or_lacks(server, across, gateway, form, answer):
    path = f"/ipfs/{gateway.blocks.add(FILE, **FORMS[form])}"
    server.routes[path] = answer or (lambda handler: handler.send_error(410))
    document = across.load(f"{server.url}{path}")
    assert (document.content, document.integrity) == (FILE, "cid")


def test_a_folder_at_the_url_of_a_gateway_is_read_by_its_path(server, across, gateway):
    folder = gateway.blocks.folder(**{"agent 1.json": gateway.blocks.add(FILE)})
    server.routes[f"/ipfs/{folder}/agent%201.json"] = FILE
    assert across.load(f"{server.url}/ipfs/{folder}/agent%201.json").integrity == "cid"


def test_a_file_that_only_the_named_gateway_has_is_its_word_unless_the_cid_denies_it(server, across, gateway):
    lonely = replace(across, gateways=())
    leaf, node = gateway.blocks.add(FILE), gateway.blocks.add(FILE, **FORMS["blocks"])
    server.routes[f"/ipfs/{leaf}"] = server.routes[f"/ipfs/{node}"] = b"{}"
    with pytest.raises(CidMismatchError):
        lonely.load(f"{server.url}/ipfs/{leaf}")
    document = lonely.load(f"{server.url}/ipfs/{node}")
    assert (document.content, document.integrity) == (b"{}", None)
    with pytest.raises(RefusedDocumentError, match="status 404"):
        lonely.load(f"{server.url}/ipfs/{gateway.blocks.add(b'other')}")


def test_a_gateway_that_a_stranger_names_has_no_private_address(server, guarded, gateway):
    guarded = replace(guarded, gateways=())
    with pytest.raises(ForbiddenAddressError):
        guarded.load(f"{server.url}/ipfs/{gateway.blocks.add(FILE)}")
    assert server.requests == []


def test_a_cid_alone_is_a_file_of_ipfs(across, gateway):
    for form in (FORMS["one raw block"], FORMS["one block of dag-pb"]):
        cid = gateway.blocks.add(FILE, **form)
        for uri in (cid, f"/ipfs/{cid}", f" ipfs/{cid}\n", f"ipfs://{cid} "):
            assert (across.load(uri).content, host_of_file(uri)) == (FILE, "ipfs:")
