"""Deployment records: those of this project's registries, and those of canonical registries in the address book.

Both kinds of records have the same schema. In the address book, `deployments/canonical.json`, registries with the same
addresses on several chains are listed as groups.
"""

from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import DeploymentRecordError
from bilateral.core.identifiers import AccountId, ChainId, checksummed
from bilateral.core.text.encoding import decode_object

BOOK: Final = "canonical.json"
"""The file name of the address book."""

MAX_TIP_GWEI: Final = 50
"""The default limit on tips, in gwei per gas. A transaction that uses 500,000 gas pays at most 0.025 units of the
currency in tips."""

MAX_FEE_GWEI: Final = 500
"""The default limit on fees, in gwei per gas. A transaction that uses 500,000 gas costs at most 0.25 units of the
currency."""

Number = Annotated[int, Field(strict=True, ge=0)]


class RegistryEntry(BaseModel):
    """One deployed registry.

    Attributes:
        block: The block in which the registry was created; None if not recorded.
        origin: The authors of the registry's code.
        upgradable: True if the registry's owner can change its code.
        first_agent_id: The id of the first agent in an identity registry; None for other registries.
        functions: The signatures of the registry's functions; None if they are the same as in the packaged ABI.
        constructor_arguments: The constructor's arguments, keyed by name.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    address: Annotated[str, AfterValidator(checksummed)]
    block: Number | None = None
    origin: Origin = Origin.BILATERAL
    upgradable: Annotated[bool, Field(strict=True)] = False
    first_agent_id: Number | None = None
    functions: list[str] | None = None
    constructor_arguments: dict[str, Any] = {}


class _Chain(BaseModel):
    """A chain, its default fee limits and its kind of mempool.

    Attributes:
        network: The network's name, such as `base:sepolia`.
        max_tip_gwei: The largest tip per gas that a client signs by default, in gwei.
        max_fee_gwei: The largest fee per gas (base fee plus tip) that a client signs by default, in gwei.
        private_mempool: True if transactions are private until they are in a block, as with a single sequencer.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    chain_id: Annotated[int, Field(strict=True, gt=0)]
    network: str = ""
    max_tip_gwei: Number = MAX_TIP_GWEI
    max_fee_gwei: Number = MAX_FEE_GWEI
    private_mempool: Annotated[bool, Field(strict=True)] = False


class DeploymentRecord(_Chain):
    """The registries on one chain.

    Attributes:
        contracts: The registries, keyed by Solidity name.
    """

    contracts: dict[str, RegistryEntry]

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        """Read a record."""
        try:
            return cls.model_validate(decode_object(text.encode() if isinstance(text, str) else text))
        except ValueError as error:
            raise DeploymentRecordError(f"invalid deployment record: {_first_line(error)}") from None


class _BookChain(_Chain):
    """A chain in the address book, and the groups of registries on that chain."""

    model_config = ConfigDict(extra="forbid")

    network: str
    groups: list[str]


class ForeignRecord(BaseModel):
    """The registries on one Solana chain.

    Attributes:
        chain: The chain (CAIP-2).
        network: The network's name, such as `solana:devnet`.
        registries: The address of each registry's program, keyed by the registry's name.
    """

    model_config = ConfigDict(extra="forbid")

    chain: str
    network: str
    registries: dict[str, str]

    @model_validator(mode="after")
    def _check_addresses(self) -> Self:
        for program in self.registries.values():
            AccountId(ChainId.parse(self.chain), program)
        return self


class _Book(BaseModel):
    """An address book."""

    model_config = ConfigDict(extra="forbid")

    sources: dict[str, str]
    groups: dict[str, dict[str, RegistryEntry]]
    chains: list[_BookChain]
    solana: list[ForeignRecord] = []

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        for chain in self.chains:
            for group in chain.groups:
                if group not in self.groups:
                    raise ValueError(f"chain {chain.chain_id} refers to the group {group!r}, which is missing")
        return self


@cache
def address_book() -> dict[int, DeploymentRecord]:
    """Return the records of the canonical registries, keyed by chain id."""
    return read_book(_packaged())


@cache
def foreign_book() -> dict[str, ForeignRecord]:
    """Return the registries on Solana, keyed by chain (CAIP-2)."""
    return {record.chain: record for record in _Book.model_validate(decode_object(_packaged())).solana}


def _packaged() -> bytes:
    return (files("bilateral") / "deployments" / BOOK).read_bytes()


def is_book(text: bytes) -> bool:
    """Return whether a JSON text is an address book rather than a deployment record."""
    try:
        return "groups" in decode_object(text)
    except ValueError:
        return False


def read_book(text: bytes) -> dict[int, DeploymentRecord]:
    """Read an address book."""
    try:
        book = _Book.model_validate(decode_object(text))
    except ValueError as error:
        raise DeploymentRecordError(f"invalid address book: {_first_line(error)}") from None
    return {
        chain.chain_id: DeploymentRecord(
            **chain.model_dump(exclude={"groups"}),
            contracts={name: entry for group in chain.groups for name, entry in book.groups[group].items()},
        )
        for chain in book.chains
    }


def _first_line(error: ValueError) -> str:
    """Return an error's message as one line, without the documentation URL that pydantic adds."""
    problems = getattr(error, "errors", None)
    if problems is None:
        return str(error)
    first = problems(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
