"""The endpoints that registration files list are the targets of watchtowers."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import delete

from bilateral.core.contracts import Registry
from bilateral.index.chain.extraction import Extraction
from bilateral.index.log.tables import registry
from bilateral.index.measurements.tables import registration_endpoint
from bilateral.index.measurements.targets import EndpointReader, normalized, read_targets
from bilateral.index.measurements.values import Protocol, Target
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.files.conftest import registered
from tests.index.measurements.conftest import MCP, data_uri


def targets_of(measured, chains=(CHAIN_ID,)):
    with measured.engine.connect() as connection:
        return read_targets(connection, chains)


def test_agents_with_one_url_share_a_target(measured):
    measured.agent(1, ("MCP", "HTTPS://Seller.Example:443/mcp#top"), active=False)
    measured.agent(2, ("mcp", MCP), x402Support=True)
    agents = (f"{CHAIN_ID}:1", f"{CHAIN_ID}:2")
    assert targets_of(measured) == [Target(Protocol.MCP, MCP, "seller.example", agents, is_paid=True)]
    assert targets_of(measured, [CHAIN_ID + 1]) == []


def test_agent_of_a_second_registry_is_not_the_agent_with_its_number(measured):
    second = "0x" + "22" * 20
    measured.story.extraction = Extraction(CHAIN_ID, {**REGISTRIES, second: Registry.IDENTITY})
    row = (CHAIN_ID, second, Registry.IDENTITY.value, second, 1)
    with measured.engine.begin() as connection:
        connection.execute(registry.insert().values(dict(zip(registry.c.keys(), row, strict=True))))
    logs = registered(data_uri(("web", "https://other.example/")), 1)
    measured.story.block(*(replace(log, address=second) for log in logs))
    measured.agent(1, ("mcp", MCP))
    assert [target.url for target in targets_of(measured)] == [MCP]


def test_agent_out_of_service_lists_inactive_targets(measured):
    measured.agent(1, ("mcp", MCP), active=False)
    assert [target.is_active for target in targets_of(measured)] == [False]


def test_declared_method_is_used_only_if_it_changes_nothing(measured):
    url = "https://seller.example/"
    declared = ({"name": "x402", "endpoint": f"{url}{method}", "method": method} for method in ("post", "DELETE"))
    measured.agent(1, *declared)
    assert [(target.url, target.method, target.is_paid) for target in targets_of(measured)] == [
        (f"{url}DELETE", None, True),
        (f"{url}post", "POST", True),
    ]


def test_api_is_a_target_only_if_the_agent_sells_by_x402(measured):
    measured.agent(1, ("api", "https://free.example/"))
    measured.agent(2, ("api", "https://sold.example/"), x402Support=True)
    assert [(target.protocol, target.host) for target in targets_of(measured)] == [(Protocol.X402, "sold.example")]


def test_service_that_asks_not_to_be_probed_is_no_target_of_its_agent(measured):
    measured.agent(1, {"name": "mcp", "endpoint": MCP, "probe": False}, ("a2a", "https://seller.example/card.json"))
    assert [target.protocol for target in targets_of(measured)] == [Protocol.A2A]


def test_five_endpoints_of_a_file_are_targets(measured):
    measured.agent(1, *(("web", f"https://seller.example/{number}") for number in range(9)))
    assert [target.url[-1] for target in targets_of(measured)] == list("01234")


def test_targets_are_those_of_the_current_file(measured):
    measured.agent(1, ("mcp", "https://old.example/"))
    measured.agent(1, ("mcp", MCP))
    assert [target.url for target in targets_of(measured)] == [MCP]


@pytest.mark.parametrize(
    ("endpoint", "form"),
    [
        ("https://A.example", ("https://a.example/", "a.example")),
        (" http://a.example:8080/x?y=Z#w ", ("http://a.example:8080/x?y=Z", "a.example:8080")),
        ("https://[2001:DB8::1]:443/", ("https://[2001:db8::1]/", "[2001:db8::1]")),
        ("https://a.example/{KEY}/mcp", ("https://a.example/{KEY}/mcp", "a.example")),
        ("https://user:password@a.example/", None),
        ("npx my-server", None),
        ("https://", None),
        ("https://a.example:99999/", None),
        (f"https://{'a' * 400}.example/", None),
        ("", None),
    ],
)
def test_urls_have_one_form(endpoint, form):
    assert normalized(endpoint) == form


def test_files_of_an_older_index_are_read_again(measured):
    measured.agent(1, ("mcp", MCP))
    measured.agent(2, ("email", "agent@seller.example"))
    with measured.engine.begin() as connection:
        connection.execute(delete(registration_endpoint))
    assert targets_of(measured) == []
    assert EndpointReader().catch_up(measured.engine, threading.Event()) == 1
    assert [target.url for target in targets_of(measured)] == [MCP]
