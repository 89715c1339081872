"""A server that refuses misspelt arguments, as a check without `payTo` must not look like one with `pay_to`."""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.types import SubscriptionsListenRequestParams
from pydantic import ValidationError

from bilateral.api.mcp.compact import compact
from bilateral.api.problems import FAILED
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server.lowlevel.helper_types import ReadResourceContents
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult, Tool
    from pydantic import AnyUrl


class StrictServer(MCPServer[Any]):
    """A server whose tools refuse arguments that they do not have, and name invalid ones in one line."""

    def serve_listening(self, listening: Any) -> None:
        """Serve subscriptions to resources.

        Args:
            listening: Called with the context and the parameters of each subscription.
        """
        self._lowlevel_server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listening)

    async def list_tools(self) -> list[Tool]:
        """Return the tools with short schemas, which say that there are no other arguments."""
        tools = await super().list_tools()
        return [
            tool.model_copy(
                update={
                    "title": None,
                    "description": cleandoc(tool.description or ""),
                    "input_schema": compact(tool.input_schema),
                    "output_schema": None,  # the instructions of the server say what all answers have
                }
            )
            for tool in tools
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.

        Args:
            arguments: Its arguments by name.
            context: The request; None outside of one.

        Raises:
            ToolError: The tool or an argument is unknown, an argument is invalid, or the tool failed.
        """
        tools = {tool.name: tool for tool in await super().list_tools()}
        if name not in tools:
            raise ToolError(f"unknown_tool: there is no tool {quoted(name)}: the tools are {', '.join(tools)}")
        _require_known(tools[name], arguments)
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            raise UnexpectedToolError(f"internal_error: {FAILED}") from error.__cause__
        except ToolError as error:
            # The SDK writes the name of the tool before the message. All messages begin with a code instead.
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"invalid_argument: {first_problem(error.__cause__)}") from None
            raise ToolError(str(error.__cause__ or error)) from None

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource.

        Args:
            context: The request; None outside of one.

        Raises:
            ResourceNotFoundError: There is none.
            ResourceError: It cannot be read.
        """
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            if not str(error).startswith("Unknown resource"):
                raise
            raise ResourceNotFoundError(f"unknown_resource: there is no resource {quoted(str(uri))}") from None


def _require_known(tool: Tool, arguments: dict[str, Any]) -> None:
    """Refuse arguments that a tool does not have."""
    known = tool.input_schema["properties"]
    for name in arguments:
        if name not in known:
            raise ToolError(f"invalid_argument: {tool.name} has no argument {quoted(name)}: it has {', '.join(known)}")
