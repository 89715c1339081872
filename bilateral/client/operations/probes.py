"""Checks that an address holds the registry that it should, and that the registries of a deployment belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bilateral.core.contracts import Registry, attribute_of
from bilateral.core.contracts.codec import decode_result, encode_call
from bilateral.core.errors import NodeError, UnexpectedAnswerError, WrongIdentityRegistryError
from bilateral.node import answers
from bilateral.node.steps import Batch, Rpc

if TYPE_CHECKING:
    from bilateral.core.contracts import Deployment
    from bilateral.node.steps import Operation

_BOUND: Final = "getIdentityRegistry"
_WALLET: Final = "getAgentWallet"


def require_one_identity_registry(deployment: Deployment) -> Operation[None]:
    """Check that a companion, and the registries on top of it, belong to the deployment's identity registry.

    Raises:
        UnexpectedAnswerError: There is no contract, or one that does not answer like a registry.
        WrongIdentityRegistryError: One belongs to another identity registry.
    """
    several = (Registry.COMPANION, Registry.BIDIRECTIONAL, Registry.AUTHORIZED, Registry.BUYERS)
    present = [registry for registry in several if getattr(deployment, attribute_of(registry)) is not None]
    results = yield Batch(tuple(Rpc("eth_call", (question(deployment, registry), "latest")) for registry in present))
    for registry, answer in zip(present, results, strict=True):
        require_answer(deployment, registry, answer)


def question(deployment: Deployment, registry: Registry) -> dict[str, str]:
    """Return the call of a view that distinguishes a registry from other contracts."""
    data = encode_call(registry, *((_WALLET, (0,)) if registry is Registry.IDENTITY else (_BOUND, ())))
    return {"to": deployment.address_of(registry), "data": "0x" + data.hex()}


def require_answer(deployment: Deployment, registry: Registry, answer: Any) -> None:
    """Check the answer to a registry's probe.

    Raises:
        UnexpectedAnswerError: Another contract is there, or none.
        WrongIdentityRegistryError: The registry belongs to another identity registry.
    """
    address = deployment.address_of(registry)
    view = _WALLET if registry is Registry.IDENTITY else _BOUND
    refused = f"another contract is at {address}, where {registry} should be: it has no {view}"
    if isinstance(answer, Exception):
        if not isinstance(answer, NodeError) or answers.revert_of(answer) is None:
            raise answer
        raise UnexpectedAnswerError(refused)
    try:
        (identity,) = decode_result(registry, view, answers.data(answer))
    except UnexpectedAnswerError:
        raise UnexpectedAnswerError(refused) from None
    is_below = registry in (Registry.IDENTITY, Registry.COMPANION)
    expected = (deployment.identity,) if is_below else (deployment.identity, deployment.directory)
    if registry is not Registry.IDENTITY and identity not in expected:
        raise WrongIdentityRegistryError(attribute_of(registry), address, deployment.identity, identity)
