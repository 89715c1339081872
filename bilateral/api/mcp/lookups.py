"""Parts that tools and resources share: arguments, look-ups, errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from bilateral.api.problems import problem_of
from bilateral.core.errors import BilateralError
from bilateral.index.errors import NotIndexedError
from bilateral.index.profiles.queries import Agent, agent
from bilateral.index.reading.registries import AgentKey, agent_key, read_registries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from bilateral.index.reading.readers import Reader

READS: Final = ToolAnnotations(read_only_hint=True)
"""The nature of every tool. It is open to strangers, too, which is the default."""

_MOST: Final = 100
"""The most rows of an answer: a model reads all of them, and pays for each."""

AgentText = Annotated[str, Field(description="Such as 8453:247.", max_length=200)]
"""An agent, as a tool's argument."""

Limit = Annotated[int, Field(ge=1, le=_MOST, description="1 to 100.")]
Cursor = Annotated[str | None, Field(max_length=1_200, description="`next` of the former page.")]
Tag = Annotated[str | None, Field(max_length=1_000, description="Such as starred.")]


def key_of(connection: Connection, text: str) -> AgentKey:
    """Return the key of an agent.

    Args:
        text: The agent's id in any published form.

    Raises:
        MalformedIdentifierError: The text has none of the forms.
        NotIndexedError: The index has no such chain or registry.
    """
    return agent_key(read_registries(connection), text)


def read_agent_of(reader: Reader, text: str) -> Agent:
    """Read an agent.

    Args:
        text: The agent's id in any published form.

    Raises:
        MalformedIdentifierError: The text has none of the forms.
        NotIndexedError: The index does not have it.
    """

    def read(connection: Connection) -> Agent:
        key = key_of(connection, text)
        details = agent(connection, key)
        if details is None:
            raise NotIndexedError("agent", key.id)
        return details

    return reader.read(read)


@contextmanager
def tool_errors() -> Iterator[None]:
    """Turn errors of the package into those that a model reads.

    Raises:
        ToolError: The tool failed; its message says why, without details of the service.
    """
    try:
        yield
    except BilateralError as error:
        problem = problem_of(error)
        raise ToolError(f"{problem.code}: {problem.detail}") from None
