"""The plan of a deployment: contracts with their code, arguments and addresses.

All of it follows from the sources, the parameters and the addresses of canonical registries, so that it is known before
anything is sent. It is the same on every chain where the canonical registries are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from hexbytes import HexBytes
from web3 import Web3
from web3.exceptions import Web3Exception

from scripts._build import LOCK, Build, build_all, deployable_contracts, sources
from scripts._deployment.errors import DeploymentError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eth_typing import ChecksumAddress

    from scripts._deployment.parameters import ContractParameters

DEPLOYER = to_checksum_address("0x4e59b44847b379578588920cA78FbF26c0B4956C")
"""The deterministic deployer: it creates, by CREATE2, what its calldata says after the 32 bytes of a salt."""

IDENTITY = "identityRegistry"
"""The constructor's argument that `getIdentityRegistry()` returns."""

_STORED = {IDENTITY: "getIdentityRegistry", "tokens": "getTokenAddresses"}
"""The views that return arguments of a constructor, by the argument's name."""

INTRINSIC_GAS = 21_000 + 32_000
"""The fixed gas of a transaction and a CREATE2."""

CONSTRUCTOR_GAS = 60_000
"""More than a registry's constructor takes: it writes one word, or asks another contract once."""

ROLE_GAS = 30_000
"""More than a constructor takes for an account that it stores, or a contract of a list that it asks."""

CODE_BYTE_GAS = 200
"""The gas to store a byte of code."""

CODE_WORD_GAS = 8
"""The gas to hash a word of creation code for the address and to load it (EIP-3860)."""


@dataclass(frozen=True)
class PlannedContract:
    """One contract of a plan.

    Attributes:
        build: Its build.
        salt: The salt of its CREATE2 address, 32 bytes.
        arguments: Its constructor's arguments by name; addresses, not references.
        expected: The required answers of its views without arguments, by the view's name.
    """

    build: Build
    salt: bytes
    arguments: dict[str, Any]
    expected: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The contract's name."""
        return self.build.name

    @cached_property
    def init_code(self) -> bytes:
        """Its creation code with the encoded constructor arguments.

        Raises:
            DeploymentError: If the arguments are not those of the constructor.
        """
        expected = [parameter["name"] for parameter in self.build.constructor_inputs]
        for unknown in self.arguments.keys() - set(expected):
            raise DeploymentError(f"{self.name}: its constructor has no argument {unknown!r}, only {expected}.")
        for missing in [name for name in expected if name not in self.arguments]:
            raise DeploymentError(f"{self.name}: its constructor's argument {missing!r} is not given.")
        contract = Web3().eth.contract(abi=self.build.abi, bytecode=self.build.creation_code)
        try:
            return bytes(HexBytes(contract.constructor(**self.arguments).data_in_transaction))
        except (Web3Exception, TypeError, ValueError) as failure:
            reason = one_line(failure)
            raise DeploymentError(f"{self.name}: its constructor refuses {self.arguments}: {reason}") from failure

    @property
    def constructor_arguments(self) -> bytes:
        """The constructor's arguments, ABI encoded."""
        return self.init_code[len(self.build.creation_code) :]

    @property
    def calldata(self) -> bytes:
        """The calldata for the deterministic deployer."""
        return self.salt + self.init_code

    @cached_property
    def address(self) -> ChecksumAddress:
        """Its address, on every chain (EIP-1014)."""
        seed = b"\xff" + bytes.fromhex(DEPLOYER[2:]) + self.salt + keccak(self.init_code)
        return to_checksum_address(keccak(seed)[12:])

    @property
    def estimated_gas(self) -> int:
        """The estimated gas of the deployment.

        Worked out rather than asked: a node cannot tell while the contract that a constructor calls is missing.
        """
        calldata = sum(16 if byte else 4 for byte in self.calldata)
        words = -(-len(self.init_code) // 32)
        return (
            INTRINSIC_GAS
            + CONSTRUCTOR_GAS
            + ROLE_GAS * self._given
            + calldata
            + CODE_WORD_GAS * words
            + CODE_BYTE_GAS * len(self.build.runtime_code)
        )

    @property
    def _given(self) -> int:
        """The number of addresses among its arguments beside the identity registry's."""
        values = [value for name, value in self.arguments.items() if name != IDENTITY]
        return sum(len(value) if isinstance(value, list) else 1 for value in values)

    @property
    def required_gas(self) -> int:
        """About what the transaction must offer, which is more than it takes: a 64th is kept from CREATE2 (EIP-150)."""
        return self.estimated_gas * 64 // 63


def make_plan(
    parameters: Mapping[str, ContractParameters], others: Mapping[str, str | list[str]] | None = None
) -> list[PlannedContract]:
    """Build the contracts and work out their addresses.

    Args:
        parameters: The parameters by contract.
        others: The other addresses that they refer to, by reference: canonical registries, and what the user gives.

    Returns:
        The contracts, each after those that it refers to.

    Raises:
        DeploymentError: If a contract is unknown, or its arguments are not those of its constructor.
    """
    known = sources()
    for name, entry in parameters.items():
        if name not in known:
            choice = ", ".join(deployable_contracts())
            raise DeploymentError(f"{name}: the project has no such contract. It has {choice}.")
        for reference in sorted(entry.references - parameters.keys()):
            raise DeploymentError(f"{name}: ${reference} is not among the contracts to deploy.")
    graph = {name: sorted(entry.references) for name, entry in parameters.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as failure:
        raise DeploymentError(f"These contracts refer to each other: {' → '.join(failure.args[1])}.") from failure

    builds = build_all(order)
    addresses: dict[str, str | list[str]] = dict(others or {})
    plan = []
    for name in order:
        arguments = parameters[name].resolve(addresses)
        expected = _expected_views(builds[name], arguments, parameters[name].expected)
        planned = PlannedContract(builds[name], bytes.fromhex(parameters[name].salt[2:]), arguments, expected)
        addresses[name] = planned.address
        plan.append(planned)
    return plan


def _expected_views(build: Build, arguments: Mapping[str, Any], addresses: Mapping[str, Any]) -> dict[str, Any]:
    """Return the views to compare after a deployment: the given ones, and the constructor's arguments."""
    views = {entry["name"] for entry in build.abi if entry["type"] == "function" and not entry["inputs"]}
    if unknown := sorted(addresses.keys() - views):
        raise DeploymentError(f"{build.name}: `expected` names {unknown}, but it has no such view without arguments.")
    known = {view: arguments[name] for name, view in _STORED.items() if name in arguments}
    return {name: value for name, value in (known | dict(addresses)).items() if name in views}


def require_locked(plan: Iterable[PlannedContract]) -> None:
    """Make sure that contracts are exactly those that the project means to put on live networks.

    Args:
        plan: The contracts.

    Raises:
        DeploymentError: If the creation code of one is not in `contracts/bytecode.lock`.
    """
    locked = LOCK.read_text().splitlines(keepends=True)
    for contract in plan:
        if contract.build.lock_line not in locked:
            raise DeploymentError(
                f"{contract.name}: its creation code is not in contracts/bytecode.lock, so it is not for live networks."
            )
