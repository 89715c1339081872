"""The contracts to deploy: `deployments/parameters.yaml` or another such file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from scripts._deployment.errors import DeploymentError, first_mistake

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REFERENCE = "$"
"""The prefix of an argument that stands for another contract's address."""

CANONICAL = "canonical."
"""The beginning of a reference to a canonical registry, as `$canonical.IdentityRegistry`."""

GIVEN = "given."
"""The beginning of a reference to an address that the user gives, as `$given.attestor`."""

LIST = "[]"
"""The end of a reference to a list of contracts that the user gives, as `$given.tokens[]`."""

Salt = Annotated[str, StringConstraints(strict=True, pattern="^0x[0-9a-f]{64}$")]
"""32 bytes in hexadecimal, in quotation marks (YAML would read a number)."""


class ContractParameters(BaseModel):
    """The deployment of one contract.

    Attributes:
        salt: The salt of its CREATE2 address.
        arguments: Its constructor's arguments by name; `$Name` stands for the address of another contract, and
            `$canonical.Name` for that of a canonical registry, `$given.name` for one that the user gives.
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
