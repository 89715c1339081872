"""Chapter: programs and models find the forecaster over the demo's own index, and ask whom to pay and whom to serve."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from mcp import Client

from bilateral.core.contracts import Deployment
from bilateral.documents import Loader
from bilateral.index.files.worker import ReferenceScan
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker
from bilateral.index.projections import READERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts._demo.stage import Stage

_GATE: dict[str, str | int] = {"tag": "x402-resource-delivered", "minimum": 90}
_FIND = '{ agents(where: {registrationFile_: {name_contains_nocase: "forecast"}}) { agentId owner } }'
_SECONDS = 30


def play(stage: Stage) -> None:
    """Serve the index, and ask it by REST, GraphQL and MCP.

    Args:
        stage: The stage.
    """
    stage.chapter("Find and check")
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'index.sqlite'}"
        _index(stage, database)
        with _served(database) as url, httpx.Client(base_url=url, timeout=_SECONDS) as http:
            agents = _search(stage, http)
            _check(stage, http, agents)
            _ask_graphql(stage, http, agents)
            _ask_as_a_model(stage, url, agents)


def _index(stage: Stage, database: str) -> None:
    """Index the chain, and the files that are on it."""
    deployment = Deployment(
        stage.chain_id,
        identity=stage.registry("IdentityRegistry").address,
        reputation=stage.registry("BidirectionalReputationRegistry").address,
        authorized=stage.registry("AuthorizedReputationRegistry").address,
        validation=stage.registry("ValidationRegistry").address,
    )
    engine = open_database(database)
    Worker(engine, ChainSettings((stage.url,), (deployment,)), stop=threading.Event()).run(until_head=True)
    files = ReferenceScan(engine, stage.chain_id, Loader(), READERS)
    while files.step() is not None:
        pass
    engine.dispose()


@contextmanager
def _served(database: str) -> Iterator[str]:
    """Run `bilateral serve` over an index on a free port, and yield its URL."""
    command = [str(Path(sys.executable).with_name("bilateral")), "serve", "--no-index", "--port", "0"]
    with subprocess.Popen(  # noqa: S603  # ours
        [*command, "--database", database], stderr=subprocess.PIPE, text=True
    ) as service:
        try:
            yield _address(service)
        finally:
            service.terminate()


def _address(service: subprocess.Popen[str]) -> str:
    """Wait until the service listens, and return its URL."""
    told = ""
    while line := service.stderr.readline() if service.stderr else "":
        if match := re.search(r"listening on (\S+)", line):
            return match[1]
        told += line
    raise RuntimeError(f"the service ended: {told}")


def _search(stage: Stage, http: httpx.Client) -> dict[str, Any]:
    """Find the forecaster by words and ratings."""
    agents: list[dict[str, Any]] = [{}]
    with stage.step("REST: a program searches for a forecast that buyers rated 90 or more.") as step:
        answer = http.get("/v1/search/agents", params={"q": "forecasts", **_GATE}).raise_for_status()
        agents = answer.json()["items"]
        step.check("agents", len(agents), 1)
        step.check("owner", agents[0]["owner"], stage.account("forecaster"))
        step.check("tag", agents[0]["rating"]["tag"], _GATE["tag"])
    return agents[0]


def _check(stage: Stage, http: httpx.Client, agent: dict[str, Any]) -> None:
    """Ask whether to pay, once the right account and once a thief's."""
    with stage.step("It asks whether to pay it. Nobody whom it trusts has vetted the raters.") as step:
        question = {"agent": agent["id"], "pay_to": agent["wallet"], "policy": {"tag": _GATE["tag"]}}
        answer = http.post("/v1/checks/server", json=question).raise_for_status().json()
        step.check("verdict", answer["verdict"], "caution")
        step.check("block", answer["block"], stage.height)
    with stage.step("It asks the same for a payment to the thief.") as step:
        question["pay_to"] = str(stage.account("thief").address)
        answer = http.post("/v1/checks/server", json=question).raise_for_status().json()
        step.check("verdict", answer["verdict"], "decline")
        step.check("first reason", answer["reasons"][0]["code"], "pay_to_differs")


def _ask_graphql(stage: Stage, http: httpx.Client, agent: dict[str, Any]) -> None:
    """Find the same agent as published SDKs do."""
    with stage.step("GraphQL: the query of a published SDK finds the same agent.") as step:
        answer = http.post(f"/graphql/{stage.chain_id}", json={"query": _FIND}).raise_for_status().json()
        (agents,) = answer["data"]["agents"]
        step.check("agent", str(agents["agentId"]), agent["agent_id"])
        step.check("owner", agents["owner"].lower(), agent["owner"].lower())


def _ask_as_a_model(stage: Stage, url: str, agent: dict[str, Any]) -> None:
    """Search and check by the Model Context Protocol."""

    async def ask() -> tuple[dict[str, Any], dict[str, Any]]:
        async with Client(f"{url}/mcp") as client:
            matches = await client.call_tool("search_agents", {"q": "forecasts", "gates": [_GATE]})
            question = {"client": f"{stage.chain_id}:{stage.agents['client']}"}
            server = f"{stage.chain_id}:{stage.agents['server']}"
            checked = await client.call_tool("check_client", {**question, "server": server})
            return matches.structured_content or {}, checked.structured_content or {}

    with stage.step("MCP: a model searches. The answer warns of the strangers' words in it.") as step:
        completed, checked = asyncio.run(ask())
        step.check("agent", completed["data"]["items"][0]["id"], agent["id"])
        step.check("untrusted", completed["is_untrusted"], True)
    with stage.step("The server's model asks whether to serve the client, which it rated badly itself.") as step:
        step.check("verdict", checked["check"]["verdict"], "decline")
        codes = [reason["code"] for reason in checked["check"]["reasons"]]
        step.check(
            "reason", "low_rating_by_us" if "low_rating_by_us" in codes else ", ".join(codes), "low_rating_by_us"
        )
