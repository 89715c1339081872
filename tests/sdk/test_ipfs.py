"""Files of IPFS: the loader checks every block against its CID."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilateral.core.errors import (
    CidMismatchError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    ForbiddenAddressError,
    HashMismatchError,
    MalformedDocumentError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.documents import Limits, document_hash
from bilateral.documents.ipfs import MAX_BLOCKS, Cid, read_file
from bilateral.documents.loader import parse_ipfs_uri
from tests.sdk.servers import (
    DAG_PB,
    Blocks,
    GatewayServer,
    bytes_field,
    link,
    redirect,
    respond,
    text,
    untext,
    varint_field,
)

FILE = b'{"name":"agent"}'
ANOTHER_CODEC = bytes_field(2, link(b"\x01\x71\x12\x20" + bytes(32), "", 0))


@pytest.fixture
def ipfs(guarded, gateway):
    """A loader that reads IPFS through the gateway, and may not connect elsewhere on this machine."""
    return replace(guarded, limits=Limits(bytes=2**20, seconds=60), gateways=(gateway.url,))


@pytest.mark.parametrize(
    ("content", "cid", "form"),
    [
        (b"hello world\n", "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o", {"raw_leaves": False, "version": 0}),
        (b"", "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH", {"raw_leaves": False, "version": 0}),
        (b"hello world", "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", {}),
    ],
)
def test_files_have_the_cids_that_kubo_gives_them(gateway, ipfs, content, cid, form):
    assert gateway.blocks.add(content, **form) == cid
    document = ipfs.load(f"ipfs://{cid}")
    assert (document.content, document.integrity) == (content, "cid")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("raw_leaves", [False, True])
@pytest.mark.parametrize("size", [1, 1000, 262144, 262145, 700_000])
def test_a_file_of_any_form_is_read(gateway, ipfs, version, raw_leaves, size):
    content = bytes(index % 251 for index in range(size))
    cid = gateway.blocks.add(content, raw_leaves=raw_leaves, version=version)
    assert ipfs.load(f"ipfs://{cid}").content == content
    assert len(gateway.requests) == (1 if size <= 262144 else 1 + -(-size // 262144))


def test_a_file_of_several_levels_is_read_in_order():
    blocks = Blocks()
    inner = [blocks.add(bytes([65 + index]) * 20, chunk=7, raw_leaves=False) for index in range(3)]
    node = b"".join(bytes_field(2, link(untext(cid), "", 20)) for cid in inner)
    root = text(blocks.put(node + bytes_field(1, varint_field(1, 2)), DAG_PB, 1))
    assert read_file(lambda cid: blocks[str(cid)], Cid.parse(root), (), 60) == b"A" * 20 + b"B" * 20 + b"C" * 20


@given(st.binary(max_size=400), st.integers(1, 50), st.booleans(), st.sampled_from([0, 1]))
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_the_chunks_the_file_is_the_same(content, chunk, raw_leaves, version):
    blocks = Blocks()
    cid = blocks.add(content, chunk=max(chunk, len(content) // 100 or 1), raw_leaves=raw_leaves, version=version)
    assert read_file(lambda block: blocks[str(block)], Cid.parse(cid), (), 400) == content


def test_a_cid_survives_its_text():
    for version in (0, 1):
        cid = Cid.parse(Blocks().add(FILE, raw_leaves=False, version=version))
        assert Cid.parse(str(cid)) == cid
        assert cid.version == version
    assert str(Cid.of_raw(FILE)) == Blocks().add(FILE)


@pytest.mark.parametrize(
    "base",
    [
        "BAFKREIFZJUT3TE2NHYEKKLSS27NH3K72YSCO7Y32KOAO5EEI66WOF36N5E",
        "f01551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    ],
)
def test_a_cid_may_be_in_any_base(gateway, ipfs, base):
    gateway.blocks.add(b"hello world")
    assert ipfs.load(f"ipfs://{base}").content == b"hello world"


@pytest.mark.parametrize(
    "form", ["ipfs://{}", "ipfs://ipfs/{}", "IPFS://{}", "ipfs:{}", "ipfs://{}?x=1#y", "ipfs://{}/"]
)
def test_the_forms_of_uris_in_use_are_read(gateway, ipfs, form):
    cid = gateway.blocks.add(FILE)
    assert ipfs.load(form.format(cid)).content == FILE


def test_a_file_in_a_folder_is_read_by_its_path(gateway, ipfs):
    inner = gateway.blocks.folder(**{"agent 1.json": gateway.blocks.add(FILE)})
    outer = gateway.blocks.folder(agents=inner, other=gateway.blocks.add(b"other"))
    assert ipfs.load(f"ipfs://{outer}/agents/agent%201.json").content == FILE


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "identifies a folder"),
        ("/absent", '"absent" is not in the folder'),
        ("/a/b", 'is a file, not a folder that contains "b"'),
        ("/..", '".." is not in the folder'),
        ("/%2e%2e/a", '".." is not in the folder'),
        ("/a%00", r'"a\\x00" is not in the folder'),
        ("/\udcff", "is not in the folder"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(gateway, ipfs, path, problem):
    folder = gateway.blocks.folder(a=gateway.blocks.add(FILE))
    with pytest.raises(MalformedDocumentError, match=problem):
        ipfs.load(f"ipfs://{folder}{path}")


def test_content_of_another_cid_is_refused_with_both_cids(gateway, ipfs):
    cid = gateway.blocks.add(FILE)
    gateway.forged[cid] = b'{"name":"impostor"}'
    with pytest.raises(CidMismatchError) as refusal:
        ipfs.load(f"ipfs://{cid}")
    assert (refusal.value.expected, refusal.value.actual) == (cid, Blocks().add(b'{"name":"impostor"}'))


@pytest.mark.parametrize("raw_leaves", [False, True])
@pytest.mark.parametrize("forged", [0, 1, 2])
def test_one_forged_block_of_many_is_refused(gateway, ipfs, raw_leaves, forged):
    content = b"a" * 262144 + b"b"
    gateway.blocks.add(content, raw_leaves=raw_leaves)
    root = list(gateway.blocks)[-1]
    gateway.forged[list(gateway.blocks)[forged]] = b"forged"
    with pytest.raises(CidMismatchError):
        ipfs.load(f"ipfs://{root}")


def test_a_gateway_that_delivers_the_file_instead_of_the_block_is_refused(gateway, ipfs):
    cid = gateway.blocks.add(FILE, raw_leaves=False)
    gateway.forged[cid] = FILE
    with pytest.raises(CidMismatchError):
        ipfs.load(f"ipfs://{cid}")


def test_the_next_gateway_is_asked_when_one_forges_fails_or_hangs(ipfs, gateway):
    cid = gateway.blocks.add(FILE)
    end = threading.Event()
    with GatewayServer() as forging, GatewayServer() as failing, GatewayServer() as hanging:
        forging.forged[cid] = b"forged"
        hanging.forged[cid] = lambda _: end.wait(60)
        gateways = (forging.url, failing.url, "http://localhost:1", hanging.url, gateway.url)
        loader = replace(ipfs, gateways=gateways, limits=Limits(seconds=12))
        assert loader.load(f"ipfs://{cid}").content == FILE
        end.set()


MISCONDUCT = [
    (redirect("?format=raw"), r"does not deliver a block: .* redirects more than 3 times"),
    (
        redirect("http://localhost:1/"),
        r'does not deliver a block: "localhost" resolves to .*, which is not a public',
    ),
    (
        redirect("ftp://localhost/"),
        r'does not deliver a block: .* redirects to "ftp://localhost/", which is not',
    ),
    (lambda handler: respond(handler, bytes(2**20 + 2**16 + 1)), "sends more than 1114112 bytes as one block"),
]


@pytest.mark.parametrize(("misconduct", "problem"), MISCONDUCT)
def test_the_next_gateway_is_asked_after_any_invalid_answer(ipfs, gateway, misconduct, problem):
    cid = gateway.blocks.add(FILE)
    with GatewayServer() as bad:
        bad.forged[cid] = misconduct
        assert replace(ipfs, gateways=(bad.url, gateway.url)).load(f"ipfs://{cid}").content == FILE
        with pytest.raises(UnreachableDocumentError, match=f'^the IPFS gateway "{bad.url}" {problem}'):
            replace(ipfs, gateways=(gateway.url + "/absent", bad.url)).load(f"ipfs://{cid}")


def test_a_block_has_64_kib_beside_the_content_of_a_document_and_no_byte_more(ipfs, gateway):
    cid = gateway.blocks.add(FILE)
    gateway.forged[cid] = bytes(2**20 + 2**16)
    with pytest.raises(CidMismatchError):
        ipfs.load(f"ipfs://{cid}")
    gateway.forged[cid] += b"\0"
    with pytest.raises(UnreachableDocumentError, match="sends more than 1114112 bytes as one block"):
        ipfs.load(f"ipfs://{cid}")


def test_an_error_of_the_document_itself_is_raised_without_asking_other_gateways(ipfs, gateway):
    """Valid blocks prove that the document is too large or not a file, so no other gateway can help."""
    loader = replace(ipfs, gateways=(gateway.url, "http://localhost:1"))
    with pytest.raises(DocumentTooLargeError):
        loader.load(f"ipfs://{gateway.blocks.add(bytes(2**20 + 1))}")
    with pytest.raises(MalformedDocumentError, match="identifies a folder"):
        loader.load(f"ipfs://{gateway.blocks.folder()}")


def test_without_a_gateway_that_delivers_the_last_failure_is_told(ipfs):
    cid = Blocks().add(FILE)
    with pytest.raises(UnreachableDocumentError, match="status 404"):
        ipfs.load(f"ipfs://{cid}")
    with pytest.raises(UnreachableDocumentError, match="no IPFS gateway is configured"):
        replace(ipfs, gateways=()).load(f"ipfs://{cid}")


def test_a_gateway_that_hangs_is_given_up(ipfs, gateway):
    cid = gateway.blocks.add(FILE)
    gateway.forged[cid] = lambda _: time.sleep(5)
    with pytest.raises(DocumentTimeoutError):
        replace(ipfs, limits=Limits(seconds=0.3)).load(f"ipfs://{cid}")


def test_a_gateway_may_redirect_but_not_to_a_private_address(ipfs, gateway, other_server):
    cid = gateway.blocks.add(FILE)
    other_server.routes["/secrets"] = FILE
    gateway.forged[cid] = redirect(f"{other_server.url}/secrets")
    with pytest.raises(UnreachableDocumentError, match=r'"localhost" resolves to .*, which is not a public'):
        ipfs.load(f"ipfs://{cid}")
    assert other_server.requests == []


def test_a_gateway_that_the_user_names_does_not_open_its_host_to_strangers(ipfs, gateway):
    with pytest.raises(ForbiddenAddressError):
        ipfs.load(f"{gateway.url}/ipfs/x")
    assert gateway.requests == []


def test_the_hash_on_chain_is_checked_beside_the_cid(gateway, ipfs):
    cid = gateway.blocks.add(FILE)
    assert ipfs.load(f"ipfs://{cid}", document_hash(FILE)).integrity == "cid"
    with pytest.raises(HashMismatchError):
        ipfs.load(f"ipfs://{cid}", b"\x01" * 32)


@pytest.mark.parametrize("size", [1000, 400_000])
def test_a_file_as_large_as_the_limit_is_read_and_one_byte_more_is_refused(gateway, ipfs, size):
    loader = replace(ipfs, limits=Limits(bytes=size, seconds=60))
    assert len(loader.load(f"ipfs://{gateway.blocks.add(bytes(size))}").content) == size
    with pytest.raises(DocumentTooLargeError):
        loader.load(f"ipfs://{gateway.blocks.add(bytes(size + 1))}")


def test_a_file_of_endlessly_many_blocks_is_refused():
    """A few blocks, each linking the next one many times, describe an astronomical number of leaves."""
    blocks = Blocks()
    cid = blocks.put(bytes_field(1, varint_field(1, 2)), DAG_PB, 1)
    for _ in range(100):
        cid = blocks.put(bytes_field(2, link(cid, "", 0)) * 100 + bytes_field(1, varint_field(1, 2)), DAG_PB, 1)
    fetched = []

    def fetch(block):
        fetched.append(block)
        return blocks[str(block)]

    with pytest.raises(DocumentTooLargeError):
        read_file(fetch, Cid.parse(text(cid)), (), 1000)
    assert len(fetched) == MAX_BLOCKS


@pytest.mark.parametrize(
    ("block", "error", "problem"),
    [
        (b"\xff\xff", MalformedDocumentError, "not a UnixFS block"),
        (b"", MalformedDocumentError, "not a UnixFS block"),
        (bytes_field(1, b""), MalformedDocumentError, "not a UnixFS block"),
        (bytes_field(1, b"\xff"), MalformedDocumentError, "not a UnixFS block"),
        (bytes_field(1, varint_field(1, 3)), UnsupportedUriError, "metadata"),
        (bytes_field(1, varint_field(1, 4)), UnsupportedUriError, "symbolic link"),
        (bytes_field(1, varint_field(1, 5)), UnsupportedUriError, "sharded folder"),
        (bytes_field(1, varint_field(1, 99)), UnsupportedUriError, "unknown type"),
        (bytes_field(2, b"") + bytes_field(1, varint_field(1, 2)), UnsupportedUriError, "not a CID"),
        (ANOTHER_CODEC + bytes_field(1, varint_field(1, 2)), UnsupportedUriError, "codec 0x71"),
    ],
)  # fmt: skip
def test_a_block_other_than_a_file_is_named(block, error, problem):
    cid = Cid.parse(text(Blocks().put(block, DAG_PB, 1)))
    with pytest.raises(error, match=problem):
        read_file(lambda _: block, cid, (), 1000)


@given(st.binary(max_size=60))
def test_no_block_breaks_the_reader(block):
    cid = Cid.parse(text(Blocks().put(block, DAG_PB, 1)))
    with contextlib.suppress(CidMismatchError, MalformedDocumentError, UnsupportedUriError, DocumentTooLargeError):
        read_file(lambda _: block, cid, (), 1000)


@pytest.mark.parametrize(
    ("cid", "problem"),
    [
        ("", "not a CID"),
        ("Qm", "not a CID"),
        ("QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5", "not a CID"),
        ("bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5", "not a CID"),
        (" bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", "not a CID"),
        ("bafyreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", "codec 0x71"),
        ("bafkqaaa", "hash function 0x0"),
        ("f01551114" + "00" * 20, "hash function 0x11"),
        ("f0155121f" + "00" * 31, "hash function 0x12"),
        ("b" * 129, "too long for a CID"),
        ("🐍", "not a CID"),
    ],
)
def test_an_unsupported_cid_is_refused(guarded, cid, problem):
    with pytest.raises(UnsupportedUriError, match=problem):
        guarded.load(f"ipfs://{cid}")


@given(st.text(max_size=60))
def test_no_text_breaks_the_parser_of_ipfs_uris(rest):
    try:
        cid, _ = parse_ipfs_uri(f"ipfs://{rest}")
    except UnsupportedUriError:
        pass
    else:
        assert Cid.parse(str(cid)) == cid


def test_a_slow_leaf_counts_against_the_same_time(ipfs, gateway):
    """All blocks share one time limit, so many slow blocks do not add up to hours."""
    root = gateway.blocks.add(bytes(700_000))
    for cid, block in list(gateway.blocks.items()):
        gateway.forged[cid] = lambda handler, block=block: (time.sleep(0.2), respond(handler, block))
    with pytest.raises(DocumentTimeoutError):
        replace(ipfs, limits=Limits(seconds=0.4)).load(f"ipfs://{root}")
