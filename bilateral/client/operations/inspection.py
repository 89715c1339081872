"""Inspection of a deployment's registries: their code and owners, and whether they share an identity registry."""

from dataclasses import dataclass
from typing import Any, Final

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.crypto import keccak

from bilateral.client.operations import registries
from bilateral.client.state import ClientState
from bilateral.core.contracts import REGISTRY_ATTRIBUTES, Deployment
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import BilateralError, NodeError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import ChainText
from bilateral.node import answers
from bilateral.node.steps import Batch, Operation, Rpc, together

_IMPLEMENTATION: Final = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
"""The storage slot of a proxy's implementation (EIP-1967)."""

_ADMIN: Final = "0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103"
"""The storage slot of a proxy's admin (EIP-1967)."""

_QUESTIONS: Final = tuple(
    "0x" + (keccak(text=signature)[:4] + argument).hex()
    for signature, argument in (
        ("owner()", b""),
        ("getVersion()", b""),
        ("getIdentityRegistry()", b""),
        ("getAgentWallet(uint256)", bytes(32)),
    )
)
"""Calls to view functions whose results identify a registry."""


@dataclass(frozen=True)
class RegistryReport:
    """The on-chain state of a registry.

    Attributes:
        registry: The name of the registry's attribute in `Deployment`, such as `identity`.
        origin: The authors of the registry's code, from the deployment record; None if the caller specified the
            address.
        has_code: True if there is a contract at the address.
        version: The result of the registry's `getVersion`; None if it lacks that function.
        identity_registry: The identity registry to which this registry belongs; None for an identity registry.
        implementation: The contract whose code a proxy runs (EIP-1967); None if the contract is not such a proxy.
        owner: The account that can change a proxy's code; None if the contract is not a proxy or does not expose its
            owner.
        problem: The first problem that was found; None if there is none.
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
        """True if the registry is a proxy, whose code can change."""
        return self.implementation is not None


@dataclass(frozen=True)
class DeploymentReport:
    """The on-chain state of a deployment's registries.

    Attributes:
        registries: A report on each registry in the deployment.
    """

    deployment: Deployment
    registries: tuple[RegistryReport, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems listed in the reports on all registries."""
        return tuple(registry.problem for registry in self.registries if registry.problem is not None)


def inspect(state: ClientState) -> Operation[DeploymentReport]:
    """See `Client.inspect_deployment`."""
    deployment = yield from registries.connect(state)
    present = [name for name in REGISTRY_ATTRIBUTES if getattr(deployment, name) is not None]
    reports = yield from together([_report(deployment, name) for name in present])
    return DeploymentReport(deployment, tuple(reports))


def _report(deployment: Deployment, name: str) -> Operation[RegistryReport]:
    address: str = getattr(deployment, name)
    code, implementation, admin, owner, version, identity, wallet = yield Batch(
        (
            Rpc("eth_getCode", (address, "latest")),
            Rpc("eth_getStorageAt", (address, _IMPLEMENTATION, "latest")),
            Rpc("eth_getStorageAt", (address, _ADMIN, "latest")),
            *(Rpc("eth_call", ({"to": address, "data": question}, "latest")) for question in _QUESTIONS),
        )
    )
    for answer in (code, implementation, admin):
        if isinstance(answer, Exception):
            raise answer
    implementation = _address(answers.data(implementation))  # None if the contract is not a proxy
    bound = None if name == "identity" else _address(_returned(identity))
    is_identity = len(_returned(wallet)) == 32  # noqa: PLR2004  # a word
    problem: str | None = f"there is no contract at {address}"
    if answers.data(code):
        problem = _problem(deployment, name, bound, is_identity=is_identity)
    return RegistryReport(
        registry=name,
        address=address,
        origin=deployment.origin_of(name),
        has_code=bool(answers.data(code)),
        version=_text(_returned(version)),
        identity_registry=bound,
        implementation=implementation,
        owner=(_address(answers.data(admin)) or _address(_returned(owner))) if implementation else None,
        problem=problem,
    )


def _problem(deployment: Deployment, name: str, bound: str | None, *, is_identity: bool) -> str | None:
    address = getattr(deployment, name)
    if name == "identity":
        return None if is_identity else f"another contract is at {address}: it has no getAgentWallet"
    if bound is None:
        return f"another contract is at {address}: it has no getIdentityRegistry"
    expected = (deployment.identity,) if name == "directory" else (deployment.identity, deployment.directory)
    if bound not in expected:
        return f"{address} belongs to the identity registry {bound}, not to {deployment.identity}"
    return None


def _returned(answer: Any) -> bytes:
    """Return the bytes that a view returned, or empty bytes if it reverted."""
    if isinstance(answer, NodeError) and answers.revert_of(answer) is not None:
        return b""
    if isinstance(answer, BilateralError):
        raise answer
    return answers.data(answer)


def _address(word: bytes) -> str | None:
    """Return the address in a 32-byte word, or None if it is zero or not an address."""
    if len(word) != 32 or not any(word) or any(word[:12]):  # noqa: PLR2004  # a word
        return None
    return checksummed("0x" + word[12:].hex())


def _text(returned: bytes) -> ChainText | None:
    try:
        return ChainText(decode(["bytes"], returned)[0]) if returned else None
    except (DecodingError, OverflowError):
        return None
