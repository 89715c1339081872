"""Declarations of the extension for paid routes.

routes = {"GET /weather": RouteConfig(..., extensions=declare_8004_reputation(42, deployment))}
"""

from __future__ import annotations

from typing import Any

from bilateral.client import AgentLike
from bilateral.client.operations.registries import agent_of
from bilateral.core.contracts import Deployment
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId
from bilateral.x402.proof.profiles import PROFILE_8004, PROFILE_DRAFT, Profile
from bilateral.x402.proof.types import AgentRegistration, BlindTerms, ReputationInfo


def registration_of(agent_id: AgentLike, deployment: Deployment) -> AgentRegistration:
    """Return the registration of an agent in a deployment.

    Raises:
        MalformedIdentifierError: The agent is malformed, or of another chain or registry.
        InvalidArgumentError: The deployment has no reputation registry.
    """
    if deployment.reputation is None:
        raise InvalidArgumentError(f"the deployment on chain {deployment.chain_id} has no reputation registry")
    registry = deployment.agent_registry
    token = agent_of(deployment, agent_id).token_id
    reputation = AccountId(ChainId.evm(deployment.chain_id), deployment.reputation)
    return AgentRegistration(GlobalAgentId(registry, str(token)), reputation)


def declare_8004_reputation(
    agent_id: AgentLike,
    deployment: Deployment,
    *others: AgentRegistration,
    endpoint: str | None = None,
    feedback_aggregator: str | None = None,
    blind: BlindTerms | None = None,
) -> dict[str, Any]:
    """Declare the extension for a route: the value of `RouteConfig.extensions`, or a part of it.

    Args:
        agent_id: The server's agent.
        deployment: Its registries.
        *others: Its registrations on further chains, one a chain.
        endpoint: The URL of the service.
        feedback_aggregator: The URL of a service that sends signed feedback and pays the gas.
        blind: The terms on which answers carry an envelope for blind ratings, see `BlindSealer`; None for none.

    Returns:
        The declaration under the extension's key.

    Raises:
        MalformedIdentifierError: The agent is malformed, or of another chain or registry.
        InvalidArgumentError: The deployment has no reputation registry, or two registrations are on one chain.
        InvalidMessageError: A URL is malformed.
    """
    registrations = (registration_of(agent_id, deployment), *others)
    options: dict[str, Any] = {"endpoint": endpoint, "feedback_aggregator": feedback_aggregator, "blind": blind}
    return PROFILE_8004.declaration(_info(registrations, **options))


def declare_reputation_draft(agent_id: AgentLike, deployment: Deployment, *others: AgentRegistration) -> dict[str, Any]:
    """Declare the upstream draft `reputation` for a route, instead of `8004-reputation` or beside it.

    routes = {"GET /weather": RouteConfig(…, extensions={**declare_8004_reputation(…), **declare_reputation_draft(…)})}

    Args:
        agent_id: The server's agent.
        deployment: Its registries.
        *others: Its registrations on further chains, one a chain.

    Returns:
        The declaration under the draft's key.

    Raises:
        MalformedIdentifierError: The agent is malformed, or of another chain or registry.
        InvalidArgumentError: The deployment has no reputation registry, or two registrations are on one chain.
    """
    return PROFILE_DRAFT.declaration(_info((registration_of(agent_id, deployment), *others)))


def declaration_of(
    *registrations: AgentRegistration, profile: Profile = PROFILE_8004, endpoint: str | None = None
) -> dict[str, Any]:
    """Declare the extension for a route of an agent with these registrations, whatever their chains."""
    return profile.declaration(_info(registrations, endpoint=endpoint))


def _info(registrations: tuple[AgentRegistration, ...], **options: Any) -> ReputationInfo:
    """Return a declaration."""
    if len({registration.chain for registration in registrations}) < len(registrations):
        raise InvalidArgumentError("two registrations are on one chain: declare one a chain")
    return ReputationInfo(registrations, **options)
