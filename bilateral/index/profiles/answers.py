"""Agents as queries answer them."""

from __future__ import annotations

from dataclasses import dataclass

from bilateral.index.ratings.feedback import Feedback
from bilateral.index.ratings.summaries import RatingSummary
from bilateral.index.reading.values import Wide


@dataclass(frozen=True, slots=True)
class Service:
    """A service in an agent's registration file; the word of a stranger.

    Attributes:
        name: Its kind, such as `MCP`.
        endpoint: Its address.
        version: The version of its protocol.
    """

    name: str
    endpoint: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability in an agent's registration file; the word of a stranger.

    Attributes:
        kind: `mcp_tool`, `mcp_prompt`, `mcp_resource`, `a2a_skill`, `oasf_skill`, `oasf_domain` or `trust`.
        value: Its name.
    """

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Registration:
    """An agent's registration file. All texts are the word of a stranger.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: `inline`, `cid` or `hash` if the author published these bytes; None: only the server's word.
        reason: The kind of failure, if loading failed.
        checked_at: The time of the last look, Unix seconds.
        is_confirmed: True if the file names the agent too.
        name: The agent's name.
        image: The URI of an image.
        active: True if it says that it works.
        x402_support: True if it says that it takes payments by x402.
    """

    state: str
    integrity: str | None
    reason: str | None
    checked_at: int | None
    is_confirmed: bool
    name: str | None
    description: str | None
    image: str | None
    active: bool | None
    x402_support: bool | None
    services: tuple[Service, ...]
    capabilities: tuple[Capability, ...]


@dataclass(frozen=True, slots=True)
class AgentMetadata:
    """An entry of an agent's metadata on chain.

    Attributes:
        value: Its bytes, `0x…`; the first 1,024 of them.
        size: The number of its bytes.
    """

    key: str
    value: str
    size: int


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The id among all registries, such as `eip155:8453:0x8004…#247`.
        identity_registry: The address of its identity registry.
        agent_id: The id of its token.
        owner: The owner's address.
        wallet: The address that receives its payments; None without one.
        uri: The URI of its registration file.
        domain: Its domain, by the August 2025 functions.
        registered_block: The block of its registration.
        registered_at: The time of that block, Unix seconds.
        updated_block: The block of its last change.
        updated_at: The time of that block, Unix seconds.
        registration: Its registration file; None if it names none.
        metadata: Its metadata on chain.
        ratings: The summaries of its feedback and ratings.
        newest: Its newest feedback, as many as were asked for.
    """

    id: str
    global_id: str
    chain_id: int
    identity_registry: str
    agent_id: Wide
    owner: str
    wallet: str | None
    uri: str
    domain: str
    registered_block: int
    registered_at: int
    updated_block: int
    updated_at: int
    registration: Registration | None
    metadata: tuple[AgentMetadata, ...]
    ratings: tuple[RatingSummary, ...]
    newest: tuple[Feedback, ...]
