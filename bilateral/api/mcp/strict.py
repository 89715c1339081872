"""A server that refuses misspelt arguments, as a check without `payTo` must not look like one with `pay_to`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from bilateral.invalid_fields import first_problem
from bilateral.text import quoted

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult, Tool


class StrictServer(MCPServer[Any]):
    """A server whose tools refuse arguments that they do not have, and name invalid ones in one line."""

    async def list_tools(self) -> list[Tool]:
        """Return the tools, whose schemas say that there are no other arguments."""
        found = await super().list_tools()
        return [
            it.model_copy(update={"input_schema": {**it.input_schema, "additionalProperties": False}}) for it in found
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.

        Args:
            name: Its name.
            arguments: Its arguments by name.
            context: The request; None outside of one.

        Raises:
            ToolError: The tool or an argument is unknown, an argument is invalid, or the tool failed.
        """
        for tool in await super().list_tools():
            if tool.name == name:
                _require_known(tool, arguments)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(f"invalid_argument: {first_problem(error.__cause__)}") from None


def _require_known(tool: Tool, arguments: dict[str, Any]) -> None:
    """Refuse arguments that a tool does not have.

    Raises:
        ToolError: There is one.
    """
    known = tool.input_schema["properties"]
    for name in arguments:
        if name not in known:
            raise ToolError(f"invalid_argument: {tool.name} has no argument {quoted(name)}: it has {', '.join(known)}")
