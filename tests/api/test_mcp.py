"""Tools and resources for models, called by the client of the official SDK."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from bilateral.api.mcp.lookups import NOTICE, NOTICE_OF_CHECKS
from bilateral.checks import Policy
from bilateral.cli.app import load
from tests.api.world import ERIN, FORMULA_TAG, FRANK, TREASURY


@pytest.fixture(scope="module", params=["streamable HTTP", "stdio"])
def session(request, api, api_database):
    """Runs a function of a connected client: over HTTP, or with the command on standard input and output."""

    def run(use):
        async def connected():
            if request.param == "streamable HTTP":
                target = f"{str(api.base_url).rstrip('/')}/mcp"
            else:
                command = str(Path(sys.executable).with_name("bilateral"))
                target = stdio_client(StdioServerParameters(command=command, args=["mcp", "--database", api_database]))
            async with Client(target) as client:
                return await use(client)

        return asyncio.run(connected())

    return run


async def data(session, tool, /, **arguments):
    """Call a tool, check the warning, and return the data."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured_content = result.structured_content
    assert (structured_content["is_untrusted"], structured_content["notice"]) == (True, NOTICE)
    assert json.loads(result.content[0].text) == structured_content
    return structured_content["data"]


async def check_of(session, tool, /, **arguments):
    """Call a tool that checks, look that the service's own word stands apart, and return the answer as REST has it."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured_content = result.structured_content
    assert structured_content.keys() == {"check", "notice", "untrusted"}
    assert (structured_content["notice"], "untrusted" in structured_content["check"]) == (NOTICE_OF_CHECKS, False)
    assert "`untrusted` were written by strangers" in structured_content["notice"]
    return {**structured_content["check"], "untrusted": structured_content["untrusted"]}


async def check_policies(client, api, checked):
    """Check by a whole policy and at a moment, over MCP and REST."""
    policy = {"minimum_raters": 1, "trust": {"accounts": [ERIN.address]}, "severities": {"no_file": "decline"}}
    for tool, path, subject in (
        ("check_server", "server", {"agent": "31337:1", "files": 0, "client": "31337:2"}),
        ("check_client", "client", {"client": "31337:2", "payments": 0, "server": "31337:1"}),
    ):
        options = {"policy": policy, "at_block": checked["block"], "history": checked["history"], "analysis": 0}
        answer = await check_of(client, tool, **subject, **options)
        assert answer == api.post(f"/v1/checks/{path}", json={**subject, **options}).json()
    for policy, reviewers, params in (
        ("strict", [], {}),
        ("own-list", [ERIN.address, "31337:2"], {"trust_account": ERIN.address, "trust_agent": "31337:2"}),
        ("balanced", [], {}),
    ):
        options = {"policy": policy, "reviewers": reviewers, "at_block": checked["block"]}
        answer = await check_of(client, "check_server", agent="31337:1", **options)
        params |= {"agent": "31337:1", "policy": policy, "at_block": checked["block"]}
        assert answer == api.get("/v1/checks/server", params=params).json()
    refused = await client.call_tool("check_server", {"agent": "31337:1", "policy": {"tag": "responseTime"}})
    assert refused.is_error and "has no scale" in refused.content[0].text
    refused = await client.call_tool("check_server", {"agent": "31337:1", "history": "0x" + "00" * 32})
    assert refused.is_error and "other_history: " in refused.content[0].text


def check_names(tools, paths):
    """Compare the names of arguments over MCP and REST, and in the help of the command line."""
    for tool, path, words in (
        ("search_agents", "/v1/search/agents", ["search"]),
        ("check_server", "/v1/checks/server", ["check", "server"]),
        ("check_client", "/v1/checks/client", ["check", "client"]),
    ):
        over_http = {parameter["name"] for parameter in paths[path]["get"]["parameters"]}
        over_mcp = set(tools[tool].input_schema["properties"])
        named = {"q", "agent", "client", "server", "chain", "pay_to", "amount", "owner", "wallet", "active", "x402"}
        assert over_mcp & named == over_http & named - ({"chain"} if tool == "search_agents" else set())
        assert not {"text", "agent_id", "for_server", "for_client", "chain_id"} & (over_mcp | over_http)
        options = {name for command in commands_of(*words) for name in command.opts}
        assert not {"--text", "--agent-id", "--for-server", "--for-client"} & options
        assert {f"--{name}" for name in ("server", "client") if name in over_http and words[-1] != name} <= options
    for tool in ("get_agent", "get_feedback", "get_ratings", "get_trusted_clients"):
        assert "agent" in tools[tool].input_schema["required"]


def commands_of(*words):
    """Return the parameters of a command."""
    command = load(words[0])
    for word in words[1:]:
        command = command.get_command(None, word)
    return command.params


async def check_services(client, api, api_world):
    """Look up agents by URL, host and payee of a service, over MCP and REST."""
    for at in ("https://weather.example/mcp", "weather.example", "nobody.example"):
        assert await data(client, "get_services", at=at) == api.get("/v1/services", params={"url": at}).json()
    paid = await data(client, "get_services", at=TREASURY.address)
    assert paid == api.get(f"/v1/accounts/{TREASURY.address}").json()
    assert [agent["id"] for agent in paid["agents"] if agent["is_wallet"]] == [api_world.id(api_world.translator)]


async def check_searches(client, api, api_world):
    """Search by all kinds of conditions, over MCP and REST."""
    weather = api_world.id(api_world.weather)
    gates = [{"tag": "starred", "minimum": 60, "reviewers": [ERIN.address]}, {"count": 2}]
    page = await data(client, "search_agents", q="waether", gates=gates, services=["mcp"], limit=1)
    query = {"q": "waether", "tag": "starred", "minimum": 60, "reviewer": ERIN.address, "service": "mcp"}
    assert page == api.get("/v1/search/agents", params={**query, "gate": "count=2", "limit": 1}).json()
    assert [item["id"] for item in page["items"]] == [weather]
    question = "I need somebody who tells me if it will rain tomorrow"
    closest = await data(client, "search_agents", q=question)
    assert closest == api.get("/v1/search/agents", params={"q": question, "limit": 10}).json()
    assert (closest["is_closest"], closest["items"][0]["id"]) == (True, weather)
    named = await data(client, "search_agents", metadata=["category=weather"], registered_from=1)
    query = {"metadata": "category=weather", "registered_from": 1}
    assert named == api.get("/v1/search/agents", params=query).json()
    for gates in ([{"count": 10_000}], [{"blind": True, "count": 10_000}]):
        assert (await data(client, "search_agents", gates=gates))["items"] == []
    assert await data(client, "search_agents", gates=[{"blind": False}]) == await data(
        client, "search_agents", gates=[{}]
    )


@pytest.mark.one_engine
def test_tools_and_resources_answer_as_rest_does(session, api, api_world):
    """One connection, because a process takes seconds to start."""

    async def use(client):
        listed = await client.list_tools()
        assert len(listed.model_dump_json(by_alias=True, exclude_none=True).encode()) <= 8_000
        tools = {tool.name: tool for tool in listed.tools}
        assert {"get_agent", "get_feedback", "get_ratings", "search_agents"} <= tools.keys()
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())

        check_names(tools, api.get("/openapi.json").json()["paths"])

        content = await data(client, "get_agent", agent="31337:1")
        assert content == api.get("/v1/agents/31337:1").json()

        page = await data(client, "get_feedback", agent=api_world.global_id(1), client=ERIN.address, limit=2)
        shown = api.get("/v1/agents/31337:1/feedback", params={"client": ERIN.address, "limit": 2}).json()
        assert page == shown
        second = await data(client, "get_feedback", agent="31337:1", client=ERIN.address, limit=2, cursor=page["next"])
        assert not {item["id"] for item in second["items"]} & {item["id"] for item in page["items"]}

        ratings = await data(client, "get_ratings", agent="31337:1", direction="given")
        assert ratings == api.get("/v1/agents/31337:1/ratings", params={"direction": "given"}).json()

        assert {"check_server", "check_client"} <= tools.keys()
        checked = await check_of(client, "check_server", agent="31337:1", pay_to=ERIN.address)
        params = {"agent": "31337:1", "pay_to": ERIN.address}
        assert checked == api.get("/v1/checks/server", params=params).json()
        assert (checked["verdict"], checked["reasons"][0]["code"]) == ("decline", "pay_to_differs")
        await check_policies(client, api, checked)
        checked = await check_of(client, "check_client", client=ERIN.address, server="31337:2")
        assert "low_rating_by_us" in {reason["code"] for reason in checked["reasons"]}

        await check_searches(client, api, api_world)
        await check_services(client, api, api_world)

        resource = await client.read_resource("bilateral://policy")
        described = json.loads(resource.contents[0].text)
        assert described["policies"]["strict"]["minimum_raters"] == 5
        assert described["schema"] == Policy.model_json_schema()
        resource = await client.read_resource("bilateral://agents/31337:1")
        assert json.loads(resource.contents[0].text) == {"is_untrusted": True, "notice": NOTICE, "data": content}
        resource = await client.read_resource(f"bilateral://feedback/31337:1:{FRANK.address}:0")
        assert json.loads(resource.contents[0].text)["data"][0]["value"] == "40"

        hostile = await data(client, "get_agent", agent=f"31337:{api_world.hostile}")
        assert "\u202e" not in hostile["registration"]["name"]
        assert r"\u202e" in hostile["registration"]["name"]
        (feedback,) = (await data(client, "get_feedback", agent=f"31337:{api_world.hostile}"))["items"]
        assert (feedback["tag1"], feedback["tag2"]) == (FORMULA_TAG, r"\n@x")

        content = (await data(client, "search_agents", order="registered", limit=100))["items"]
        assert all(text.isprintable() for entry in content for text in (entry["name"], entry["description"]) if text)
        assert str(api_world.hostile) in [entry["agent_id"] for entry in content]

        for tool, arguments, message in (
            ("get_agent", {"agent": "31337:999"}, "not_indexed: the index has no agent 31337:999"),
            ("get_agent", {"agent": "x"}, "malformed_identifier"),
            ("search_agents", {"order": "mean"}, "invalid_argument: sorting by mean requires a gate"),
            ("search_agents", {"capabilities": ["get_weather"]}, "invalid_argument: a capability has a kind"),
            ("search_agents", {"gates": [{"reviewers": ["0x1"]}]}, 'invalid_argument: reviewer "0x1" is not an addr'),
            ("search_agents", {"chains": [5]}, "chain_not_indexed: chain 5 is not indexed"),
            ("search_agents", {"gates": [{}] * 6}, "invalid_argument: gates: "),
            ("check_server", {"agent": "31337:1", "policy": "own-list"}, "invalid_argument: policy: "),
            ("check_server", {"agent": "31337:1", "policy": "lenient"}, "invalid_argument: policy: name: "),
            ("get_services", {"at": "a b"}, "invalid_argument: url: "),
            ("check_service", {"url": "https://weather.example/"}, "no_node: "),
            ("pay_server", {}, 'unknown_tool: there is no tool "pay_server"'),
            ("search_agents", {"limit": 101}, "invalid_argument: limit: Input should be less than or equal to 100"),
            (
                "check_server",
                {"agent": "31337:1", "payTo": ERIN.address},
                'invalid_argument: check_server has no argument "payTo": use agent, pay_to, ',
            ),
        ):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error
            assert refused.content[0].text.startswith(message)
        for resource, message in (
            ("bilateral://agents/31337:999", "not_indexed: the index has no agent 31337:999"),
            ("bilateral://feedback/nonsense", "malformed_identifier: "),
            ("bilateral://nothing/at/all", "unknown_resource: "),
        ):
            with pytest.raises(MCPError, match=f"^{message}"):
                await client.read_resource(resource)

    session(use)
