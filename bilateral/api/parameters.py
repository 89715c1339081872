"""Parameters that many routes have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from bilateral.api.answers import Format
from bilateral.index.queries.pages import MAX_LIMIT

AgentPath = Annotated[
    str,
    Path(
        alias="agent",
        max_length=200,
        description="The agent's id: 8453:247, eip155:8453:0x…#247 (with # as %23) or eip155:8453:0x…:247.",
        examples=["8453:247"],
    ),
]
"""An agent in the path, by any published form of its id. `Service.agent_key` parses it."""

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of entries.")]
"""The largest number of entries of a list. `DEFAULT_LIMIT` is its default."""

Cursor = Annotated[str | None, Query(max_length=1_200, description="The cursor `next` of the former page.")]
"""The place in a list."""

ListFormat = Annotated[Format, Query(alias="format", description="The format of the list.")]
"""The format of a list. `Format.JSON` is its default."""

ChainId = Annotated[int, Query(alias="chain", ge=1, lt=2**63, description="The chain's EIP-155 id.")]
"""A chain."""

AddressPath = Annotated[
    str,
    Path(
        alias="address",
        max_length=42,
        description="An account's address: 0x and 40 hexadecimal digits.",
        examples=["0x8004B663056A597Dffe9eCcC1965A193B7388713"],
    ),
]
"""An account in the path. `checksummed` of `bilateral.identifiers` checks it."""

Client = Annotated[str | None, Query(max_length=42, description="The client's address.")]
"""A client whose records to show."""

Tag = Annotated[str | None, Query(max_length=1_000, description="The tag, exactly.")]
"""A tag of feedback. Its text is a stranger's, and may be empty."""
