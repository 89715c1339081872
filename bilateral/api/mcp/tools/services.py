"""Tools for a service known only by its URL or payee: which agents list the service, and should I pay it?"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from pydantic_core import to_jsonable_python
from sqlalchemy import Connection

from bilateral.api.load import NodeWork
from bilateral.api.mcp import lookups
from bilateral.api.mcp.lookups import READS, Judged, Untrusted
from bilateral.checks.policy import is_account
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.errors import NODE_FAILURES, DocumentError, MissingExtraError
from bilateral.documents import Limits, Loader, Network
from bilateral.explorer.signing import indexed_deployment
from bilateral.index.agents.queries import Account
from bilateral.index.files.queries import NamedHost, services_at
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import read_registries

if TYPE_CHECKING:
    from bilateral.x402.clients.service_check import ServiceCheck

_SECONDS: Final = 5.0
"""The timeout in seconds for one node request or one file. A model may have to wait for a few dozen of them."""

_EVM: Final = "eip155:"

_LOGGER: Final = logging.getLogger("bilateral.api")


def add_tools(server: MCPServer[Any], reader: Reader, nodes: Mapping[str, str], network: Network) -> None:
    """Add the tools to a server."""
    work = NodeWork()

    @server.tool(title="Get services", annotations=READS)
    async def get_services(
        at: Annotated[str, Field(max_length=2_000, description="https URL, host or payTo address.")],
    ) -> Untrusted:
        """Find agents by a service that they list, or by payee."""
        kind, read = (Account, lookups.account_of) if is_account(at) else (NamedHost, services_at)
        return await lookups.words_of_strangers(kind, reader.read, read, at)

    @server.tool(name="check_service", title="Check service", annotations=READS)
    async def check_service_(url: Annotated[str, Field(max_length=2_000)]) -> Judged:
        """Request an x402 service's price, and answer "should I pay?"."""
        if not nodes:
            raise ToolError("no_node: this service has no node, so it cannot check URLs; use get_services")
        with lookups.tool_errors():
            deployments = await to_thread.run_sync(reader.read, lambda reading: _deployments(reading, nodes))
            return _judged(await work.run(_check, url, nodes, deployments, network))


def _deployments(connection: Connection, nodes: Mapping[str, str]) -> dict[str, Deployment]:
    registries = read_registries(connection)
    return {chain: indexed_deployment(registries, int(chain)) for chain in nodes if int(chain) in registries.by_chain}


def _check(url: str, nodes: Mapping[str, str], deployments: Mapping[str, Deployment], network: Network) -> ServiceCheck:
    try:
        from bilateral.x402.clients.preflight import ask_price  # noqa: PLC0415  # another extra
        from bilateral.x402.clients.service_check import check_service, networks_of  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise MissingExtraError("x402", [str(missing.name)]) from None
    try:
        price = ask_price(url, network=network)
    except DocumentError as error:
        raise ToolError(f"{error.reason}: {error}") from None
    paid = [name.removeprefix(_EVM) for name in networks_of(price) if name.startswith(_EVM)]
    # A malformed price is not tied to a chain.
    chain = next((chain for chain in (deployments if price is None else paid) if chain in deployments), None)
    if chain is None:
        raise ToolError(
            f"no_node: this service has no node for the URL's chains, only for: {', '.join(deployments) or 'none'}"
        )
    loader = Loader(limits=Limits(seconds=_SECONDS), network=network)
    try:
        with Client(
            nodes[chain], deployment=deployments[chain], chain_id=int(chain), request_timeout=_SECONDS, loader=loader
        ) as client:
            return check_service(client, nodes[chain], url, price, loader=loader)
    except NODE_FAILURES as failure:  # the failure may contain the node's URL
        _LOGGER.warning("a node failed while a service was checked: %s", failure)
        raise ToolError(f"node_failed: the node for chain {chain} did not respond correctly: try again later") from None


def _judged(answer: ServiceCheck) -> Judged:
    """Return a response with untrusted text kept separate: the price, findings, unknowns and agents' texts."""
    content = lookups.visible(to_jsonable_python(answer))
    strange = {name: content.pop(name) for name in ("price", "findings", "unknown")}
    findings = [{"check": finding.check, "code": finding.code} for finding in answer.findings]
    strange["agents"] = [agent.pop("untrusted") for agent in content["agents"]]
    return Judged({**content, "findings": findings}, lookups.NOTICE_OF_CHECKS, strange)
