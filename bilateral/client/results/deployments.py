"""Deployments as they are found on the chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilateral.core.contracts import Deployment
    from bilateral.core.contracts.origin import Origin
    from bilateral.core.text import ChainText


@dataclass(frozen=True)
class RegistryReport:
    """A registry as it is on the chain.

    Attributes:
        registry: Its attribute of `Deployment`, such as `identity`.
        origin: The authors of its code, by the deployment record; None if the caller named the address.
        has_code: True if there is a contract.
        version: Its answer to `getVersion`; None without that function.
        identity_registry: The identity registry that it belongs to; None for an identity registry.
        implementation: The contract whose code a proxy runs (EIP-1967); None for a contract that is not such a proxy.
        owner: The account that can change the code of a proxy; None for a contract that is not a proxy, and for one
            that does not name its owner.
        problem: The first problem that was found; None without one.
    """

    registry: str
    address: str
    origin: Origin | None
    has_code: bool
    version: ChainText | None = None
    identity_registry: str | None = None
    implementation: str | None = None
    owner: str | None = None
    problem: str | None = None

    @property
    def is_upgradable(self) -> bool:
        """True if it is a proxy: its code can change."""
        return self.implementation is not None


@dataclass(frozen=True)
class DeploymentReport:
    """The registries of a deployment as they are on the chain.

    Attributes:
        registries: A report for each registry that it includes.
    """

    deployment: Deployment
    registries: tuple[RegistryReport, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems of all registries."""
        return tuple(registry.problem for registry in self.registries if registry.problem is not None)
