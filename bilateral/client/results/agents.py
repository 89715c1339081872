"""Agents, and what is done to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilateral.core.identifiers import AccountId, GlobalAgentId

if TYPE_CHECKING:
    from bilateral.core.errors import DocumentError
    from bilateral.core.identifiers import AgentId
    from bilateral.core.text import ChainText
    from bilateral.documents import RegistrationFile


@dataclass(frozen=True)
class Agent:
    """An agent as the chain and its registration file describe it.

    Attributes:
        id: The agent, with its chain.
        registry: Its identity registry.
        owner: Who owns its token.
        wallet: The wallet that receives its payments; None if it has none.
        uri: The URI of its registration file; may be empty.
        domain: Its domain; empty if it has none.
        file: The registration file; None if it was not asked for or cannot be loaded.
        file_problem: The error that kept the file from being loaded; None without one.
    """

    id: AgentId
    registry: AccountId
    owner: str
    wallet: str | None
    uri: ChainText
    domain: ChainText
    file: RegistrationFile | None = None
    file_problem: DocumentError | None = None

    @property
    def global_id(self) -> GlobalAgentId:
        """The agent, unmistakable among all registries."""
        return GlobalAgentId(self.registry, str(self.id.token_id))

    @property
    def name(self) -> str | None:
        """The name that its file gives; a stranger's text, see `bilateral.core.text.printable`."""
        return self.file.name if self.file else None

    @property
    def description(self) -> str | None:
        """Its description, according to its file; a stranger's text."""
        return self.file.description if self.file else None

    @property
    def image(self) -> str | None:
        """The URI of its picture, according to its file; a stranger's text."""
        return self.file.image if self.file else None

    @property
    def is_confirmed(self) -> bool:
        """True if its file names this agent among its registrations. Anybody may point to any file."""
        return self.file is not None and self.file.registration_of(self.global_id) is not None


@dataclass(frozen=True)
class Registered:
    """An agent was registered.

    Attributes:
        agent: The new agent.
        owner: Its owner, who is its wallet too.
        uri: The URI of its registration file.
        metadata: The metadata that it was registered with, in order.
        domain: The domain; empty unless it was registered by `new_agent`.
    """

    agent: AgentId
    owner: str
    uri: ChainText
    metadata: tuple[tuple[ChainText, bytes], ...] = ()
    domain: str = ""


@dataclass(frozen=True)
class AgentUriSet:
    """The URI of an agent's registration file was replaced.

    Attributes:
        uri: The URI now.
        updated_by: Who replaced it.
    """

    agent: AgentId
    uri: ChainText
    updated_by: str


@dataclass(frozen=True)
class AgentWalletChanged:
    """An agent's wallet was set or unset.

    Attributes:
        wallet: The wallet now; None if it has none.
    """

    agent: AgentId
    wallet: str | None


@dataclass(frozen=True)
class MetadataChanged:
    """A metadata value of an agent was set.

    Attributes:
        value: The value now.
    """

    agent: AgentId
    key: ChainText
    value: bytes


@dataclass(frozen=True)
class AgentTransferred:
    """An agent has another owner, and no wallet until that owner sets one.

    Attributes:
        former_owner: Who had it.
        owner: Who has it.
    """

    agent: AgentId
    former_owner: str
    owner: str


@dataclass(frozen=True)
class DirectoryEntry:
    """An agent as the directory (August 2025) describes it.

    Attributes:
        domain: Its domain as it was given; empty if it has none.
        address: Its wallet, or its owner if it has no wallet.
    """

    agent: AgentId
    domain: ChainText
    address: str


@dataclass(frozen=True)
class AgentProven:
    """The companion knows that an agent exists, so that batches of ratings may name it.

    Attributes:
        is_highest: True if no agent with a higher id had been proven before.
    """

    agent: AgentId
    is_highest: bool


@dataclass(frozen=True)
class PrimaryAgentChosen:
    """An account chose the agent that it speaks as."""

    account: str
    agent: AgentId


@dataclass(frozen=True)
class Rater:
    """Who an address that gave feedback is (best practices, "Agent-as-Rater").

    Attributes:
        agent: The agent that it speaks as; None if it speaks as none.
    """

    address: str
    agent: Agent | None

    @property
    def name(self) -> str | None:
        """The agent's name; a stranger's text."""
        return self.agent.name if self.agent else None

    @property
    def image(self) -> str | None:
        """The URI of the agent's picture; a stranger's text."""
        return self.agent.image if self.agent else None
