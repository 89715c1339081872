"""The registries' ABIs, copied from the compiler's output by the build, and the deployments of the registries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

from eth_utils.abi import abi_to_signature
from eth_utils.crypto import keccak

from bilateral.arguments import is_whole
from bilateral.errors import DeploymentRecordError, InvalidArgumentError, MissingRegistryError
from bilateral.identifiers import AccountId, ChainId, checksummed

if TYPE_CHECKING:
    from collections.abc import Mapping


class Registry(StrEnum):
    """A registry contract, by its name in Solidity."""

    IDENTITY = "IdentityRegistry"
    REPUTATION = "ReputationRegistry"
    BIDIRECTIONAL = "BidirectionalReputationRegistry"
    AUTHORIZED = "AuthorizedReputationRegistry"
    VALIDATION = "ValidationRegistry"


@cache
def abi(registry: Registry) -> tuple[Mapping[str, Any], ...]:
    """Return the ABI of a registry.

    Args:
        registry: The registry.

    Returns:
        The compiler's entries: functions, events, errors, constructor. They are shared: do not change them.
    """
    text = (files("bilateral") / "abi" / f"{registry}.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


@cache
def selectors(registry: Registry, kind: str) -> Mapping[bytes, Mapping[str, Any]]:
    """Return the entries of one kind of a registry's ABI by selector or topic.

    Args:
        registry: The registry.
        kind: `function`, `error` or `event`.

    Returns:
        The entries by selector (4 bytes), or by topic (32 bytes) for events.
    """
    length = 32 if kind == "event" else 4
    return {
        keccak(text=abi_to_signature(entry))[:length]: entry  # type: ignore[arg-type]
        for entry in abi(registry)
        if entry["type"] == kind
    }


@dataclass(frozen=True)
class Deployment:
    """The addresses of the registries on one chain.

    Attributes:
        chain_id: EIP-155 id of the chain.
        identity: The identity registry.
        reputation: The reputation registry, with or without ratings in the other direction.
        authorized: The registry for authorised feedback.
        validation: The validation registry.
        first_block: The block from which to read logs: none of the registries has an earlier log.
    """

    chain_id: int
    identity: str
    reputation: str | None = None
    authorized: str | None = None
    validation: str | None = None
    first_block: int = 0

    def __post_init__(self) -> None:
        """Check the values, and bring the addresses into checksum form."""
        ChainId.evm(self.chain_id)
        if not is_whole(self.first_block):
            raise InvalidArgumentError("first_block must be a block number: a whole number")
        for name in ("identity", "reputation", "authorized", "validation"):
            address = getattr(self, name)
            if address is not None or name == "identity":
                object.__setattr__(self, name, checksummed(address))

    @classmethod
    def from_record(cls, record: str | bytes) -> Self:
        """Read a deployment record, `deployments/<chain id>.json`.

        Args:
            record: The JSON text.

        Returns:
            The deployment. If both reputation registries are recorded, the one with ratings is used.

        Raises:
            DeploymentRecordError: The text is not a valid record, or lacks the identity registry.
        """
        from bilateral.encoding import decode_object  # noqa: PLC0415  # heavy, and few users of the ABIs need it

        try:
            value = decode_object(record.encode() if isinstance(record, str) else record)
            found = {name: contract["address"] for name, contract in value["contracts"].items()}
            blocks = [_block(contract.get("block")) for contract in value["contracts"].values()]
            return cls(
                chain_id=_whole(value["chainId"]),
                identity=found[Registry.IDENTITY],
                reputation=found.get(Registry.BIDIRECTIONAL) or found.get(Registry.REPUTATION),
                authorized=found.get(Registry.AUTHORIZED),
                validation=found.get(Registry.VALIDATION),
                first_block=min(blocks),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeploymentRecordError(f"invalid deployment record: {error!r}") from None

    def address_of(self, registry: Registry) -> str:
        """Return the address of a registry.

        Args:
            registry: The registry.

        Raises:
            MissingRegistryError: The deployment does not include it.
        """
        name = _ATTRIBUTES[registry]
        address: str | None = getattr(self, name)
        if address is None:
            raise MissingRegistryError(name, self.chain_id)
        return address

    @property
    def agent_registry(self) -> AccountId:
        """The identity registry as an agent registry string, for files and global ids."""
        return AccountId(ChainId.evm(self.chain_id), self.identity)


_ATTRIBUTES: Final[Mapping[Registry, str]] = {
    Registry.IDENTITY: "identity",
    Registry.REPUTATION: "reputation",
    Registry.BIDIRECTIONAL: "reputation",
    Registry.AUTHORIZED: "authorized",
    Registry.VALIDATION: "validation",
}
"""The attribute of `Deployment` that holds each registry's address."""


def _block(value: object) -> int:
    """Return the block of a contract; 0 if the record does not tell it."""
    return 0 if value is None else _whole(value)


def _whole(value: object) -> int:
    """Return a JSON number. Refuse a text, and `true`, which is 1 in Python."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def packaged_deployment(chain_id: int) -> Deployment | None:
    """Return the deployment on a chain from the records in the package.

    Args:
        chain_id: EIP-155 id of the chain.

    Returns:
        The deployment; None without a record.
    """
    record = files("bilateral") / "deployments" / f"{chain_id}.json"
    return Deployment.from_record(record.read_bytes()) if record.is_file() else None
