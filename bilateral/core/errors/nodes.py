"""Errors from nodes, and errors related to deployments of the registries."""

from dataclasses import InitVar
from typing import Final

from bilateral.core.errors.base import BilateralError, FormattedError
from bilateral.core.text import quoted


class NodeError(BilateralError):
    """A node returned a JSON-RPC error, or rejected a read that may be too large (HTTP status 400, 413 or 422).

    Attributes:
        code: The error's JSON-RPC code; None if there is none.
        node_message: The node's message, which is untrusted; the HTTP status if there is no message.
        data: The error's data.
        wait_seconds: The number of seconds that the node tells clients to wait before the next request; None if it
            specifies none.
    """

    reason = "node_error"

    def __init__(
        self,
        method: str,
        code: int | None,
        node_message: str,
        data: object = None,
        *,
        wait_seconds: float | None = None,
    ) -> None:
        super().__init__(f"the node rejected {method}: {quoted(node_message, 300)}")
        self.code = code
        self.node_message = node_message
        self.data = data
        self.wait_seconds = wait_seconds


class NodeUnreachableError(FormattedError, ConnectionError):
    """A node cannot be reached, or returned an HTTP error that `NodeError` does not cover.

    Attributes:
        is_final: True if retrying does not help, because the node's URL redirects.
    """

    reason = "node_unreachable"
    template = "{message}"
    message: InitVar[str]
    is_final: bool = False


class NodeTimeoutError(BilateralError, TimeoutError):
    """A node did not respond in time."""

    reason = "node_timeout"


class MalformedNodeAnswerError(BilateralError):
    """A node's response is not valid JSON-RPC, or its result does not have the structure that the method requires."""

    reason = "malformed_node_answer"


NODE_FAILURES: Final = (NodeError, NodeUnreachableError, NodeTimeoutError, MalformedNodeAnswerError)
"""The errors raised if a node does not respond to a request, or returns an invalid response."""


class DeploymentRecordError(BilateralError, ValueError):
    """A deployment record is invalid or lacks the identity registry."""

    reason = "deployment_record"


class UnknownDeploymentError(BilateralError):
    """The package has no deployment for the chain.

    Attributes:
        origin: The origin that the caller requested: `canonical` or `bilateral`; None if the caller requested neither.
    """

    reason = "unknown_deployment"

    def __init__(self, chain_id: int, origin: str | None = None) -> None:
        kind = f"{origin} deployment" if origin else "deployment"
        super().__init__(
            f"there is no packaged {kind} for chain {chain_id}: "
            f"create the client with deployment=Deployment({chain_id}, identity=…, reputation=…, …)"
        )
        self.chain_id = chain_id
        self.origin = origin


class MissingRegistryError(BilateralError):
    """The deployment in use lacks a registry. The message states which contract to deploy.

    Attributes:
        registry: The name of the registry's attribute in `Deployment`.
        contract: This project's contract to deploy as this registry.
    """

    reason = "missing_registry"

    def __init__(self, registry: str, chain_id: int) -> None:
        contract = _CONTRACTS[registry]
        super().__init__(
            f"the deployment on chain {chain_id} has no {registry} registry: pass the address of one as {registry}=…, "
            f"or deploy {contract} (docs/deployed-registries.md)"
        )
        self.registry = registry
        self.chain_id = chain_id
        self.contract = contract


_CONTRACTS: Final = {
    "identity": "IdentityRegistry",
    "reputation": "BidirectionalReputationRegistry",
    "ratings": "BidirectionalReputationRegistry",
    "authorized": "AuthorizedReputationRegistry",
    "validation": "ValidationRegistry",
    "directory": "CompanionDirectory",
    "buyers": "BuyerReputationRegistry",
    "tier_proofs": "BuyerTierProofs",
}
"""This project's contract for each attribute of `Deployment`."""


class MissingFunctionError(BilateralError):
    """A registry in the deployment lacks a function. Canonical registries lack some of this project's functions.

    Attributes:
        registry: The name of the registry's attribute in `Deployment`.
        function: The function's name in Solidity.
    """

    reason = "missing_function"

    def __init__(self, registry: str, function: str, chain_id: int) -> None:
        super().__init__(
            f"the {registry} registry on chain {chain_id} has no function {function}: {_INSTEAD.get(function, _OTHER)}"
        )
        self.registry = registry
        self.function = function
        self.chain_id = chain_id


_OTHER: Final = "use one of this project's registries (docs/deployed-registries.md)"
_DOMAINS: Final = "domains require this project's IdentityRegistry"
_SIGNED: Final = "signed feedback requires this project's BidirectionalReputationRegistry, passed as reputation=…"
_PRIMARY: Final = "deploy CompanionDirectory for this identity registry, and pass it as directory=…"
_INSTEAD: Final = {
    "newAgent": f"register with register_agent; {_DOMAINS}",
    "updateAgent": f"transfer the agent with transfer_agent; {_DOMAINS}",
    "releaseAgentDomain": _DOMAINS,
    "resolveByDomain": _DOMAINS,
    "resolveByAddress": _PRIMARY,
    "setPrimaryAgent": _PRIMARY,
    "agentOf": _PRIMARY,
    "giveFeedbackBySig": _SIGNED,
    "voidSignaturesThrough": _SIGNED,
    "getVoidedDeadline": _SIGNED,
}
"""The advice to show for each function that canonical registries lack."""


class WrongIdentityRegistryError(FormattedError):
    """A registry in the deployment is linked to the wrong identity registry.

    Attributes:
        registry: The name of the registry's attribute in `Deployment`.
        expected: The identity registry to which it should be linked.
        found: The identity registry to which it is linked.
    """

    reason = "wrong_identity_registry"
    template = (
        "the {registry} registry {address} belongs to the identity registry {found}, not to {expected}: use a "
        "registry from the same deployment"
    )
    registry: str
    address: str
    expected: str
    found: str


class UnknownChainError(BilateralError):
    """No node for the chain was passed to `Clients`.

    Attributes:
        chain_ids: The chains for which nodes were passed.
    """

    reason = "unknown_chain"

    def __init__(self, chain_id: int, chain_ids: tuple[int, ...]) -> None:
        configured = ", ".join(map(str, chain_ids)) or "no chain"
        super().__init__(f"no node is configured for chain {chain_id}, only for {configured}")
        self.chain_id = chain_id
        self.chain_ids = chain_ids


class WrongChainError(BilateralError):
    """The node's chain differs from the deployment's chain, or from the chain to which the client is pinned.

    Attributes:
        expected: The deployment's chain, or the chain to which the client is pinned.
        actual: The node's chain.
    """

    reason = "wrong_chain"

    def __init__(self, expected: int, actual: int, *, is_pinned: bool = False) -> None:
        super().__init__(
            f"the node serves chain {actual}, but the client is pinned to chain {expected}: use a node of that chain"
            if is_pinned
            else f"the node serves chain {actual}, but the deployment is on chain {expected}: use a node of chain "
            f"{expected}, or a deployment on chain {actual}"
        )
        self.expected = expected
        self.actual = actual
