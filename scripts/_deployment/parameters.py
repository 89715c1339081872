"""The contracts to deploy: `deployments/parameters.yaml` or another such file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import yaml
from eth_utils.address import is_checksum_address, to_checksum_address
from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from scripts._deployment.errors import DeploymentError, first_mistake

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from scripts._deployment.live_chain import Chain

REFERENCE = "$"
"""The prefix of an argument that stands for another contract's address."""

CANONICAL = "canonical."
"""The beginning of a reference to a canonical registry, as `$canonical.IdentityRegistry`."""

GIVEN = "given."
"""The beginning of a reference to an address that the user gives, as `$attestor`."""

LIST = "[]"
"""The end of a reference to a list of contracts that the user gives, as `$tokens[]`."""

Salt = Annotated[str, StringConstraints(strict=True, pattern="^0x[0-9a-f]{64}$")]
"""32 bytes in hexadecimal, in quotation marks (YAML would read a number)."""


class ContractParameters(BaseModel):
    """The deployment of one contract.

    Attributes:
        salt: The salt of its CREATE2 address.
        arguments: Its constructor's arguments by name; `$Name` stands for the address of another contract, and
            `$canonical.Name` for that of a canonical registry, `$name` for one that the user gives.
        expected: The required answers of its views without arguments, by the view's name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    salt: Salt
    arguments: dict[str, Any] = {}
    expected: dict[str, Any] = {}

    @property
    def references(self) -> set[str]:
        """The contracts of the same file that the arguments refer to."""
        return {name for name in self._referred if not name.startswith((CANONICAL, GIVEN))}

    @property
    def canonical_references(self) -> set[str]:
        """The canonical registries that the arguments refer to."""
        return {name.removeprefix(CANONICAL) for name in self._referred if name.startswith(CANONICAL)}

    @property
    def given_references(self) -> set[str]:
        """The addresses that the user gives, by reference."""
        return {name for name in self._referred if name.startswith(GIVEN)}

    @property
    def _referred(self) -> set[str]:
        return {value[1:] for value in self.arguments.values() if _is_reference(value)}

    def resolve(self, addresses: Mapping[str, str | list[str]]) -> dict[str, Any]:
        """Replace references by addresses.

        Args:
            addresses: The addresses by reference: by the contract's name for those of the file.

        Returns:
            The arguments by name.
        """
        return {name: addresses[value[1:]] if _is_reference(value) else value for name, value in self.arguments.items()}


def _is_reference(value: object) -> bool:
    return isinstance(value, str) and value.startswith(REFERENCE)


def load_parameters(path: Path) -> dict[str, ContractParameters]:
    """Read and check the parameters.

    Args:
        path: The YAML file.

    Returns:
        The parameters by contract, as in the file.

    Raises:
        DeploymentError: If the file is missing or is not what it should be.
    """
    try:
        content = yaml.safe_load(path.read_bytes())
        return TypeAdapter(dict[str, ContractParameters]).validate_python(content)
    except OSError as failure:
        raise DeploymentError(f"{path}: {failure.strerror}") from failure
    except yaml.YAMLError as failure:
        raise DeploymentError(f"{path}: {' '.join(str(failure).split())}") from failure
    except ValidationError as failure:
        raise DeploymentError(f"{path}: {first_mistake(failure)}") from failure


NOBODY = "0x" + "00" * 20


def given_addresses(parameters: Mapping[str, ContractParameters], texts: Iterable[str]) -> dict[str, str | list[str]]:
    """Read the addresses that a user gave.

    Args:
        parameters: The parameters by contract.
        texts: The addresses, as `attestor=0x…` or, for a list, `tokens=0x…,0x…`.

    Returns:
        The addresses by reference, as `{"given.attestor": "0x…", "given.tokens[]": ["0x…"]}`.

    Raises:
        DeploymentError: If one is missing, invalid, zero, named twice, or not asked for.
    """
    wanted = {reference for entry in parameters.values() for reference in entry.given_references}
    names = {reference.removeprefix(GIVEN).removesuffix(LIST): reference for reference in sorted(wanted)}
    addresses: dict[str, str | list[str]] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in names:
            raise DeploymentError(f"--given {text}: the parameters ask for {', '.join(names) or 'nothing'}.")
        if names[name] in addresses:
            raise DeploymentError(f"--given {name}: named twice.")
        addresses[names[name]] = _addresses(text, value) if names[name].endswith(LIST) else _address(text, value)
    for name, reference in names.items():
        if reference not in addresses:
            several = "ADDRESS,ADDRESS" if reference.endswith(LIST) else "ADDRESS"
            raise DeploymentError(f"{name} is not given: --given {name}={several}")
    return addresses


def require_contracts(chain: Chain, addresses: Mapping[str, str | list[str]]) -> None:
    """Make sure that the given contracts are there.

    Args:
        chain: The chain.
        addresses: The addresses by reference.

    Raises:
        DeploymentError: If an address of a list has no code.
    """
    for reference, value in addresses.items():
        for address in value if isinstance(value, list) else []:
            if not chain.code(to_checksum_address(address)):
                name = reference.removeprefix(GIVEN).removesuffix(LIST)
                raise DeploymentError(
                    f"Chain {chain.chain_id}: expected one of the {name} at {address}, found no code. Nothing was sent."
                )


def _addresses(text: str, value: str) -> list[str]:
    """Read a list of addresses."""
    addresses_of = [_address(text, part) for part in value.split(",")]
    if len(set(addresses_of)) != len(addresses_of):
        raise DeploymentError(f"--given {text}: an address is there twice.")
    return addresses_of


def _address(text: str, value: str) -> str:
    """Read an address."""
    if not is_checksum_address(value) or value == NOBODY:
        raise DeploymentError(f"--given {text}: expected an address other than zero, with a checksum, not {value!r}.")
    return value
