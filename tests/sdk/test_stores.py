"""Stores write documents and read them back: in their own URI, in a folder, in IPFS."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.errors import (
    CidMismatchError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    ForbiddenAddressError,
    InvalidArgumentError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.documents import DataUriStore, FolderStore, KuboStore, Limits, Loader, document_hash
from bilateral.documents.data_uri import decode_data_uri, encode_data_uri
from tests.sdk.servers import respond

FILE = b'{"name":"agent"}'


@given(st.binary(max_size=300))
def test_a_document_survives_in_its_own_uri(content):
    stored = DataUriStore().put(content)
    document = Loader().load(stored.uri, stored.hash)
    assert (document.content, document.integrity) == (content, "inline")
    assert stored.hash == document_hash(content)


def test_the_uri_has_the_form_that_the_standard_shows():
    assert encode_data_uri(b"{}") == "data:application/json;base64,e30="


def test_the_uri_of_a_document_that_is_not_json_does_not_say_that_it_is():
    assert encode_data_uri(b"text") == "data:application/octet-stream;base64,dGV4dA=="


@pytest.mark.parametrize(
    "uri",
    [
        "data:application/json;base64,eyJuYW1lIjoiYWdlbnQifQ==",
        "data:application/json;base64,eyJuYW1lIjoiYWdlbnQifQ",
        "data:application/json;charset=utf-8;base64,eyJuYW1lIjoiYWdlbnQifQ==",
        "DATA:;BASE64,eyJuYW1lIjoi\nYWdlbnQifQ%3D%3D",
        "data:application/json,%7B%22name%22:%22agent%22%7D",
        'data:,{"name":"agent"}',
    ],
)
def test_the_forms_of_data_uris_in_use_are_read(uri):
    assert Loader().load(uri).content == FILE


def test_either_alphabet_of_base_64_is_read():
    content = bytes(range(256))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert decode_data_uri(f"data:;base64,{encode(content).decode()}", 256) == content


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("data:", "no comma"),
        ("data:application/json;base64", "no comma"),
        ("data:;base64,e30*", "not base 64"),
        ("data:;base64,e", "not base 64"),
        ("data:;base64,e3=0", "not base 64"),
        ("data:;base64,é", "not base 64"),
    ],
)
def test_a_malformed_data_uri_is_named(uri, problem):
    with pytest.raises(UnsupportedUriError, match=problem):
        Loader().load(uri)


@pytest.mark.parametrize("encode", [encode_data_uri, lambda content: "data:," + "%20" * len(content)])
def test_a_document_in_its_uri_is_as_large_as_the_limit_at_most(encode):
    loader = Loader(limits=Limits(bytes=100))
    assert len(loader.load(encode(bytes(100))).content) == 100
    with pytest.raises(DocumentTooLargeError):
        loader.load(encode(bytes(101)))
    with pytest.raises(DocumentTooLargeError):
        loader.load(encode(bytes(10_000)))


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader_of_data_uris(rest):
    try:
        decode_data_uri(f"data:{rest}", 20)
    except (UnsupportedUriError, DocumentTooLargeError) as error:
        assert str(error).isprintable()


def test_a_document_survives_in_a_folder(tmp_path):
    store = FolderStore(tmp_path / "documents")
    stored = store.put(FILE)
    assert Loader(files=store.folder).load(stored.uri, stored.hash).content == FILE
    (path,) = store.folder.iterdir()
    assert path.name == f"{document_hash(FILE).hex()}.json"
    assert path.read_bytes() == FILE
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_document_stored_twice_is_one_file(tmp_path):
    store = FolderStore(tmp_path)
    assert store.put(FILE) == store.put(FILE)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_published_folder_gives_uris_of_its_site(tmp_path, server, loader):
    stored = FolderStore(tmp_path, base_url=f"{server.url}/files/").put(FILE)
    assert stored.uri == f"{server.url}/files/{document_hash(FILE).hex()}.json"
    server.routes[f"/files/{document_hash(FILE).hex()}.json"] = FILE
    assert loader.load(stored.uri, stored.hash).integrity == "hash"


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnreachableDocumentError, match="cannot be written: Not a directory"):
        FolderStore(tmp_path / "file" / "folder").put(FILE)
    (tmp_path / f"{document_hash(FILE).hex()}.json").mkdir()
    with pytest.raises(UnreachableDocumentError, match="cannot be written"):
        FolderStore(tmp_path).put(FILE)
    assert {path.name for path in tmp_path.iterdir()} == {"file", f"{document_hash(FILE).hex()}.json"}


def test_a_strangers_uri_reads_no_file_of_this_machine(tmp_path):
    (tmp_path / "secret").write_bytes(FILE)
    with pytest.raises(UnsupportedUriError, match="this loader does not read local files"):
        Loader().load((tmp_path / "secret").as_uri())


@pytest.mark.parametrize("path", ["secret", "files/../secret", "files/%2e%2e/secret", "files/link", "files", "files/."])
def test_no_uri_leads_out_of_the_folder(tmp_path, path):
    (tmp_path / "files").mkdir()
    (tmp_path / "secret").write_bytes(FILE)
    (tmp_path / "files" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ForbiddenAddressError):
        Loader(files=tmp_path / "files").load(f"file://{tmp_path}/{path}")


@pytest.mark.parametrize("uri", ["file://server/share", "file://[/x", "file:///%00"])
def test_a_malformed_file_uri_is_named(tmp_path, uri):
    with pytest.raises(UnsupportedUriError):
        Loader(files=tmp_path).load(uri)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnreachableDocumentError, match="cannot be read: No such file"):
        Loader(files=tmp_path).load((tmp_path / "absent").as_uri())
    with pytest.raises(UnreachableDocumentError, match="cannot be read: Is a directory"):
        Loader().load_file(tmp_path)


def test_a_file_that_the_user_names_is_read_up_to_the_limit(tmp_path):
    loader = Loader(limits=Limits(bytes=len(FILE)))
    path = tmp_path / "agent.json"
    path.write_bytes(FILE)
    assert loader.load_file(path).content == FILE
    path.write_bytes(FILE + b"\n")
    with pytest.raises(DocumentTooLargeError):
        loader.load_file(path)
    assert Loader().load_file(Path("/dev/null")).content == b""


@pytest.mark.parametrize("size", [0, 16, 262144, 262145, 700_000])
def test_a_document_survives_in_ipfs(kubo, gateway, guarded, size):
    content = bytes(index % 251 for index in range(size))
    stored = KuboStore(kubo.url).put(content)
    assert stored.uri.removeprefix("ipfs://") in kubo.pinned
    gateway.blocks.update(kubo.blocks)
    document = replace(guarded, gateways=(gateway.url,)).load(stored.uri, stored.hash)
    assert (document.content, document.integrity) == (content, "cid")


def test_a_node_gets_the_headers_that_the_user_gives(kubo):
    store = KuboStore(kubo.url, headers={"Authorization": "Bearer secret"})
    store.put(FILE)
    assert {headers["Authorization"] for _, _, headers in kubo.requests} == {"Bearer secret"}
    assert "secret" not in repr(store)


@pytest.mark.parametrize("spoil", [lambda content: content + b" ", lambda _: b"", lambda content: content[:-1]])
def test_a_node_that_stores_something_else_is_found_out(kubo, spoil):
    kubo.spoil = spoil
    with pytest.raises(CidMismatchError):
        KuboStore(kubo.url).put(FILE)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"ok",
        b"[]",
        b"{}",
        b'{"Hash": 1}',
        b'{"Hash": "Qm"}',
        b'{"Hash": null}',
        b"<html>",
        b"\xff",
        b"\n",
        b"[" * 60_000,
    ],
)
def test_an_answer_that_is_not_kubos_is_named(server, answer):
    server.routes["/api/v0/add?cid-version=1&raw-leaves=true&pin=true"] = answer
    with pytest.raises(UnreachableDocumentError, match="did not return a valid Kubo API response"):
        KuboStore(server.url).put(FILE)


def test_a_node_that_does_not_have_what_it_stored_is_found_out(server):
    server.routes["/api/v0/add?cid-version=1&raw-leaves=true&pin=true"] = (
        b'{"Hash": "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"}'
    )
    with pytest.raises(UnreachableDocumentError, match="status 404"):
        KuboStore(server.url).put(FILE)


def test_a_node_that_redirects_does_not_get_the_secrets_sent_elsewhere(server, other_server):
    location = {"Location": other_server.url}
    path = "/api/v0/add?cid-version=1&raw-leaves=true&pin=true"
    server.routes[path] = lambda handler: respond(handler, b"", 307, **location)
    with pytest.raises(UnreachableDocumentError, match="status 307"):
        KuboStore(server.url, headers={"Authorization": "Bearer secret"}).put(FILE)
    assert other_server.requests == []


def test_a_node_that_is_down_or_hangs_is_named(kubo):
    with pytest.raises(UnreachableDocumentError, match="did not respond on port 1"):
        KuboStore("http://127.0.0.1:1").put(FILE)
    with pytest.raises(UnsupportedUriError):
        KuboStore("127.0.0.1:5001").put(FILE)
    kubo.answer = lambda _: time.sleep(2)
    with pytest.raises(DocumentTimeoutError):
        KuboStore(kubo.url, limits=Limits(seconds=0.2)).put(FILE)


@pytest.mark.parametrize("uri", [None, 5, True, b"data:,x", ["data:,x"], Path("x")])
def test_a_uri_must_be_text(uri):
    with pytest.raises(UnsupportedUriError, match="a URI must be a string, not"):
        Loader().load(uri)


@pytest.mark.parametrize("expected", ["0x12", "0x" + "11" * 32, None, 32, b"", b"x" * 31, b"x" * 33])
def test_an_expected_hash_has_32_bytes(expected):
    with pytest.raises(InvalidArgumentError, match="expected"):
        Loader().load("data:,x", expected)


@pytest.mark.parametrize(
    "make", [lambda: FolderStore("folder"), lambda: KuboStore(None), lambda: DataUriStore().put("x")]
)
def test_a_store_is_not_made_of_or_given_the_wrong_types(make):
    with pytest.raises(InvalidArgumentError, match="expected"):
        make()
