"""Indexed registries, agents' ids in all published forms, and the types of numbers in responses."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import Field, PlainSerializer
from sqlalchemy import ColumnElement, Connection, select

from bilateral.core.contracts import Deployment, Registry
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import AccountId, AgentId, GlobalAgentId, global_agent_id
from bilateral.core.identifiers.agents import AGENT_FORMS
from bilateral.index.errors import ChainNotIndexedError, NotIndexedError
from bilateral.index.log import tables as schema

_DIGITS = Annotated[str, Field(pattern=r"^-?\d+$")]
_DECIMALS = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]

Wide = Annotated[int, PlainSerializer(str, return_type=_DIGITS, when_used="json")]
"""An integer of up to 256 bits. In JSON, it is a string, because many programs misread numbers larger than 2^53."""


def hexadecimal(raw: bytes | None) -> str | None:
    """Return bytes as `0x…`; None for None and for 32 zero bytes, which mean "no hash" in the registries."""
    return None if raw is None or raw == bytes(32) else f"0x{raw.hex()}"


def exact(value: int, decimals: int) -> Decimal:
    """Return a fixed-point number with all of its digits."""
    return Decimal((value < 0, tuple(map(int, str(abs(value)))), -decimals))


Exact = Annotated[Decimal, PlainSerializer(lambda number: format(number, "f"), return_type=_DECIMALS, when_used="json")]
"""An exact number. In JSON, it is a string in plain decimal notation."""


def short_text(raw: bytes) -> str:
    """Return a text that a registry stores in 32 bytes, or the bytes as hexadecimal digits if they are not UTF-8."""
    text = raw.rstrip(b"\0")
    try:
        return text.decode() if b"\0" not in text else f"0x{raw.hex()}"
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"


_WITH_FEEDBACK: Final = (Registry.REPUTATION, Registry.BIDIRECTIONAL)
"""The kinds of registries that accept open feedback."""


@dataclass(frozen=True, slots=True)
class IndexedRegistry:
    """An indexed registry.

    Attributes:
        kind: The contract's name.
        identity_registry: The identity registry to which this registry belongs.
        first_block: The block from which the registry is indexed.
    """

    chain_id: int
    address: str
    kind: str
    identity_registry: str
    first_block: int


@dataclass(frozen=True, slots=True)
class AgentKey:
    """An agent's key in the index's tables.

    Attributes:
        identity_registry: The address of the agent's identity registry.
        agent_id: The agent's token id.
        registries: The addresses of all registries that belong to the identity registry.
        reputations: The addresses of those registries that accept open feedback; empty if unknown.
    """

    chain_id: int
    identity_registry: str
    agent_id: int
    registries: tuple[str, ...]
    reputations: tuple[str, ...] = field(default=(), compare=False)

    @property
    def id(self) -> str:
        """The agent's short id, such as `8453:247`."""
        return f"{self.chain_id}:{self.agent_id}"

    @property
    def global_id(self) -> str:
        """The agent's id that is unique across registries, such as `eip155:8453:0x8004…#247`."""
        return global_agent_id(self.chain_id, self.identity_registry, self.agent_id)

    def of(self, columns: Any) -> list[ColumnElement[bool]]:
        """Return the conditions that select the rows with the agent's key."""
        names = ("chain_id", "identity_registry", "agent_id")
        return [columns[name] == getattr(self, name) for name in names]

    def in_registries(self, columns: Any) -> list[ColumnElement[bool]]:
        """Return the conditions that select the agent's events in the related registries."""
        is_of_registry = columns.registry.in_(self.registries)
        return [columns.chain_id == self.chain_id, is_of_registry, columns.agent_id == self.agent_id]


@dataclass(frozen=True, slots=True)
class Registries:
    """The registries that are indexed.

    Attributes:
        by_chain: The registries of each chain.
    """

    by_chain: Mapping[int, Sequence[IndexedRegistry]]

    @property
    def chains(self) -> list[int]:
        """The chains that have an identity registry in the index."""
        return [chain for chain in self.by_chain if self._identities(chain)]

    def _identities(self, chain_id: int) -> list[str]:
        return [registry.address for registry in self.by_chain.get(chain_id, ()) if registry.kind == Registry.IDENTITY]

    def identity_of(self, chain_id: int) -> str:
        """Return the identity registry for ids that name none: the canonical one if indexed, otherwise the oldest.

        Raises:
            ChainNotIndexedError: The chain is not indexed.
        """
        identities = self._identities(chain_id)
        if not identities:
            raise ChainNotIndexedError(chain_id, self.chains)
        return canonical_first(chain_id, identities)[0]

    def require_indexed(self, chains: Iterable[int]) -> None:
        """Raise an error if a query is about a chain that is not indexed, instead of returning an empty response.

        Raises:
            ChainNotIndexedError: A chain is not indexed.
        """
        for chain_id in chains:
            self.identity_of(chain_id)

    def key(self, chain_id: int, agent_id: int, identity_registry: str | None = None) -> AgentKey:
        """Return an agent's key.

        Args:
            agent_id: The agent's token id.
            identity_registry: The address of the agent's registry; None for the registry that `identity_of` returns.

        Raises:
            ChainNotIndexedError: The chain is not indexed.
            NotIndexedError: The registry is not indexed.
        """
        address = identity_registry or self.identity_of(chain_id)
        registries = self.by_chain.get(chain_id, ())
        related = {registry.address: registry.kind for registry in registries if registry.identity_registry == address}
        if not related:
            self.require_indexed([chain_id])
            raise NotIndexedError("registry", f"eip155:{chain_id}:{address}")
        reputations = tuple(registry for registry, kind in related.items() if kind in _WITH_FEEDBACK)
        return AgentKey(chain_id, address, agent_id, tuple(related), reputations)


def canonical_first(chain_id: int, identities: Sequence[str]) -> list[str]:
    """Return a chain's identity registries, starting with the one for ids that do not specify a registry.

    Args:
        identities: The registries' addresses, oldest first.
    """
    canonical = Deployment.canonical(chain_id)
    return sorted(identities, key=lambda address: canonical is None or address != canonical.identity)


def read_registries(connection: Connection) -> Registries:
    """Return the registries that are indexed."""
    columns = schema.registry.c
    query = select(*(columns[field.name] for field in fields(IndexedRegistry)))
    by_chain: dict[int, list[IndexedRegistry]] = {}
    for row in connection.execute(query.order_by(columns.chain_id, columns.first_block, columns.address)):
        by_chain.setdefault(row.chain_id, []).append(IndexedRegistry(*row))
    return Registries(by_chain)


def agent_key(registries: Registries, text: str) -> AgentKey:
    """Parse an agent's id in any published form, and find its registry.

    Args:
        registries: The indexed registries.
        text: `8453:247`, `eip155:8453:247`, `eip155:8453:0x…#247` or `eip155:8453:0x…:247`.

    Raises:
        MalformedIdentifierError: The text has none of these forms.
        ChainNotIndexedError: The chain is not indexed.
        NotIndexedError: The registry is not indexed.
    """
    if "0x" in text:
        registry, colon, agent = text.rpartition(":")
        is_global = "#" not in text and colon and registry.count(":") > 1
        global_id = GlobalAgentId(AccountId.parse(registry), agent) if is_global else GlobalAgentId.parse(text)
        agent_id, address = global_id.agent_id, global_id.registry.address
    else:
        agent_id, address = AgentId.parse(text), None
    if agent_id.chain_id is None or agent_id.chain_id.bit_length() > 63:  # noqa: PLR2004  # the largest of the tables
        raise MalformedIdentifierError("an agent id that includes a chain", text, AGENT_FORMS)
    return registries.key(agent_id.chain_id, agent_id.token_id, address)


def numbers_by_chain(ids: Iterable[str | None]) -> dict[int, list[int]]:
    """Return the distinct token ids of the given agents in ascending order, keyed by chain id.

    Args:
        ids: Short ids, such as `8453:247`; None is ignored.
    """
    numbers: dict[int, set[int]] = defaultdict(set)
    for agent in ids:
        if agent is not None:
            chain_id, _, number = agent.partition(":")
            numbers[int(chain_id)].add(int(number))
    return {chain_id: sorted(requested) for chain_id, requested in numbers.items()}
