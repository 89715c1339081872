"""Events of the identity registry: ERC-721, ERC-4906, ERC-8004, and the August 2025 directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilateral.core.events.base import Event

if TYPE_CHECKING:
    from bilateral.core.text import ChainText


@dataclass(frozen=True, slots=True)
class Transfer(Event):
    """An agent's token got an owner (ERC-721).

    Attributes:
        from_address: The former owner; the zero address at registration.
        to_address: The new owner.
    """

    from_address: str
    to_address: str
    agent_id: int

    abi_name: ClassVar = "Transfer"


@dataclass(frozen=True, slots=True)
class Approval(Event):
    """An account may transfer one token and act for its agent (ERC-721).

    Attributes:
        account: The approved account; the zero address if the approval ends.
    """

    owner: str
    account: str
    agent_id: int

    abi_name: ClassVar = "Approval"


@dataclass(frozen=True, slots=True)
class ApprovalForAll(Event):
    """An account may act for all of an owner's agents, or no longer may (ERC-721).

    Attributes:
        operator: The account.
        is_approved: True if it may.
    """

    owner: str
    operator: str
    is_approved: bool

    abi_name: ClassVar = "ApprovalForAll"


@dataclass(frozen=True, slots=True)
class MetadataUpdate(Event):
    """The token's URI changed (ERC-4906). `URIUpdated` carries the new one."""

    agent_id: int

    abi_name: ClassVar = "MetadataUpdate"


@dataclass(frozen=True, slots=True)
class Registered(Event):
    """An agent was registered (ERC-8004).

    Attributes:
        agent_uri: The URI of its registration file; may be empty.
        owner: Its owner, who is its wallet too.
    """

    agent_id: int
    agent_uri: ChainText
    owner: str

    abi_name: ClassVar = "Registered"


@dataclass(frozen=True, slots=True)
class URIUpdated(Event):
    """The URI of an agent's registration file was replaced (ERC-8004).

    Attributes:
        new_uri: The new URI; may be empty.
        updated_by: The account that replaced it.
    """

    agent_id: int
    new_uri: ChainText
    updated_by: str

    abi_name: ClassVar = "URIUpdated"


@dataclass(frozen=True, slots=True)
class MetadataSet(Event):
    """A metadata value of an agent was set (ERC-8004).

    Attributes:
        indexed_metadata_key: The keccak-256 hash of the key.
        metadata_key: The key. For `agentWallet` the value is the wallet's 20 bytes, or empty if the agent has none.
    """

    agent_id: int
    indexed_metadata_key: bytes
    metadata_key: ChainText
    metadata_value: bytes

    abi_name: ClassVar = "MetadataSet"


@dataclass(frozen=True, slots=True)
class AgentRegistered(Event):
    """An agent was registered with a domain (August 2025).

    Attributes:
        agent_domain: Its domain, as given.
        agent_address: Its owner and wallet.
    """

    agent_id: int
    agent_domain: ChainText
    agent_address: str

    abi_name: ClassVar = "AgentRegistered"


@dataclass(frozen=True, slots=True)
class AgentUpdated(Event):
    """An agent's domain or address changed (August 2025).

    Attributes:
        agent_domain: Its domain now; empty if it has none.
        agent_address: Its wallet now, or its owner if it has no wallet.
    """

    agent_id: int
    agent_domain: ChainText
    agent_address: str

    abi_name: ClassVar = "AgentUpdated"


@dataclass(frozen=True, slots=True)
class AgentCountRaised(Event):
    """A proof raised a companion's count of agents.

    Attributes:
        agent_count: The highest id that was ever proven to exist.
    """

    agent_count: int

    abi_name: ClassVar = "AgentCountRaised"


@dataclass(frozen=True, slots=True)
class PrimaryAgentSet(Event):
    """An account chose its primary agent: the agent that it rates as."""

    account: str
    agent_id: int

    abi_name: ClassVar = "PrimaryAgentSet"
