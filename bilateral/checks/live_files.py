"""An agent's registration file, loaded for one answer, and the agent's other registrations that the file lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.checks.facts import FileState, Observation, OtherRegistration, RegistrationFacts, Unknown
from bilateral.core.errors import BilateralError, DocumentError, MalformedDocumentError, OwnNetworkError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilateral.client import Client
    from bilateral.core.identifiers import GlobalAgentId
    from bilateral.documents import Loader


def load_registration(
    agent: GlobalAgentId, uri: str, loader: Loader, clients: Mapping[str, Client]
) -> RegistrationFacts | None:
    """Load an agent's registration file, or return None if the agent has no URI."""
    if not uri:
        return None
    try:
        document = loader.load(uri)
        file = document.registration()
    except MalformedDocumentError as error:
        return RegistrationFacts(Observation(0, uri, FileState.MALFORMED, problem=error.reason))
    except OwnNetworkError:
        return RegistrationFacts(Observation(0, uri, FileState.WAITING))
    except DocumentError as error:
        return RegistrationFacts(Observation(0, uri, FileState.FAILED, problem=error.reason))
    observation = Observation(0, uri, FileState.LOADED, document.hash, document.integrity)
    if file.registration_of(agent) is None:
        unread = Unknown("the file does not list the agent")
        names_agents = bool(file.registered_agents())
        return RegistrationFacts(observation, active=unread, x402_support=unread, names_agents=names_agents)
    return RegistrationFacts(
        file=observation,
        name=file.name,
        description=file.description,
        active=file.active,
        x402_support=file.x402_support,
        is_confirmed=True,
        names_agents=True,
        other_registrations=tuple(
            _proof(other, agent, clients) for other in file.registered_agents() if other != agent
        ),
    )


def _proof(other: GlobalAgentId, agent: GlobalAgentId, clients: Mapping[str, Client]) -> OtherRegistration:
    """Look up a claimed registration on its chain, and check whether that agent's file also lists this agent."""
    client, problem = clients.get(str(other.registry.chain)), ""
    try:
        if client is None:
            problem = f"no node was configured for {other.registry.chain}"
        elif client.get_deployment().agent_registry != other.registry:
            problem = "the client for that chain uses a different registry"
        elif (file := client.load_agent(other.agent_id).file) is None:
            problem = "its file cannot be loaded"
        elif file.registration_of(agent) is None:
            problem = "its file does not list this agent"
    except BilateralError as error:
        problem = f"it cannot be read ({type(error).__name__})"
    return OtherRegistration(str(other), "claimed" if problem else "both_ways", problem)
