"""Edits of registration files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bilateral.client.operations import agents, documents, registries
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.core.identifiers import GlobalAgentId
from bilateral.documents import RegistrationFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bilateral.client.inputs import AgentLike
    from bilateral.client.operations.transactions import Sent
    from bilateral.client.results import AgentUriSet
    from bilateral.client.state import ClientState
    from bilateral.node.steps import Operation


@dataclass(frozen=True)
class RegistrationChanges:
    """Changes of a registration file.

    Attributes:
        fields: The new values by field name in JSON.
        add_services: Services to add, as JSON objects. They replace the services of the same names.
        remove_services: The names of services to remove.
    """

    fields: Mapping[str, Any]
    add_services: Sequence[Mapping[str, Any]] = ()
    remove_services: Sequence[str] = ()

    def apply_to(self, file: RegistrationFile) -> RegistrationFile:
        """Return the changed file. All other fields, also unknown ones, stay as they are.

        Args:
            file: The present file.

        Raises:
            InvalidArgumentError: Nothing would change, or the file has no service of a name to remove.
            MalformedDocumentError: A new value has the wrong type, or the file would lack a field that ERC-8004
                requires and that the present file has.
        """
        before = file.to_object()
        after = before | dict(self.fields)
        if self.add_services or self.remove_services:
            if taken := {"services", "endpoints"} & set(self.fields):
                raise InvalidArgumentError(f"give {taken.pop()} whole, or services to add and remove: not both")
            key = "services" if "services" in before or "endpoints" not in before else "endpoints"
            services = before.get(key) or []
            if not isinstance(services, list) or not all(isinstance(service, dict) for service in services):
                raise MalformedDocumentError(f"{key} of the present file is not a list of objects: give {key} whole")
            after = after | {key: self._changed_services(services)}
        if after == before:
            raise InvalidArgumentError("the changes leave the registration file as it is: give a new value")
        changed = RegistrationFile.written(after)
        if problems := [problem for problem in changed.problems() if problem not in file.problems()]:
            raise MalformedDocumentError("; ".join(problems))
        return changed

    def _changed_services(self, services: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the services after the changes, new ones last."""
        names = {service.get("name") for service in services}
        if unknown := [name for name in self.remove_services if name not in names]:
            raise InvalidArgumentError(f"the registration file has no service {unknown[0]!r} to remove")
        added = [dict(service) for service in self.add_services]
        replaced = {*self.remove_services, *(service.get("name") for service in added)}
        return [*(service for service in services if service.get("name") not in replaced), *added]


def changed_file(state: ClientState, agent_id: AgentLike, changes: RegistrationChanges) -> Operation[RegistrationFile]:
    """Load an agent's registration file, and return it changed.

    Args:
        state: The client.

    Raises:
        DocumentError: As of `Client.edit_registration`, like the next two.
        InvalidArgumentError: See there.
        MalformedDocumentError: See there.
    """
    deployment = yield from registries.connect(state)
    agent = registries.agent_of(deployment, agent_id)
    (uri,) = yield from registries.call(state, Registry.IDENTITY, "tokenURI", agent.token_id)
    if not uri:
        raise InvalidArgumentError(f"agent {agent} has no registration file: set one with set_agent_uri(file=…)")
    file, problem = yield from documents.load(state, RegistrationFile, uri)
    if problem is not None:
        raise problem
    changed = changes.apply_to(file)  # type: ignore[arg-type]  # it is loaded
    return agents.naming(changed, GlobalAgentId(deployment.agent_registry, str(agent.token_id)))


def edit(state: ClientState, agent_id: AgentLike, changes: RegistrationChanges) -> Operation[Sent[AgentUriSet]]:
    """See `Client.edit_registration`."""
    file = yield from changed_file(state, agent_id, changes)
    return (yield from agents.set_uri(state, agent_id, None, file))
