"""Servers of MCP of each version: as many requests as needed, sessions ended, and tools compared by their hash."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from bilateral.documents import Network
from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code
from bilateral.watchtower.probes import Asker, ProbeSettings, probe
from tests.watchtower.endpoints import (
    CONTACT,
    TOOL,
    Endpoints,
    html,
    http,
    json_,
    mcp,
    rpc_error,
    run_probe,
)

HOST = "agent.example"
RECORDED = json.loads((Path(__file__).parent / "mcp_servers.json").read_text(encoding="utf-8"))
"""The answers of servers that SDKs made: mcp (Python) 1.9 and 1.12, FastMCP 2.14 and 4.1, and npm's SDK 1.32."""

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.fixture(scope="module")
def servers():
    with Endpoints() as running:
        yield running


def serve(servers, answer):
    """Let the host answer, and forget what it was asked."""
    servers.requests.clear()
    servers.answers[HOST] = answer


def replayed(answers):
    """Return a server that answers as one that was recorded."""

    def answer(request):
        recorded = answers.get(request.question, {"status": 405, "headers": {}, "body": ""})
        body = recorded["body"].replace("REQUEST_ID", str(request.message.get("id")))
        headers = {name: value for name, value in recorded["headers"].items() if name != "content-type"}
        return http(recorded["status"], body.encode(), recorded["headers"].get("content-type", "text/plain"), **headers)

    return answer


@pytest.mark.parametrize("server", RECORDED, ids=lambda server: server["name"])
def test_server_of_each_sdk_is_up_after_three_requests_and_then_after_one(servers, server):
    serve(servers, replayed(server["answers"]))
    first = run_probe(servers, HOST, Protocol.MCP, path="/mcp")
    assert (first.outcome, first.facts["era"]) == (Outcome.UP, server["era"])
    has_session = "mcp-session-id" in server["answers"].get("initialize", {"headers": {}})["headers"]
    is_stateless = server["era"] == "2026-07-28"
    end = ["DELETE"] * has_session
    assert servers.asked(HOST) == ["server/discover", *([] if is_stateless else ["initialize", *end])]
    servers.requests.clear()
    assert run_probe(servers, HOST, Protocol.MCP, path="/mcp", previous=first.facts).outcome is Outcome.UP
    assert servers.asked(HOST) == (["server/discover"] if is_stateless else ["initialize", *end])
    deep = run_probe(servers, HOST, Protocol.MCP, path="/mcp", previous=first.facts, is_deep=True)
    assert (deep.code, len(deep.facts["tools"])) == (Code.OK, 64)


@contextmanager
def running(application):
    """Serve an application."""
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("previous", [{}, {"era": "2025-11-25"}], ids=["stateless", "handshake"])
def test_server_of_the_present_sdk_speaks_both_versions(previous):
    server = MCPServer("Weather")
    server.add_tool(lambda town: f"snow in {town}", "get_weather", description="Tells the weather.")
    with running(server.streamable_http_app()) as port:
        target = Target(Protocol.MCP, f"http://127.0.0.1:{port}/mcp", "127.0.0.1")
        settings = ProbeSettings(CONTACT, Network(allow_private=True))
        results = [probe(Asker(target, settings, previous, is_deep)) for is_deep in (False, True)]
    assert [result.outcome for result in results] == [Outcome.UP] * 2
    assert [result.facts["era"] for result in results] == [previous.get("era", "2026-07-28")] * 2
    assert len(results[1].facts["tools"]) == 64


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_stream", [False, True])
def test_session_is_begun_and_ended(servers, version, is_stream):
    serve(servers, mcp(version, session="s-7", is_stream=is_stream))
    probe = run_probe(servers, HOST, Protocol.MCP, is_deep=True)
    assert (probe.outcome, probe.facts["era"]) == (Outcome.UP, version)
    methods = ["server/discover", "initialize", "notifications/initialized", "tools/list", "DELETE"]
    assert servers.asked(HOST) == methods
    for _, request in servers.requests[2:]:
        assert (request.headers["mcp-session-id"], request.headers["mcp-protocol-version"]) == ("s-7", version)


def test_server_that_was_renewed_is_asked_in_the_new_way(servers):
    serve(servers, mcp())
    probe = run_probe(servers, HOST, Protocol.MCP, previous={"era": "2025-06-18"})
    assert (probe.outcome, probe.facts["era"]) == (Outcome.UP, "2026-07-28")
    assert servers.asked(HOST) == ["initialize", "server/discover"]


def test_missing_slash_is_added_as_the_host_asks_and_no_other_host_is(servers):
    answer = mcp()
    serve(servers, lambda request: answer(request) if request.target == "/mcp/" else http(307, Location="/mcp/"))
    assert run_probe(servers, HOST, Protocol.MCP, path="/mcp").outcome is Outcome.UP
    serve(servers, http(307, Location=servers.url("other.example")))
    assert run_probe(servers, HOST, Protocol.MCP).code is Code.REDIRECT_REFUSED
    assert {host for host, _ in servers.requests} == {HOST}


def test_hash_of_tools_depends_on_their_schemas_but_not_on_their_order(servers):
    other = {**TOOL, "name": "get_snow"}
    hashes = []
    lists = [[TOOL, other], [other, TOOL], [TOOL, {**other, "inputSchema": {"type": "object", "required": ["town"]}}]]
    for tools in lists:
        serve(servers, mcp(tools=tools))
        hashes.append(run_probe(servers, HOST, Protocol.MCP, is_deep=True).facts["tools"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_all_pages_of_tools_count(servers):
    def page(request):
        cursor = request.message["params"].get("cursor")
        result = {"tools": [{**TOOL, "name": cursor or "first"}], **({} if cursor else {"nextCursor": "second"})}
        return json_({"jsonrpc": "2.0", "id": request.message["id"], "result": result})

    serve(servers, mcp(overrides={"tools/list": page}))
    both = run_probe(servers, HOST, Protocol.MCP, is_deep=True).facts["tools"]
    serve(servers, mcp(tools=[{**TOOL, "name": "second"}, {**TOOL, "name": "first"}]))
    assert run_probe(servers, HOST, Protocol.MCP, is_deep=True).facts["tools"] == both


NO_TOOLS = mcp(overrides={"tools/list": lambda request: rpc_error(request, -32601)})


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (mcp(tools=[]), Code.EMPTY),
        (NO_TOOLS, Code.EMPTY),
        (mcp("2025-11-25", overrides={"notifications/initialized": http(400)}), Code.ERA),
    ],
)
def test_fault_that_a_deep_probe_sees_counts_until_the_next_one(servers, answer, code):
    serve(servers, answer)
    deep = run_probe(servers, HOST, Protocol.MCP, is_deep=True)
    assert (deep.outcome, deep.code) == (Outcome.DEGRADED, code)
    light = run_probe(servers, HOST, Protocol.MCP, previous=deep.facts)
    assert (light.outcome, light.code) == (Outcome.DEGRADED, code)
    serve(servers, mcp())
    assert run_probe(servers, HOST, Protocol.MCP, is_deep=True, previous=deep.facts).outcome is Outcome.UP


@pytest.mark.parametrize("answer", [http(401), http(500), [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 0.01]])
def test_list_of_tools_that_fails_leaves_the_server_up(servers, answer):
    serve(servers, mcp(overrides={"tools/list": answer}))
    probe = run_probe(servers, HOST, Protocol.MCP, is_deep=True)
    assert probe.outcome is Outcome.UP
    assert "tools" not in probe.facts


def test_number_that_javascript_does_not_know_is_hashed(servers):
    serve(servers, mcp(tools=[{**TOOL, "inputSchema": {"maximum": 2**60}}]))
    assert len(run_probe(servers, HOST, Protocol.MCP, is_deep=True).facts["tools"]) == 64


def test_stream_of_the_first_version_is_up_at_its_own_url_and_degraded_at_another(servers):
    stream = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /m?s=1\n\n", 5.0]
    serve(servers, lambda request: stream if request.method == "GET" else http(405))
    assert run_probe(servers, HOST, Protocol.MCP, path="/sse").outcome is Outcome.UP
    assert servers.asked(HOST) == ["GET"]
    servers.requests.clear()
    probe = run_probe(servers, HOST, Protocol.MCP, path="/mcp")
    assert (probe.outcome, probe.code) == (Outcome.DEGRADED, Code.ERA)
    assert servers.asked(HOST) == ["server/discover", "initialize", "GET"]
    servers.requests.clear()
    assert run_probe(servers, HOST, Protocol.MCP, path="/mcp", previous=probe.facts).code is Code.ERA
    assert servers.asked(HOST) == ["GET"]


@pytest.mark.parametrize("url", ["stdio://server", "npx -y @weather/mcp", "ws://agent.example/mcp"])
def test_server_that_is_a_program_is_unfit(servers, url):
    target = Target(Protocol.MCP, url, HOST)
    result = probe(Asker(target, ProbeSettings(CONTACT)))
    assert (result.outcome, result.code) == (Outcome.UNFIT, Code.URL)


def test_method_that_is_not_allowed_without_a_stream_is_down(servers):
    serve(servers, lambda request: html() if request.method == "GET" else http(405))
    probe = run_probe(servers, HOST, Protocol.MCP)
    assert (probe.outcome, probe.code) == (Outcome.DOWN, Code.STATUS)
