"""Identifiers for chains, accounts, agents, transactions and feedback, parsed strictly and written canonically.

Instances are immutable and are compared by value, ignoring the case of addresses. `str()` returns the canonical text,
and `parse` reads it back. `parse` raises a `MalformedIdentifierError` for invalid text.

ERC-8004's best practices number a client's feedback from 0, while the contract and published indexers number it from 1.
A `FeedbackId` therefore has `index`, `on_chain_index` and `subgraph_id`, and a constructor for each numbering.
"""

from dataclasses import dataclass
from typing import Final, Self

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers.caip import (
    ADDRESS_BYTES,
    EVM,
    MAX_UINT256,
    AccountId,
    ChainId,
    TransactionRef,
    base58_problem,
    checksummed,
    require,
    whole_number,
)

__all__ = ["EVM", "AccountId", "AgentId", "ChainId", "FeedbackId", "GlobalAgentId", "TransactionRef", "checksummed"]

AGENT_FORMS: Final = "expected 8453:247, eip155:8453:247, eip155:8453:0x…#247 or eip155:8453:0x…:247"
"""The accepted forms of an agent's id, for error messages about invalid ids."""

_MAX_INDEX: Final = 2**64 - 1  # ERC-8004 counts feedback in uint64

_AGENT: Final = "an agent id"
_GLOBAL: Final = "a global agent id"
_FEEDBACK: Final = "a feedback id"


@dataclass(frozen=True)
class AgentId:
    """An agent's id in the registry in use: `84532:42`, or `42` if the chain is clear from the context.

    Attributes:
        token_id: The id of the agent's token, 0 to 2^256 - 1. Ids start at 1 in this project's registry, and at 0 in
            canonical registries.
        chain_id: The EIP-155 id of the agent's chain; None if the context determines the chain.

    Raises:
        MalformedIdentifierError: A value is out of range.
    """

    token_id: int
    chain_id: int | None = None

    def __post_init__(self) -> None:
        require(_AGENT, int, self.token_id)
        if not 0 <= self.token_id <= MAX_UINT256:
            raise MalformedIdentifierError(_AGENT, str(self), "the agent number is not between 0 and 2^256 - 1")
        if self.chain_id is not None:
            ChainId.evm(self.chain_id)

    @classmethod
    def parse(cls, text: str | int) -> Self:
        """Parse `42`, `84532:42` or `eip155:84532:42`. An `int` is also accepted, as an id without a chain.

        Raises:
            MalformedIdentifierError: The text has none of these forms.
        """
        if not isinstance(text, str):
            return cls(text)
        parts = text.split(":")
        if len(parts) == 3 and parts[0] == EVM:  # noqa: PLR2004  # the form with a namespace
            del parts[0]
        if len(parts) > 2:  # noqa: PLR2004  # chain and agent
            raise MalformedIdentifierError(_AGENT, text, "expected 42, 84532:42 or eip155:84532:42")
        *chain, token = (whole_number(_AGENT, text, part) for part in parts)
        return cls(token, chain[0] if chain else None)

    def on(self, chain_id: int) -> Self:
        """Return this agent's id with its chain filled in.

        Args:
            chain_id: The chain that the context determines.

        Raises:
            MalformedIdentifierError: The id already includes a different chain.
        """
        if self.chain_id not in (None, chain_id):
            raise MalformedIdentifierError(f"an agent on chain {chain_id}", str(self), f"its chain is {self.chain_id}")
        return type(self)(self.token_id, chain_id)

    def __str__(self) -> str:
        """Return the canonical text, `84532:42` or `42`."""
        return str(self.token_id) if self.chain_id is None else f"{self.chain_id}:{self.token_id}"


def global_agent_id(chain_id: int, identity_registry: str, agent_id: int) -> str:
    """Return an agent's id that is unique across all registries, such as `eip155:8453:0x8004…#247`.

    Args:
        identity_registry: The address of the agent's registry. It is not validated.
        agent_id: The agent's token id. Types other than `int` are accepted, because databases may return them.
    """
    return f"eip155:{chain_id}:{identity_registry}#{int(agent_id)}"


@dataclass(frozen=True)
class GlobalAgentId:
    """An agent's id, unique across all registries: `eip155:8453:0x8004…#247`.

    Attributes:
        registry: The identity registry.
        agent: On EVM chains, the token id in decimal digits; on other chains, an address, such as a mint address.

    Raises:
        MalformedIdentifierError: The agent's id does not have the format that its registry's chain requires.
    """

    registry: AccountId
    agent: str

    def __post_init__(self) -> None:
        require(_GLOBAL, AccountId, self.registry)
        require(_GLOBAL, str, self.agent)
        if self.registry.chain.is_evm:
            AgentId(whole_number(_GLOBAL, str(self), self.agent))
            return
        problem = base58_problem(self.agent, ADDRESS_BYTES, "an agent")
        if problem:
            raise MalformedIdentifierError(_GLOBAL, str(self), problem)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `namespace:reference:registry#agent`.

        Raises:
            MalformedIdentifierError: The text does not have this form.
        """
        require(_GLOBAL, str, text)
        registry, hash_sign, agent = text.partition("#")
        if not hash_sign:
            raise MalformedIdentifierError(_GLOBAL, text, "expected namespace:reference:registry#agent")
        return cls(AccountId.parse(registry), agent)

    @property
    def agent_id(self) -> AgentId:
        """The agent's id within its registry, with its chain.

        Raises:
            MalformedIdentifierError: The chain is not an EVM chain.
        """
        return AgentId(int(self.agent), self.registry.chain.evm_chain_id)

    def __str__(self) -> str:
        return f"{self.registry}#{self.agent}"


@dataclass(frozen=True)
class FeedbackId:
    """The id of a client's feedback entry for an agent: `84532:42:0x742d…:0` as text.

    Indexes in the text start at 0 (best practices, "Feedback ID Format"), but indexes in the contract start at 1.

    Attributes:
        client: The client's address, in checksum form.
        on_chain_index: The `feedbackIndex` of the contract and its events, from 1.

    Raises:
        MalformedIdentifierError: The address is invalid, or the index is out of range.
    """

    agent: AgentId
    client: str
    on_chain_index: int

    def __post_init__(self) -> None:
        require(_FEEDBACK, AgentId, self.agent)
        require(_FEEDBACK, int, self.on_chain_index)
        object.__setattr__(self, "client", checksummed(self.client))
        if not 1 <= self.on_chain_index <= _MAX_INDEX:
            raise MalformedIdentifierError(
                _FEEDBACK,
                f"{self.agent}:{self.client}:{self.on_chain_index - 1}",
                f"its on-chain index, {self.on_chain_index}, is not between 1 and 2^64 - 1",
            )

    @classmethod
    def from_index(cls, agent: AgentId, client: str, index: int) -> Self:
        """Create the id from an index that starts at 0, as in the textual id."""
        require(_FEEDBACK, int, index)
        return cls(agent, client, index + 1)

    @classmethod
    def from_chain(cls, agent: AgentId, client: str, on_chain_index: int) -> Self:
        """Create the id from an index that starts at 1, as in the contract and its events."""
        return cls(agent, client, on_chain_index)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the textual id, whose index starts at 0: `84532:42:0x742d…:0`.

        Raises:
            MalformedIdentifierError: The text does not have this form.
        """
        return cls.from_index(*_feedback_parts(text))

    @classmethod
    def parse_subgraph(cls, text: str) -> Self:
        """Parse the id used by published indexers, whose index starts at 1: `84532:42:0x742d…:1`.

        Raises:
            MalformedIdentifierError: The text does not have this form.
        """
        return cls.from_chain(*_feedback_parts(text))

    @property
    def index(self) -> int:
        """The index in the textual id, from 0."""
        return self.on_chain_index - 1

    @property
    def subgraph_id(self) -> str:
        """The id used by published indexers, with the address in lower case and an index that starts at 1.

        Raises:
            MalformedIdentifierError: The agent's id does not include a chain.
        """
        if self.agent.chain_id is None:
            raise MalformedIdentifierError("an indexer's feedback id", str(self), "the agent's chain is missing")
        return f"{self.agent}:{self.client.lower()}:{self.on_chain_index}"

    def __str__(self) -> str:
        """Return the textual id, whose index starts at 0."""
        return f"{self.agent}:{self.client}:{self.index}"


def _feedback_parts(text: str) -> tuple[AgentId, str, int]:
    require(_FEEDBACK, str, text)
    parts = text.rsplit(":", 2)
    if len(parts) != 3:  # noqa: PLR2004  # agent, client, index
        raise MalformedIdentifierError(_FEEDBACK, text, "expected agent:client:index, such as 84532:42:0x…:0")
    agent, client, index = parts
    return AgentId.parse(agent), client, whole_number(_FEEDBACK, text, index)
