"""The identifiers of chains, accounts, agents, transactions and feedback, parsed strictly and written canonically.

Every class is immutable, compares by meaning (addresses by value, not by letter case), and has `parse` and `str()` as
exact opposites. `parse` refuses anything else with a `MalformedIdentifierError` that says what is wrong.

The textual feedback id of the best practices counts from 0, the contract and published indexers count from 1. A
`FeedbackId` therefore has no plain number: it has `index`, `on_chain_index` and `subgraph_id`, and is made from either
count by a constructor that names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

import libipld
from eth_utils.address import is_checksum_address, is_checksum_formatted_address, to_checksum_address

from bilateral.errors import MalformedIdentifierError

EVM: Final = "eip155"
SOLANA: Final = "solana"

_MAX_UINT256: Final = 2**256 - 1
_MAX_INDEX: Final = 2**64 - 1

_NAMESPACE = re.compile(r"[-a-z0-9]{3,8}")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]+")
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_EVM_HASH = re.compile(r"0x[0-9a-fA-F]{64}")

_CHAIN: Final = "a CAIP-2 chain id"
_ACCOUNT: Final = "a CAIP-10 account id"
_TRANSACTION: Final = "a transaction reference"
_AGENT: Final = "an agent id"
_GLOBAL: Final = "a global agent id"
_FEEDBACK: Final = "a feedback id"

_SOLANA_REFERENCE_LENGTH: Final = 32
_SOLANA_ADDRESS_BYTES: Final = 32
_SOLANA_SIGNATURE_BYTES: Final = 64
_MAX_CHAIN_DIGITS: Final = 32


@dataclass(frozen=True)
class ChainId:
    """A chain (CAIP-2), on EVM or Solana: `eip155:8453`, `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`.

    Attributes:
        namespace: `eip155` or `solana`.
        reference: The EIP-155 chain id in decimals, or the first 32 characters of the genesis hash.

    Raises:
        MalformedIdentifierError: Another namespace, or the reference has not its namespace's form.
    """

    namespace: str
    reference: str

    def __post_init__(self) -> None:
        """Refuse what its namespace does not allow."""
        problem = _chain_problem(self.namespace, self.reference)
        if problem:
            raise MalformedIdentifierError(_CHAIN, str(self), problem)

    @classmethod
    def evm(cls, chain_id: int) -> Self:
        """The EVM chain with an EIP-155 chain id."""
        return cls(EVM, str(chain_id))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `namespace:reference`.

        Raises:
            MalformedIdentifierError: The text is not that.
        """
        namespace, reference = _split(_CHAIN, text, "namespace:reference", 2)
        return cls(namespace, reference)

    @property
    def is_evm(self) -> bool:
        """Whether the chain is an EVM chain."""
        return self.namespace == EVM

    @property
    def evm_chain_id(self) -> int:
        """The EIP-155 chain id.

        Raises:
            MalformedIdentifierError: The chain is none of EVM.
        """
        if not self.is_evm:
            raise MalformedIdentifierError("an EVM chain", str(self), f"its namespace is {self.namespace}")
        return int(self.reference)

    def __str__(self) -> str:
        """The canonical text."""
        return f"{self.namespace}:{self.reference}"


@dataclass(frozen=True)
class AccountId:
    """An account or contract on a chain (CAIP-10): `eip155:8453:0x8004…`, `solana:5eykt4…:satiRk…`.

    An agent registry string is one of these: the chain and address of an identity registry.

    Attributes:
        chain: The chain.
        address: On EVM in checksum form (EIP-55), made so whatever the case it was given in; on Solana the 32 bytes in
            base 58, in which case matters.

    Raises:
        MalformedIdentifierError: The address has not its chain's form, or is in mixed case with a wrong checksum.
    """

    chain: ChainId
    address: str

    def __post_init__(self) -> None:
        """Refuse what the chain does not allow, and bring EVM addresses into checksum form."""
        if self.chain.is_evm:
            object.__setattr__(self, "address", checksummed(self.address))
            return
        problem = _base58_problem(self.address, _SOLANA_ADDRESS_BYTES, "an address")
        if problem:
            raise MalformedIdentifierError(_ACCOUNT, str(self), problem)

    @classmethod
    def parse(cls, text: str, *, verify_checksum: bool = True) -> Self:
        """Parse `namespace:reference:address`.

        Args:
            text: The text.
            verify_checksum: Pass `False` to take a mixed-case EVM address whose checksum is wrong, as CAIP-10 allows
                and as files of careless authors have it. Never do so with an address to which money goes.

        Raises:
            MalformedIdentifierError: The text is not that.
        """
        namespace, reference, address = _split(_ACCOUNT, text, "namespace:reference:address", 3)
        chain = ChainId(namespace, reference)
        return cls(chain, address if verify_checksum or not chain.is_evm else address.lower())

    def __str__(self) -> str:
        """The canonical text."""
        return f"{self.chain}:{self.address}"


@dataclass(frozen=True)
class TransactionRef:
    """A transaction on a chain (`taskRef` of the x402 extension): `eip155:8453:0x…`, `solana:5eykt4…:5A2CSREG…`.

    Attributes:
        chain: The chain.
        transaction: On EVM the hash, in lower case whatever the case it was given in; on Solana the 64 bytes of the
            first signature in base 58.

    Raises:
        MalformedIdentifierError: The transaction has not its chain's form.
    """

    chain: ChainId
    transaction: str

    def __post_init__(self) -> None:
        """Refuse what the chain does not allow."""
        if self.chain.is_evm:
            matches = _EVM_HASH.fullmatch(self.transaction)
            problem = None if matches else "an EVM transaction is 0x and 64 hexadecimal digits"
            object.__setattr__(self, "transaction", self.transaction.lower())
        else:
            problem = _base58_problem(self.transaction, _SOLANA_SIGNATURE_BYTES, "a transaction")
        if problem:
            raise MalformedIdentifierError(_TRANSACTION, str(self), problem)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `namespace:reference:transaction`.

        Raises:
            MalformedIdentifierError: The text is not that.
        """
        namespace, reference, transaction = _split(_TRANSACTION, text, "namespace:reference:transaction", 3)
        return cls(ChainId(namespace, reference), transaction)

    def __str__(self) -> str:
        """The canonical text."""
        return f"{self.chain}:{self.transaction}"


@dataclass(frozen=True)
class AgentId:
    """An agent of the registry in use: `84532:42`, or bare `42` where the chain is understood.

    Attributes:
        token_id: The id of the agent's token, 0 to 2^256 - 1. Our registry begins at 1, the first deployed ones at 0.
        chain_id: The EIP-155 id of its chain, or None where the chain is understood.

    Raises:
        MalformedIdentifierError: Either is out of its range.
    """

    token_id: int
    chain_id: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no registry and no chain can have."""
        if not 0 <= self.token_id <= _MAX_UINT256:
            raise MalformedIdentifierError(_AGENT, str(self), "the agent is not within 0 to 2^256 - 1")
        if self.chain_id is not None:
            ChainId.evm(self.chain_id)

    @classmethod
    def parse(cls, text: str | int) -> Self:
        """Parse `42`, `84532:42` or `eip155:84532:42`. A number is taken as bare id.

        Raises:
            MalformedIdentifierError: The text is none of these.
        """
        if isinstance(text, int):
            return cls(text)
        parts = text.split(":")
        if len(parts) == 3 and parts[0] == EVM:  # noqa: PLR2004  # the form with a namespace
            del parts[0]
        if len(parts) > 2:  # noqa: PLR2004  # chain and agent
            raise MalformedIdentifierError(_AGENT, text, "expected 42, 84532:42 or eip155:84532:42")
        *chain, token = (_whole_number(_AGENT, text, part) for part in parts)
        return cls(token, chain[0] if chain else None)

    def on(self, chain_id: int) -> Self:
        """This agent with its chain named.

        Args:
            chain_id: The chain that is understood.

        Raises:
            MalformedIdentifierError: The id names another chain.
        """
        if self.chain_id not in (None, chain_id):
            raise MalformedIdentifierError(f"an agent of chain {chain_id}", str(self), f"its chain is {self.chain_id}")
        return type(self)(self.token_id, chain_id)

    def __str__(self) -> str:
        """The canonical text, `84532:42` or `42`."""
        return str(self.token_id) if self.chain_id is None else f"{self.chain_id}:{self.token_id}"


@dataclass(frozen=True)
class GlobalAgentId:
    """An agent, unmistakable among all registries: `eip155:8453:0x8004…#247`.

    Attributes:
        registry: The identity registry.
        agent: The token id in decimals on EVM, the mint address on Solana.

    Raises:
        MalformedIdentifierError: The agent has not the form of its registry's chain.
    """

    registry: AccountId
    agent: str

    def __post_init__(self) -> None:
        """Refuse what the registry's chain does not allow."""
        if self.registry.chain.is_evm:
            AgentId(_whole_number(_GLOBAL, str(self), self.agent))
            return
        problem = _base58_problem(self.agent, _SOLANA_ADDRESS_BYTES, "an agent")
        if problem:
            raise MalformedIdentifierError(_GLOBAL, str(self), problem)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `namespace:reference:registry#agent`.

        Raises:
            MalformedIdentifierError: The text is not that.
        """
        registry, hash_sign, agent = text.partition("#")
        if not hash_sign:
            raise MalformedIdentifierError(_GLOBAL, text, "expected namespace:reference:registry#agent")
        return cls(AccountId.parse(registry), agent)

    @property
    def agent_id(self) -> AgentId:
        """The agent's id within its registry, with its chain.

        Raises:
            MalformedIdentifierError: The chain is none of EVM.
        """
        return AgentId(int(self.agent), self.registry.chain.evm_chain_id)

    def __str__(self) -> str:
        """The canonical text."""
        return f"{self.registry}#{self.agent}"


@dataclass(frozen=True)
class FeedbackId:
    """One client's feedback about an agent: `84532:42:0x742d…:0` as text.

    The last number of the text counts from 0 (best practices, "Feedback ID Format"). The contract counts from 1.

    Attributes:
        agent: The agent.
        client: The client's address, in checksum form.
        on_chain_index: The `feedbackIndex` of the contract and its events, from 1.

    Raises:
        MalformedIdentifierError: The address or the index is none.
    """

    agent: AgentId
    client: str
    on_chain_index: int

    def __post_init__(self) -> None:
        """Refuse an index that no feedback has, and bring the address into checksum form."""
        object.__setattr__(self, "client", checksummed(self.client))
        if not 1 <= self.on_chain_index <= _MAX_INDEX:
            raise MalformedIdentifierError(
                _FEEDBACK,
                f"{self.agent}:{self.client}:{self.on_chain_index - 1}",
                f"its index on chain, {self.on_chain_index}, is not within 1 to 2^64 - 1",
            )

    @classmethod
    def from_index(cls, agent: AgentId, client: str, index: int) -> Self:
        """The feedback with an index that counts from 0, as in the textual id."""
        return cls(agent, client, index + 1)

    @classmethod
    def from_chain(cls, agent: AgentId, client: str, on_chain_index: int) -> Self:
        """The feedback with an index that counts from 1, as in the contract and its events."""
        return cls(agent, client, on_chain_index)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the textual id, whose index counts from 0: `84532:42:0x742d…:0`.

        Raises:
            MalformedIdentifierError: The text is not that.
        """
        return cls.from_index(*_feedback_parts(text))

    @classmethod
    def parse_subgraph(cls, text: str) -> Self:
        """Parse the id that published indexers give, whose index counts from 1: `84532:42:0x742d…:1`.

        Raises:
            MalformedIdentifierError: The text is not that.
        """
        return cls.from_chain(*_feedback_parts(text))

    @property
    def index(self) -> int:
        """The index of the textual id, from 0."""
        return self.on_chain_index - 1

    @property
    def subgraph_id(self) -> str:
        """The id that published indexers give: the address in lower case, the index from 1.

        Raises:
            MalformedIdentifierError: The agent's id does not name its chain.
        """
        if self.agent.chain_id is None:
            raise MalformedIdentifierError("an indexer's feedback id", str(self), "the agent's chain is not named")
        return f"{self.agent}:{self.client.lower()}:{self.on_chain_index}"

    def __str__(self) -> str:
        """The textual id, whose index counts from 0."""
        return f"{self.agent}:{self.client}:{self.index}"


def checksummed(address: str) -> str:
    """Bring an EVM address into checksum form (EIP-55).

    Args:
        address: 0x and 40 hexadecimal digits: in one case, or in mixed case with the right checksum.

    Raises:
        MalformedIdentifierError: It is no address, or its checksum is wrong, which means that it was mistyped.
    """
    if not _EVM_ADDRESS.fullmatch(address):
        raise MalformedIdentifierError("an EVM address", address, "expected 0x and 40 hexadecimal digits")
    if is_checksum_formatted_address(address) and not is_checksum_address(address):
        raise MalformedIdentifierError("an EVM address", address, "its checksum (EIP-55) is wrong")
    return str(to_checksum_address(address))


def _split(kind: str, text: str, form: str, count: int) -> list[str]:
    """Split a text at its colons into exactly so many parts, none of them empty."""
    parts = text.split(":")
    if len(parts) != count:
        raise MalformedIdentifierError(kind, text, f"expected {form}")
    if not all(parts):
        raise MalformedIdentifierError(kind, text, f"a part of {form} is empty")
    return parts


def _whole_number(kind: str, text: str, part: str) -> int:
    """Parse a part that is a number in canonical decimals; at most 78 digits, as many as a uint256 has."""
    if not _NUMBER.fullmatch(part):
        raise MalformedIdentifierError(kind, text, f"{part[:80]!r} is not a whole number in plain decimals")
    if len(part) > len(str(_MAX_UINT256)):
        raise MalformedIdentifierError(kind, text, "a number in it exceeds 2^256 - 1")
    return int(part)


def _feedback_parts(text: str) -> tuple[AgentId, str, int]:
    """Split a textual feedback id into agent, client and its last number, whatever that counts from."""
    parts = text.rsplit(":", 2)
    if len(parts) != 3:  # noqa: PLR2004  # agent, client, index
        raise MalformedIdentifierError(_FEEDBACK, text, "expected agent:client:index, such as 84532:42:0x…:0")
    agent, client, index = parts
    return AgentId.parse(agent), client, _whole_number(_FEEDBACK, text, index)


def _chain_problem(namespace: str, reference: str) -> str | None:
    """What is wrong with a chain id, if anything."""
    if not _NAMESPACE.fullmatch(namespace):
        return "a namespace has 3 to 8 of a-z, 0-9 and -"
    if namespace == EVM:
        if not _NUMBER.fullmatch(reference) or reference == "0" or len(reference) > _MAX_CHAIN_DIGITS:
            return "an eip155 reference is the chain id in decimals, from 1, without leading zeros"
        return None
    if namespace == SOLANA:
        if not _BASE58.fullmatch(reference) or len(reference) != _SOLANA_REFERENCE_LENGTH:
            return "a solana reference is the first 32 characters of the genesis hash, in base 58"
        return None
    return f"the namespaces eip155 and solana are supported, not {namespace}"


def _base58_problem(text: str, length: int, what: str) -> str | None:
    """What is wrong with a Solana identifier of so many bytes, if anything."""
    if not _BASE58.fullmatch(text) or len(text) > 2 * length:
        return f"{what} of solana is {length} bytes in base 58"
    decoded = len(libipld.decode_multibase(f"z{text}")[1])
    return None if decoded == length else f"{what} of solana has {length} bytes, this one has {decoded}"
