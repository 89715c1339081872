"""One paid request on its way through a server: its bodies as the application sees them, and its proof."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bilateral.x402.bodies import SLOW_BYTES
from bilateral.x402.interactions import tool_request, tool_response

if TYPE_CHECKING:
    from x402.schemas import SettleResponse

MCP_RESULT: Final = "result"


@dataclass
class Exchange:
    """One paid request.

    Attributes:
        request: The request's body, decoded.
        response: The response's body, decoded; None until the application has answered.
        target: The request's path and query.
        is_paid: True once the payment was verified, or settled before the application runs.
        settlement: The settlement, if it came before the application runs.
        declarations: The server's declarations for this request by key, if the settlement came first.
        is_signed: True once there is a signed statement.
        is_on_loop: True if an event loop serves the request, which slow work must not block.
    """

    request: bytes = b""
    response: bytes | None = None
    target: str = ""
    is_paid: bool = False
    settlement: SettleResponse | None = None
    declarations: dict[str, Any] = field(default_factory=dict)
    is_signed: bool = False
    is_on_loop: bool = False

    @property
    def is_large(self) -> bool:
        """True if its bodies take long to hash."""
        return len(self.request) + len(self.response or b"") >= SLOW_BYTES


CURRENT: Final[ContextVar[Exchange | None]] = ContextVar("bilateral_x402_exchange", default=None)
"""The exchange of the request that runs in this context; None outside our adapters."""


def is_tool_call(transport: Any) -> bool:
    """Tell whether a hook's transport context is that of an MCP tool call."""
    return isinstance(transport, dict) and "toolName" in transport and "arguments" in transport


def exchange_of(transport: Any) -> Exchange | None:
    """Return the exchange that a hook of the SDK runs for.

    Args:
        transport: The hook's `transport_context`. For an MCP tool call it holds the whole exchange.

    Returns:
        The exchange; None if no adapter captures the bodies.

    Raises:
        InvalidArgumentError: A tool call has no canonical form.
    """
    if not is_tool_call(transport):
        return CURRENT.get()
    exchange = Exchange(request=tool_request(transport["toolName"], transport["arguments"]))
    result = transport.get(MCP_RESULT)
    if result is not None:
        exchange.response = tool_response(result.content, result.structured_content)
    return exchange
