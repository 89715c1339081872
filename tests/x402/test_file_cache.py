"""Registration files are cached as long as they can be trusted, and keys that were just rotated are found."""

from __future__ import annotations

import gzip
import ssl
from dataclasses import replace

import pytest
import trustme

from bilateral.core.errors import DocumentError
from bilateral.documents import Loader, RegistrationFile
from bilateral.x402 import CheckName, Outcome, Secp256k1Key, Verifier, declare_8004_reputation
from bilateral.x402.proof import checking as checking_module
from bilateral.x402.proof.checking import FileCache
from tests.sdk.servers import HttpServer, redirect, respond
from tests.x402.buying import buy
from tests.x402.world import SIGNING_KEY, signer_entry

OTHER_KEY = Secp256k1Key(bytes(range(2, 34)))


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def web(authority):
    """A web server with a certificate for localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with HttpServer(context) as server:
        yield server


@pytest.fixture
def trusting(authority, loader):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return replace(loader, network=replace(loader.network, ssl_context=context))


def test_file_of_a_server_is_loaded_again_after_five_minutes(web, trusting, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checking_module.time, "monotonic", lambda: now[0])
    cache, url = FileCache(trusting), web.url + "/a.json"
    web.routes["/a.json"] = b"first"
    assert cache.load(url).content == b"first"
    web.routes["/a.json"] = b"second"
    now[0] = 299.9
    assert cache.load(url).content == b"first"
    assert cache.load(url, is_fresh=True).content == b"second"
    web.routes["/a.json"] = b"third"
    now[0] = 599.9
    assert cache.load(url).content == b"third"


def test_unchanged_file_is_not_sent_again(web, trusting):
    cache, url, sent = FileCache(trusting), web.url + "/a.json", []

    def answer(handler):
        is_known = handler.headers.get("if-none-match") == '"one"'
        sent.append(is_known)
        handler.send_response(304 if is_known else 200)
        handler.send_header("etag", '"one"')
        handler.send_header("content-length", "0" if is_known else "2")
        handler.end_headers()
        if not is_known:
            handler.wfile.write(b"{}")

    web.routes["/a.json"] = answer
    assert cache.load(url).content == cache.load(url, is_fresh=True).content == b"{}"
    assert sent == [False, True]


def test_file_within_its_uri_is_kept(trusting):
    cache = FileCache(trusting)
    assert cache.load("data:,text") is cache.load("data:,text", is_fresh=True)


def test_cache_is_limited():
    cache = FileCache(Loader())
    first = cache.load("data:,0")
    for number in range(checking_module.MAX_CACHED):
        cache.load(f"data:,{number + 1}")
    assert cache.load("data:,0") is not first


def test_file_that_cannot_be_loaded_is_not_remembered(web, trusting):
    cache, url = FileCache(trusting), web.url + "/a.json"
    with pytest.raises(DocumentError):
        cache.load(url)
    web.routes["/a.json"] = b"{}"
    assert cache.load(url).content == b"{}"


@pytest.fixture
def hosted(web, register, seller, selling_client, deployment):
    """An agent whose registration file is on the web; returns its id and a function that lists other keys."""
    agent_id = register(seller)
    selling_client.set_agent_uri(agent_id, web.url + "/agent.json").wait()

    def publish(*keys):
        file = RegistrationFile.new(
            "Weather",
            "It forecasts",
            "https://agent.example/i.png",
            signers=[signer_entry(key) for key in keys],
            registrations=[{"agentId": agent_id, "agentRegistry": str(deployment.agent_registry)}],
        )
        web.routes["/agent.json"] = file.to_bytes()

    return agent_id, publish


def test_rotated_key_is_found_although_the_file_was_cached(rpc, deployment, trusting, sell, hosted, enrich):
    agent_id, publish = hosted
    publish(SIGNING_KEY)
    with Verifier({rpc: deployment}, loader=trusting) as verifier:
        declared = declare_8004_reputation(agent_id, deployment)
        with sell(declared) as url:
            assert verifier.verify(buy(url, enrich())).is_verified
        publish(OTHER_KEY)
        with sell(declared, key=OTHER_KEY) as url:
            paid = buy(url, enrich())
            verification = verifier.verify(paid)
        assert verification.is_verified, verification.problems
        assert verification.signer.public_key == OTHER_KEY.public_key
        past = verifier.verify(paid, historical=True)
        assert past.outcome(CheckName.REGISTRATION_FILE) is Outcome.UNCHECKED
        assert "the past content of a file at an https URI cannot be proven" in " ".join(past.problems)


def bomb(handler):
    respond(handler, gzip.compress(bytes(2**25)), Content_Encoding="gzip")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (redirect("/agent.json"), "redirects more than 3 times"),
        (None, "redirects from https to http"),
        (bomb, "the document exceeds the limit of 65536 bytes"),
        (b" " * (64 * 1024 + 1), "the document exceeds the limit of 65536 bytes"),
        (lambda handler: handler.send_error(500), "returned status 500"),
    ],
    ids=["redirects for ever", "redirect to http", "bomb", "too large", "error"],
)
def test_hostile_server_of_a_registration_file_verifies_nothing(
    rpc, deployment, trusting, web, hosted, sell, enrich, answer, problem
):
    agent_id, publish = hosted
    publish(SIGNING_KEY)
    with sell(declare_8004_reputation(agent_id, deployment)) as url:
        paid = buy(url, enrich())
    with HttpServer() as plain, Verifier({rpc: deployment}, loader=trusting) as verifier:
        plain.routes["/agent.json"] = web.routes["/agent.json"]
        web.routes["/agent.json"] = answer or redirect(plain.url + "/agent.json")
        check = verifier.verify(paid).check(CheckName.REGISTRATION_FILE)
    assert (check.outcome, check.code) == (Outcome.UNCHECKED, "file_not_loaded")
    assert check.problem.startswith("the registration file cannot be loaded: ")
    assert check.problem.endswith(problem)
