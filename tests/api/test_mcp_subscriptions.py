"""Subscriptions of models to agents and accounts, by the client of the official SDK."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from bilateral.api import feed
from bilateral.api.mcp import server
from bilateral.index.changes.projection import Note, add_notes
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.log.database import connect_engine
from tests.api.world import ALICE, ERIN, FRANK

pytestmark = pytest.mark.one_engine

AGENT = "bilateral://agents/31337:1"
ACCOUNT = f"bilateral://accounts/{FRANK.address}"


@pytest.fixture
def tell(copied_database, api_world):
    """Add changes of agents or accounts to the index."""
    engine = connect_engine(copied_database)
    registry = api_world.deployment.identity

    def add(*names):
        notes = [
            Note(ChangeKind.VERDICT, registry, name, None, {"status": "thin"})
            if isinstance(name, int)
            else Note(ChangeKind.FLAG, registry, None, name, {"is_flagged": True})
            for name in names
        ]
        with engine.begin() as connection:
            add_notes(connection, 31337, 1, notes)

    yield add
    engine.dispose()


@pytest.fixture
def url(api_with, copied_database):
    with api_with(database=copied_database) as api:
        yield f"{str(api.base_url).rstrip('/')}/mcp"


def stdio(database):
    command = str(Path(sys.executable).with_name("bilateral"))
    return stdio_client(StdioServerParameters(command=command, args=["mcp", "--database", database]))


@pytest.mark.parametrize("transport", ["streamable HTTP", "stdio"])
def test_a_client_learns_which_of_its_resources_changed(url, transport, copied_database, tell, api_world):
    target = url if transport == "streamable HTTP" else stdio(copied_database)
    same_agent = f"bilateral://agents/{api_world.global_id(1)}"

    async def use():
        async with (
            Client(target) as client,
            client.listen(resource_subscriptions=[AGENT, same_agent, ACCOUNT]) as subscription,
        ):
            assert subscription.honored.resource_subscriptions == [AGENT, same_agent, ACCOUNT]
            tell(2, ALICE.address)
            tell(1, 1, FRANK.address)
            events = [await asyncio.wait_for(anext(subscription), 30) for _ in range(3)]
            assert events == [ResourceUpdated(AGENT), ResourceUpdated(same_agent), ResourceUpdated(ACCOUNT)]
            tell(FRANK.address)
            assert await asyncio.wait_for(anext(subscription), 30) == ResourceUpdated(ACCOUNT)
            resource = await client.read_resource(ACCOUNT)
            assert json.loads(resource.contents[0].text)["data"]["address"] == FRANK.address

    asyncio.run(use())


@pytest.mark.parametrize(
    ("uris", "message"),
    [
        (["bilateral://policy"], 'invalid_argument: "bilateral://policy" cannot be subscribed to: write'),
        (["bilateral://agents/x"], "malformed_identifier: "),
        (["bilateral://agents/5:1"], "chain_not_indexed: chain 5 is not indexed"),
        (["bilateral://accounts/0x12"], "0x12"),
        (
            [f"bilateral://agents/31337:{number}" for number in range(101)],
            "101 resources were requested, but at most 100 are",
        ),
    ],
)
def test_wrong_resources_are_refused(url, uris, message):
    async def use():
        async with Client(url) as client:
            with pytest.raises(MCPError, match=message):
                async with client.listen(resource_subscriptions=uris):
                    pass

    asyncio.run(use())


def test_an_address_may_have_a_few_subscriptions_and_each_ends_after_its_length(url, monkeypatch):
    monkeypatch.setattr(feed, "MOST_OF_ADDRESS", 1)
    monkeypatch.setattr(server, "STREAM_SECONDS", 2.0)

    async def use():
        async with Client(url) as client:
            began = time.monotonic()
            async with client.listen(resource_subscriptions=[AGENT]) as subscription:
                with pytest.raises(MCPError, match="too_many_waiting: this address has 1 requests waiting"):
                    async with client.listen(resource_subscriptions=[f"bilateral://accounts/{ERIN.address}"]):
                        pass
                assert [event async for event in subscription] == []  # the server ends the stream itself
            assert 2.0 <= time.monotonic() - began < 20
            async with client.listen(resource_subscriptions=[AGENT]):
                pass

    asyncio.run(use())
