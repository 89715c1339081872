"""Registry deployments, read from deployment records or the packaged address book, or specified by the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

from bilateral.core.contracts.abi import Registry
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import (
    DeploymentRecordError,
    InvalidArgumentError,
    MalformedIdentifierError,
    MissingFunctionError,
    MissingRegistryError,
)
from bilateral.core.identifiers import AccountId, ChainId, checksummed
from bilateral.core.values.arguments import is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from bilateral.core.contracts.records import DeploymentRecord


@dataclass(frozen=True)
class RegistryFacts:
    """Facts about a registry that can be looked up without a call to the chain.

    Attributes:
        origin: The authors of the registry's code.
        is_upgradable: True if the registry's owner can change its code.
        functions: The names of the registry's functions; None if they are the same as in the packaged ABI.
    """

    origin: Origin
    is_upgradable: bool = False
    functions: frozenset[str] | None = None


_AS_REPUTATION: Final = "as reputation"


@dataclass(frozen=True)
class Deployment:
    """The addresses of a chain's registries, each canonical (by ERC-8004's authors), from this project, or missing.

    Attributes:
        chain_id: The EIP-155 id of the chain.
        identity: The identity registry.
        reputation: The registry for feedback that any client may give.
        authorized: The registry for feedback that requires the agent owner's authorisation.
        validation: The validation registry.
        first_block: The block from which to read logs: none of the registries emitted logs before it. 0 if unknown.
        ratings: The registry for ratings of clients and validators. By default, the reputation registry, because this
            project's reputation registry supports ratings. None if no registry does.
        directory: The companion contract, which stores primary agents for an identity registry that does not; None if
            not needed.
        first_agent_id: The id of the first agent: 1 in this project's identity registry, 0 in canonical registries.
        buyers: The buyer reputation registry, which records payments.
        tier_proofs: The contract for private proofs of buyers' tiers.
        facts: Facts about the registries, keyed by address. Registries that the caller specified have no entry.
    """

    chain_id: int
    identity: str
    reputation: str | None = None
    authorized: str | None = None
    validation: str | None = None
    first_block: int = 0
    ratings: str | None = _AS_REPUTATION
    directory: str | None = None
    first_agent_id: int = 1
    buyers: str | None = None
    tier_proofs: str | None = None
    facts: Mapping[str, RegistryFacts] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        ChainId.evm(self.chain_id)
        for name in ("first_block", "first_agent_id"):
            if not is_whole(getattr(self, name)):
                raise InvalidArgumentError(f"{name} must be a whole number")
        if self.ratings == _AS_REPUTATION:
            object.__setattr__(self, "ratings", self.reputation)
        for name in REGISTRY_ATTRIBUTES:
            address = getattr(self, name)
            if address is not None or name == "identity":
                object.__setattr__(self, name, checksummed(address))

    @classmethod
    def from_record(cls, record: str | bytes) -> Self:
        """Read a deployment record, `deployments/<chain id>.json`.

        Args:
            record: The JSON text.

        Returns:
            The deployment. If the record contains two reputation registries, `reputation` is the canonical one or, if
            neither is canonical, the one that supports ratings. If the record contains a companion contract but no
            identity registry, the identity registry comes from the address book or the companion's constructor
            argument.

        Raises:
            DeploymentRecordError: The text is not a valid record, or the identity registry is missing.
        """
        from bilateral.core.contracts.records import DeploymentRecord  # noqa: PLC0415  # heavy, few users of ABIs need it

        try:
            return cls._of(DeploymentRecord.read(record))
        except MalformedIdentifierError as error:
            raise DeploymentRecordError(f"invalid deployment record: {error}") from None

    @classmethod
    def from_book(cls, book: bytes) -> dict[int, Self]:
        """Read an address book, in the format of `deployments/canonical.json`.

        Args:
            book: The JSON text.

        Returns:
            The deployments, keyed by chain id. See `from_record`.

        Raises:
            DeploymentRecordError: The text is not a valid address book, or the identity registry is missing for one of
                its chains.
        """
        from bilateral.core.contracts.records import read_book  # noqa: PLC0415  # heavy

        try:
            return {chain_id: cls._of(record) for chain_id, record in read_book(book).items()}
        except MalformedIdentifierError as error:
            raise DeploymentRecordError(f"invalid address book: {error}") from None

    @classmethod
    def canonical(cls, chain_id: int) -> Self | None:
        """Return the registries deployed on a chain by the authors of ERC-8004, from the packaged address book.

        Args:
            chain_id: EIP-155 id of the chain.

        Returns:
            The deployment; None if the address book does not contain the chain.
        """
        from bilateral.core.contracts.records import address_book  # noqa: PLC0415  # heavy

        record = address_book().get(chain_id)
        return None if record is None else cls._of(record)

    @classmethod
    def _of(cls, record: DeploymentRecord) -> Self:
        entries = dict(record.contracts)
        below = _identity_below(record)
        if Registry.IDENTITY not in entries:
            from bilateral.core.contracts.records import address_book  # noqa: PLC0415  # heavy

            book = address_book().get(record.chain_id)
            if book is not None and below in (None, book.contracts[Registry.IDENTITY].address):
                entries = book.contracts | entries
            elif below is None:
                raise DeploymentRecordError("invalid deployment record: the companion's identity registry is missing")
        elif below not in (None, entries[Registry.IDENTITY].address):
            raise DeploymentRecordError(
                f"invalid deployment record: its IdentityRegistry is {entries[Registry.IDENTITY].address}, but its "
                f"CompanionDirectory belongs to {below}"
            )
        addresses = {attribute: entries[name] for attribute, name in _NAMES.items() if name in entries}
        if "ratings" in addresses and (
            "reputation" not in addresses or addresses["reputation"].origin is Origin.BILATERAL
        ):
            addresses["reputation"] = addresses["ratings"]
        places: dict[str, Any] = {name: addresses[name].address if name in addresses else None for name in _NAMES}
        if "identity" in addresses:
            first = addresses["identity"].first_agent_id
            places["first_agent_id"] = 1 if first is None else first
        else:
            places |= {"identity": below, "first_agent_id": 0}
        return cls(
            chain_id=record.chain_id,
            **places,
            first_block=min(entry.block or 0 for entry in entries.values()),
            facts={
                entry.address: RegistryFacts(
                    entry.origin,
                    entry.upgradable,
                    None
                    if entry.functions is None
                    else frozenset(function.partition("(")[0] for function in entry.functions),
                )
                for entry in addresses.values()
            },
        )

    def address_of(self, registry: Registry) -> str:
        """Return the address of a registry.

        Raises:
            MissingRegistryError: The deployment does not include the registry.
        """
        name = _ATTRIBUTES[registry]
        address: str | None = getattr(self, name)
        if address is None:
            raise MissingRegistryError(name, self.chain_id)
        return address

    @property
    def directory_registry(self) -> Registry:
        """The registry of accounts' primary agents: the companion contract, if any, or else the identity registry."""
        return Registry.IDENTITY if self.directory is None else Registry.COMPANION

    def lacks(self, registry: Registry, function: str) -> bool:
        """Return whether a registry is known to lack a function; False for a registry that the caller specified.

        Args:
            function: The function's name.
        """
        facts = self.facts.get(getattr(self, _ATTRIBUTES[registry]))
        return facts is not None and facts.functions is not None and function not in facts.functions

    def require_function(self, registry: Registry, function: str) -> None:
        """Check that the deployment includes a registry, and that the registry is not known to lack a function.

        Args:
            function: The function's name.

        Raises:
            MissingRegistryError: The deployment does not include the registry.
            MissingFunctionError: The registry lacks the function.
        """
        self.address_of(registry)
        if self.lacks(registry, function):
            raise MissingFunctionError(_ATTRIBUTES[registry], function, self.chain_id)

    def origin_of(self, attribute: str) -> Origin | None:
        """Return the authors of a registry's code; None if the caller specified the registry, or if it is missing.

        Args:
            attribute: The name of the registry's attribute, such as `ratings`.
        """
        facts = self.facts.get(getattr(self, attribute))
        return None if facts is None else facts.origin

    @property
    def origin(self) -> Origin | None:
        """The authors of the identity registry's code; None if the caller specified the registry."""
        return self.origin_of("identity")

    @property
    def agent_registry(self) -> AccountId:
        """The CAIP-10 id of the identity registry, as used in registration files and global agent ids."""
        return AccountId(ChainId.evm(self.chain_id), self.identity)


_ATTRIBUTES: Final[Mapping[Registry, str]] = {
    Registry.IDENTITY: "identity",
    Registry.REPUTATION: "reputation",
    Registry.BIDIRECTIONAL: "ratings",
    Registry.AUTHORIZED: "authorized",
    Registry.VALIDATION: "validation",
    Registry.COMPANION: "directory",
    Registry.BUYERS: "buyers",
    Registry.TIER_PROOFS: "tier_proofs",
}
"""The attribute of `Deployment` that contains each registry's address."""

_NAMES: Final[Mapping[str, str]] = {attribute: registry for registry, attribute in _ATTRIBUTES.items()}
"""The contract's name in a record, for each attribute of `Deployment`."""

REGISTRY_ATTRIBUTES: Final = tuple(_NAMES)
"""The names of the `Deployment` attributes that contain addresses."""


def _identity_below(record: DeploymentRecord) -> str | None:
    """Return the identity registry that a record's companion contract serves; None if the record does not state it."""
    companion = record.contracts.get(Registry.COMPANION)
    if companion is None and Registry.IDENTITY not in record.contracts:
        raise DeploymentRecordError("invalid deployment record: it has neither IdentityRegistry nor CompanionDirectory")
    below = None if companion is None else companion.constructor_arguments.get("identityRegistry")
    return None if below is None else checksummed(below)


def attribute_of(registry: Registry) -> str:
    """Return the name of the `Deployment` attribute that contains a registry's address."""
    return _ATTRIBUTES[registry]


def max_fees_of(chain_id: int) -> tuple[int, int]:
    """Return a client's default limits on the fee and the tip per gas on a chain, in wei.

    Args:
        chain_id: EIP-155 id of the chain. Chains that are not in the packaged address book have the general limits,
            `MAX_FEE_GWEI` and `MAX_TIP_GWEI`.
    """
    from bilateral.core.contracts.records import MAX_FEE_GWEI, MAX_TIP_GWEI, address_book  # noqa: PLC0415  # heavy

    record = address_book().get(chain_id)
    fee, tip = (MAX_FEE_GWEI, MAX_TIP_GWEI) if record is None else (record.max_fee_gwei, record.max_tip_gwei)
    return fee * 10**9, tip * 10**9


def has_private_mempool(chain_id: int) -> bool:
    """Return True if, according to the address book, a chain's transactions are private until they are in a block.

    Args:
        chain_id: EIP-155 id of the chain.
    """
    from bilateral.core.contracts.records import address_book  # noqa: PLC0415  # heavy

    record = address_book().get(chain_id)
    return record is not None and record.private_mempool


def network_of(chain_id: int) -> str:
    """Return a chain's network name from the packaged records, such as `base:sepolia`, or else "unnamed".

    Args:
        chain_id: EIP-155 id of the chain.
    """
    from bilateral.core.contracts.records import DeploymentRecord, address_book  # noqa: PLC0415  # heavy

    record = address_book().get(chain_id)
    if record is None and (own := _own_record(chain_id)).is_file():
        record = DeploymentRecord.read(own.read_bytes())
    return "unnamed" if record is None else record.network


def packaged_deployment(chain_id: int, origin: Origin | None = None) -> Deployment | None:
    """Return the packaged deployment for a chain.

    Args:
        chain_id: EIP-155 id of the chain.
        origin: The origin of the deployment to return: canonical, or this project. By default, the canonical deployment
            if the chain has one, or else this project's.

    Returns:
        The deployment; None if the package contains none for the chain.
    """
    canonical = None if origin is Origin.BILATERAL else Deployment.canonical(chain_id)
    if canonical is not None or origin is Origin.CANONICAL:
        return canonical
    record = _own_record(chain_id)
    return Deployment.from_record(record.read_bytes()) if record.is_file() else None


def _own_record(chain_id: int) -> Traversable:
    return files("bilateral") / "deployments" / f"{chain_id}.json"
