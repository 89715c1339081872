"""The Model Context Protocol route, which uses streamable HTTP without sessions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from bilateral.api.mcp.server import make_server
from bilateral.documents import Network

router = APIRouter()


class _Endpoint:
    """Passes requests to the MCP server of the application that receives them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager: StreamableHTTPSessionManager = scope["app"].state.mcp
        await manager.handle_request(scope, receive, send)


# GET would open an endless stream, on which a server without sessions never sends anything. A subscription's stream is
# the response to its POST request.
router.add_route("/mcp", _Endpoint(), methods=["POST"], include_in_schema=False)  # type: ignore[arg-type]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run an application's MCP server."""
    service = app.state.service
    settings = service.settings
    server = make_server(
        service.reader,
        buyer_policy=settings.buyers.policy,
        nodes=settings.nodes,
        network=Network(allow_private=settings.allow_private),
        feed=app.state.feed,
    )
    # All data is public and nobody is logged in, so pages from other origins could read it anyway.
    open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)
    app.state.mcp = server.session_manager
    async with server.session_manager.run():
        yield
