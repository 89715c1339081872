"""Searching feedback with a node alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from bilateral.client.inputs import distinct
from bilateral.client.operations import feedback, reading, registries
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import NewFeedback
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.text import quoted
from bilateral.core.values import FeedbackValue
from bilateral.documents.feedback import Capability
from bilateral.node.steps import together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.inputs import AgentLike
    from bilateral.client.results import FeedbackEntry
    from bilateral.client.state import ClientState
    from bilateral.core.values import HumanValue
    from bilateral.documents import FeedbackFile
    from bilateral.node.steps import Operation


@dataclass(frozen=True)
class Query:
    """The conditions of a search, see `Client.search_feedback`."""

    tags: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    skills: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    min_value: HumanValue | None = None
    max_value: HumanValue | None = None
    include_revoked: bool = False
    load_files: bool = False
    load_seconds: float = math.inf

    @property
    def asks_files(self) -> bool:
        """True if only files can answer it."""
        return bool(self.capabilities or self.skills or self.tasks or self.names)

    def matches_state(self, entry: FeedbackEntry) -> bool:
        """Check a feedback by what the registry stores of it."""
        least, greatest = (
            None if bound is None else FeedbackValue.of(bound).human for bound in (self.min_value, self.max_value)
        )
        return (
            all(tag.encode() in (entry.tag1.raw, entry.tag2.raw) for tag in self.tags)
            and (least is None or entry.value >= least)
            and (greatest is None or entry.value <= greatest)
            and (self.include_revoked or not entry.is_revoked)
        )

    def matches_file(self, file: FeedbackFile | None) -> bool:
        """Check a feedback by its file."""
        if not self.asks_files:
            return True
        if file is None:
            return False
        mcp = {kind: used for kind in _KINDS if file.mcp and (used := getattr(file.mcp, kind)) is not None}
        skills = {*((file.a2a and file.a2a.skills) or ()), *((file.oasf and file.oasf.skills) or ())}
        tasks = {file.a2a.task_id} if file.a2a else set()
        return (
            (not self.capabilities or bool(self.capabilities & {f"{kind}s" for kind in mcp}))
            and (not self.names or bool(self.names & set(mcp.values())))
            and (not self.skills or bool(self.skills & skills))
            and (not self.tasks or bool(self.tasks & tasks))
        )


_KINDS = ("tool", "prompt", "resource")


def search(
    state: ClientState, agents: Sequence[AgentLike], reviewers: Sequence[str] | None, query: Query
) -> Operation[list[FeedbackEntry]]:
    """See `Client.search_feedback`."""
    deployment = yield from registries.connect(state)
    if not agents and not reviewers:
        raise InvalidArgumentError("name an agent or a reviewer: a search for everything needs an index")
    if unknown := query.capabilities - set(get_args(Capability)):
        raise InvalidArgumentError(f"capabilities are {', '.join(get_args(Capability))}, not {quoted(min(unknown))}")
    named = tuple(dict.fromkeys(registries.agent_of(deployment, agent) for agent in agents))
    clients = None if reviewers is None else distinct([checksummed(reviewer) for reviewer in reviewers])
    with_files = query.load_files or query.asks_files
    given_events: list[NewFeedback] = []
    if with_files or not named:
        given_events = yield from _given(state, named, clients)
    if not named:
        named = tuple(dict.fromkeys(AgentId(event.agent_id, deployment.chain_id) for event in given_events))
    matches: list[FeedbackEntry] = []
    selection = reading.Selection(include_revoked=query.include_revoked)
    entries = yield from together([reading.read_all(state, agent, clients, selection) for agent in named])
    for of_agent in entries:
        matches += [entry for entry in of_agent if query.matches_state(entry)]
    if not with_files:
        return matches
    events = {
        entry.id: entry.event for entry in (feedback.read_given(deployment.chain_id, event) for event in given_events)
    }
    with_events = [replace(entry, event=events.get(entry.id)) for entry in matches]
    complete = yield from reading.with_files(state, with_events, query.load_seconds)
    return [entry for entry in complete if query.matches_file(entry.file)]


def _given(
    state: ClientState, agents: Sequence[AgentId], clients: Sequence[str] | None
) -> Operation[list[NewFeedback]]:
    """Return the events of all feedback about agents, or about all if none is named, of clients, or of all if None."""
    about = [registries.topic(agent.token_id) for agent in agents] or None
    by = None if clients is None else [registries.topic(client) for client in clients]
    return (yield from registries.events(state, Registry.REPUTATION, NewFeedback, [about, by]))
