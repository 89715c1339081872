"""Documents in a folder are named on chain by the URL at which others load them, and by nothing else."""

from __future__ import annotations

import pytest

from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.x402 import Ed25519Key, Secp256k1Key
from tests.cli.conftest import GROUP_COMMANDS
from tests.sdk.servers import KuboServer, PinningServer, PutServer
from tests.x402.world import signer_entry

pytestmark = pytest.mark.usefixtures("agent")

URL = "https://files.example"
TOKEN = {"BILATERAL_PINNING_TOKEN": "secret"}
ALONE = "--store-folder requires --store-url, the URL at which the folder is published"
UNUSABLE = "--store-url must be an http or https URL of a folder, without a query, fragment, user or password"

LISTED = Secp256k1Key(bytes(range(1, 33)))
"""A key that the agent's registration file lists."""

STORING = [
    f"{group} {name}"
    for group, commands in GROUP_COMMANDS.items()
    for name, command in commands.items()
    if any(parameter.name == "store_folder" for parameter in command.params)
    if group != "watchtower"
]
"""Commands that store one document. `watchtower publish` stores those of a week: see `tests/watchtower`."""


def _public_key_file(folder):
    """Write a public key for `x402 signers add` to a file."""
    path = folder / "key.hex"
    path.write_text(Ed25519Key(bytes(range(1, 33))).public_key)
    return path


@pytest.fixture
def published(tmp_path):
    """The folder that is published."""
    return tmp_path / "published"


@pytest.fixture
def storing(tmp_path, owner, client, validator, bilateral, identity):
    """The arguments that make each command store a document, and the account that may run it."""
    file = tmp_path / "agent.json"
    signers = [signer_entry(LISTED)]
    file.write_bytes(
        RegistrationFile.new("Weather agent", "Forecasts", "https://agent.example/i.png", signers=signers).to_bytes()
    )
    authorization = bilateral("auth", "create", 1, client.address, key=owner).out.strip()
    feedback = f"1:{client.address}:0"
    identity.setAgentURI(1, DataUriStore().put(file.read_bytes()).uri, sender=owner)
    return {
        "agent register": (["--file", file], owner),
        "agent edit": ([1, "--name", "Storm agent"], owner),
        "agent set-uri": ([1, "--file", file], owner),
        "x402 signers add": ([1, "--public-key-file", _public_key_file(tmp_path), "--algorithm", "ed25519"], owner),
        "x402 signers retire": ([1, LISTED.public_key[:16]], owner),
        "feedback give": ([1, 87, "--text", "good"], client),
        "feedback sign": ([1, 87, "--text", "good"], client),
        "feedback respond": ([feedback, "--text", "sorry"], owner),
        "validation request": ([1, validator.address, "--document", file], owner),
        "auth give": ([92, authorization, "--text", "good"], client),
    }


@pytest.mark.parametrize("name", STORING)
def test_a_document_in_a_folder_is_named_by_its_url(bilateral, storing, reputation, client, published, name):
    reputation.giveFeedback(1, 87, 0, "", "", "", "", bytes(32), sender=client)
    arguments, key = storing[name]
    ran = bilateral(*name.split(), *arguments, "--store-folder", published, "--store-url", f"{URL}/", "--json", key=key)
    assert (ran.code, ran.err) == (0, "")
    (stored,) = published.iterdir()
    assert f'"{URL}/{stored.name}"' in ran.out


@pytest.mark.parametrize("name", STORING)
def test_a_folder_that_only_its_owner_reads_is_refused_before_anything_is_sent(refused, storing, published, name):
    arguments, key = storing[name]
    before = key.nonce
    error = refused(3, *name.split(), *arguments, "--store-folder", published, key=key)
    assert (error["reason"], error["message"], error["arguments"]) == ("invalid_argument", ALONE, {})
    assert (key.nonce, published.exists()) == (before, False)


UNUSABLE_URLS = {
    "no scheme": ["files.example", "//files.example"],
    "no host": ["https:files.example", "https:///files", "https://", "https://:80/"],
    "another scheme": ["file:///home/alice", "ftp://files.example", "ipfs://files", "javascript://files.example/"],
    "a query": [f"{URL}?", f"{URL}?a=1"],
    "a fragment": [f"{URL}#", f"{URL}/#a"],
    "a user": ["https://alice:secret@files.example", "https://@files.example"],
    "no port": [f"{URL}:0", f"{URL}:65536", f"{URL}:x", "https://[::1"],
    "no URL": [f" {URL}", f"{URL}/a b", f"{URL}\n", f"{URL}/\x1b", f"{URL}/\xfc"],
}


@pytest.mark.parametrize("url", [url for urls in UNUSABLE_URLS.values() for url in urls], ids=ascii)
def test_an_invalid_folder_url_is_refused_and_not_repeated(refused, client, published, url):
    before = client.nonce
    options = ["--store-folder", published, "--store-url", url]
    error = refused(3, "feedback", "give", 1, 87, "--text", "good", *options, key=client)
    assert (error["reason"], error["message"], error["arguments"]) == ("invalid_argument", UNUSABLE, {})
    assert (client.nonce, published.exists()) == (before, False)


@pytest.mark.parametrize(
    "url", ["http://files.example", f"{URL}:65535/a/@b/", "HTTPS://files.example", "https://[2001:db8::1]/a"]
)
def test_any_folder_on_the_web_is_taken(done, client, published, url):
    options = ["--store-folder", published, "--store-url", url]
    ran = done("feedback", "give", 1, 87, "--text", "good", *options, key=client)
    (stored,) = published.iterdir()
    assert ran["result"]["event"]["uri"] == f"{url.rstrip('/')}/{stored.name}"


def test_the_variables_are_held_to_the_same(refused, client, published):
    variables = {"BILATERAL_STORE_FOLDER": str(published)}
    options = ["feedback", "give", 1, 87, "--text", "good"]
    assert refused(3, *options, key=client, **variables)["message"] == ALONE
    assert refused(3, *options, key=client, **variables, BILATERAL_STORE_URL="file:///")["message"] == UNUSABLE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--store-url", URL], "--store-url requires --store-folder"),
        (
            ["--store-folder", "x", "--ipfs-api", "http://127.0.0.1:1"],
            "documents can only be stored in one place: choose one of --store-folder or --ipfs-api",
        ),
        (["--pinning-api", URL], "--pinning-api requires --ipfs-api, the IPFS node whose documents are pinned"),
        (["--public-url", URL], "--public-url requires --put-url"),
        (
            ["--put-url", URL, "--public-url", f"{URL}?a=1"],
            "--public-url must be an http or https URL without a query, fragment, user or password",
        ),
    ],
    ids=["a URL alone", "two stores", "a service alone", "a public URL alone", "a public URL with a query"],
)
def test_a_place_for_documents_is_whole_and_one(refused, client, options, message):
    error = refused(3, "feedback", "give", 1, 87, "--text", "good", *options, key=client)
    assert (error["reason"], error["message"]) == ("invalid_argument", message)


@pytest.mark.parametrize(
    ("options", "variable"),
    [
        (["--pinata"], "BILATERAL_PINATA_JWT"),
        (["--ipfs-api", URL, "--pinning-api", URL], "BILATERAL_PINNING_TOKEN"),
    ],
    ids=["Pinata", "a pinning service"],
)
def test_a_missing_token_is_named(refused, client, options, variable):
    error = refused(7, "feedback", "give", 1, 87, "--text", "good", *options, key=client)
    assert (error["reason"], error["message"]) == ("no_token", f"the access token is missing: set {variable}")


def test_a_document_is_pinned_and_put(done, client):
    with PinningServer() as service, KuboServer() as node:
        options = ["--ipfs-api", node.url, "--pinning-api", service.url]
        ran = done("feedback", "give", 1, 87, "--text", "good", *options, key=client, **TOKEN)
        (pinned,) = service.pins
        assert ran["result"]["event"]["uri"] == f"ipfs://{pinned}"
    with PutServer() as store:
        ran = done("feedback", "give", 1, 87, "--text", "good", "--put-url", f"{store.url}/a?signature=s", key=client)
        assert ran["result"]["event"]["uri"] == f"{store.url}/a"
        assert store.contents.keys() == {"/a"}


@pytest.mark.parametrize("name", [name for name in STORING if name != "feedback sign"])
def test_a_dry_run_stores_nothing(done, storing, reputation, client, published, name):
    reputation.giveFeedback(1, 87, 0, "", "", "", "", bytes(32), sender=client)
    arguments, key = storing[name]
    options = ["--store-folder", published, "--store-url", URL, "--dry-run"]
    ran = done(*name.split(), *arguments, *options, key=key)
    assert (ran["hash"], published.exists()) == (None, False)


def test_a_dry_run_publishes_nothing_to_ipfs(done, client):
    with KuboServer() as node:
        ran = done("feedback", "give", 1, 87, "--text", "good", "--ipfs-api", node.url, "--dry-run", key=client)
        assert (ran["hash"], node.requests, dict(node.blocks)) == (None, [], {})
