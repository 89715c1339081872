"""The first block of an index is found by any endpoint, and `--until-head` ends at the head, or with what to change."""

from __future__ import annotations

import json
import re
import threading

import pytest

from bilateral.core.errors import UnexpectedAnswerError, WrongChainError
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.errors import EndpointRefusesError, NoEndpointError
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker, first_block_of
from simulation.events import ADDRESSES
from tests.index.conftest import CHAIN_ID, DEPLOYMENT, REGISTRIES
from tests.index.proxy import Answer, Proxy, first_times, refusal
from tests.index.test_commands import bilateral
from tests.index.test_limits import STOPS

pytestmark = pytest.mark.one_engine

APPEARED = 500
PRUNED = refusal("missing trie node: state is not available")


@pytest.fixture
def second(settled_chain):
    """A further endpoint of the settled chain."""
    with Proxy(settled_chain.url) as second:
        yield second


def pool_of(*proxies):
    return Pool(CHAIN_ID, [Source(Endpoint(proxy.url), list(REGISTRIES)) for proxy in proxies])


def appeared_late(parameters):
    return "0x60" if int(parameters[1], 16) >= APPEARED else "0x"


def prunes(settled_chain):
    return lambda parameters: PRUNED if int(parameters[1], 16) < settled_chain.head - 100 else "0x60"


@pytest.mark.parametrize("failure", ["prunes", "fails", "is far behind"])
def test_first_block_is_found_by_the_next_endpoint(settled_chain, proxy, second, failure):
    proxy.own["eth_getCode"] = {
        "prunes": prunes(settled_chain),
        "fails": lambda _: Answer(500, b"no"),
        "is far behind": lambda *_: "0x",
    }[failure]
    second.own["eth_getCode"] = appeared_late
    assert first_block_of(pool_of(proxy, second), [DEPLOYMENT]) == APPEARED


def test_first_block_is_0_if_no_endpoint_keeps_old_states(settled_chain, proxy, second):
    proxy.own["eth_getCode"] = second.own["eth_getCode"] = prunes(settled_chain)
    assert first_block_of(pool_of(proxy, second), [DEPLOYMENT]) == 0


def test_missing_contract_is_named(proxy, second):
    proxy.own["eth_getCode"] = second.own["eth_getCode"] = lambda *_: "0x"
    with pytest.raises(UnexpectedAnswerError, match=f"there is no contract at {DEPLOYMENT.identity}"):
        first_block_of(pool_of(proxy, second), [DEPLOYMENT])


def test_no_answer_about_the_first_block_is_named(proxy):
    proxy.own["eth_getCode"] = lambda *_: Answer(500, b"no")
    with pytest.raises(NoEndpointError, match="HTTP status 500"):
        first_block_of(pool_of(proxy), [DEPLOYMENT])


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
def test_endpoint_of_another_chain_than_the_deployment_is_named_and_passed_over(
    settled_chain, proxy, engine, store, caplog, is_first
):
    proxy.own["eth_chainId"] = lambda *_: hex(8453)
    urls = (proxy.url, settled_chain.url) if is_first else (settled_chain.url, proxy.url)
    worker = Worker(engine, ChainSettings(urls, (DEPLOYMENT,), 1_090), stop=threading.Event())
    worker.run(until_head=True)
    assert store.cursor().number == settled_chain.head
    (told,) = {record.getMessage() for record in caplog.records if record.levelname == "WARNING"}
    assert "benched='the node serves chain 8453, but the deployment is on chain 31337: use a node of" in told
    assert proxy.name in told


def test_deployment_of_no_endpoints_chain_is_refused(proxy, second, engine):
    proxy.own["eth_chainId"] = lambda *_: hex(8453)
    second.own["eth_chainId"] = lambda *_: hex(1)
    with pytest.raises(WrongChainError, match="or a deployment on chain 8453"):
        Worker(engine, ChainSettings((proxy.url, second.url), (DEPLOYMENT,)), stop=threading.Event())


def test_deployment_is_not_refused_while_an_endpoint_that_may_be_of_its_chain_fails(proxy, second, engine):
    proxy.own["eth_chainId"] = lambda *_: hex(8453)
    second.own["eth_chainId"] = lambda *_: Answer(500, b"no")
    with pytest.raises(NoEndpointError, match=rf"{second.name}: .*HTTP status 500.*; {proxy.name}: chain 8453"):
        Worker(engine, ChainSettings((proxy.url, second.url), (DEPLOYMENT,)), stop=threading.Event())


ADVICE = {
    "publicnode, no address": "add another --rpc-url, or use such a plan's URL",
    "publicnode, old blocks": "put the token into --rpc-url",
    "Infura, parameters": "pass fewer --deployment",
    "Cloudflare, user agent": "ask the provider to allow it",
    "no key": "put the provider's key into --rpc-url",
    "unknown words": "add another --rpc-url, and report the message",
}


@pytest.mark.parametrize("who", STOPS)
def test_run_until_the_head_ends_at_a_refusal_for_good_with_what_to_change(proxy, engine, store, who):
    proxy.rules["eth_getLogs"] = lambda *_: STOPS[who]
    worker = Worker(engine, ChainSettings((proxy.url,), (DEPLOYMENT,), 1), stop=threading.Event())
    with pytest.raises(NoEndpointError, match=re.escape(ADVICE[who])):
        worker.run(until_head=True)
    assert store.cursor().number == 0


def test_command_until_the_head_ends_at_a_refusal_with_an_exit_code(proxy, tmp_path):
    proxy.rules["eth_getLogs"] = lambda *_: STOPS["no key"]
    record = tmp_path / "31337.json"
    contracts = {str(name): {"address": address, "block": 1} for name, address in ADDRESSES.items()}
    record.write_text(json.dumps({"chainId": CHAIN_ID, "contracts": contracts}))
    database = f"sqlite:///{tmp_path / 'ended.sqlite'}"
    options = ("--rpc-url", proxy.url, "--deployment", record, "--database", database)
    code, _, told = bilateral("run", *options, "--until-head", "--no-files")
    assert code == 5
    assert "Unauthorized" in told
    assert ADVICE["no key"] in told


@pytest.mark.parametrize("other", ["refuses for good", "limits the rate", "fails"])
def test_refusals_are_final_only_if_each_endpoint_refuses_for_good(proxy, second, other):
    pool = pool_of(proxy, second)
    final = EndpointRefusesError(proxy.name, 1, 2, "no", "Pay")
    pool.bench(pool.sources[0], final)
    pool.bench(
        pool.sources[1],
        {
            "refuses for good": final,
            "limits the rate": EndpointRefusesError(second.name, 1, 2, "slow down", "Wait", is_final=False),
            "fails": NoEndpointError(None, "unreachable"),
        }[other],
    )
    with pytest.raises(NoEndpointError) as problem:
        pool.choose()
    assert problem.value.is_final == (other == "refuses for good")


def test_run_until_the_head_ends_at_the_head_of_the_endpoint_that_is_ahead(event_chain, generator, engine, store):
    for _ in range(4):
        event_chain.mine(generator.logs(3))
        event_chain.rpc("evm_increaseTime", 60)
    with Proxy(event_chain.url, {"eth_blockNumber": lambda *_: "0x1"}) as stuck:
        settings = ChainSettings((stuck.url, event_chain.url), (DEPLOYMENT,), 1)
        Worker(engine, settings, stop=threading.Event()).run(until_head=True)
    assert store.cursor().number == 4


def test_redirect_ends_a_run_until_the_head_at_once_with_the_host_that_it_leads_to(proxy, tmp_path):
    proxy.own["eth_chainId"] = lambda *_: Answer(307, b"", location="https://moved.example/secret-key")
    database = f"sqlite:///{tmp_path / 'ended.sqlite'}"
    code, _, told = bilateral("run", "--rpc-url", proxy.url, "--database", database, "--until-head", "--no-files")
    assert (code, len(proxy.asked("eth_chainId"))) == (5, 1)
    assert "a redirect to https://moved.example (HTTP status 307), which is not followed: use the URL" in told
    assert "secret-key" not in told


def test_bench_of_the_only_endpoint_is_ten_seconds_at_most(proxy, second, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr("bilateral.index.chain.pool.time.monotonic", lambda: now[0])
    alone, both = pool_of(proxy), pool_of(proxy, second)
    for _ in range(6):
        for pool in (alone, both):
            pool.bench(pool.sources[0], NoEndpointError(None, "unreachable"))
    now[0] += 10
    assert alone.choose() is alone.sources[0]
    assert both.choose() is both.sources[1]


def test_run_until_the_head_asks_once_more_before_it_gives_up(settled_chain, proxy, second, engine, store, monkeypatch):
    monkeypatch.setattr("bilateral.index.chain.pool._BENCH_SECONDS", (600.0,))
    worker = Worker(
        engine, ChainSettings((proxy.url, second.url), (DEPLOYMENT,), 1_000), stop=threading.Event(), max_wait=1.0
    )
    for endpoint in (proxy, second):
        endpoint.rules["eth_getLogs"] = first_times(1, lambda *_: Answer(500, b"no"))
    worker.run(until_head=True)
    assert store.cursor().number == settled_chain.head
