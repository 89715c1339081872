"""Searching feedback with a node alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from bilateral.client.core import chain, feedback, reading
from bilateral.client.inputs import distinct
from bilateral.contracts import Registry
from bilateral.documents.feedback import Capability
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import AgentId, checksummed
from bilateral.text import quoted
from bilateral.values import FeedbackValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.inputs import AgentLike
    from bilateral.client.results import FeedbackEntry
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation
    from bilateral.documents import FeedbackFile
    from bilateral.values import HumanValue


@dataclass(frozen=True)
class Query:
    """What feedback must be like to be found, see `Client.search_feedback`."""

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
        """Whether only files can answer it."""
        return bool(self.capabilities or self.skills or self.tasks or self.names)

    def matches_state(self, entry: FeedbackEntry) -> bool:
        """Whether what the registry stores of a feedback answers it."""
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
        """Whether a file answers what only files can."""
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
    session: Session, agents: Sequence[AgentLike], reviewers: Sequence[str] | None, query: Query
) -> Operation[list[FeedbackEntry]]:
    """See `Client.search_feedback`."""
    deployment = yield from chain.connect(session)
    if not agents and not reviewers:
        raise InvalidArgumentError("name an agent or a reviewer: a search for everything needs an index")
    if unknown := query.capabilities - set(get_args(Capability)):
        raise InvalidArgumentError(f"capabilities are {', '.join(get_args(Capability))}, not {quoted(min(unknown))}")
    named = tuple(dict.fromkeys(chain.agent_of(deployment, agent) for agent in agents))
    clients = None if reviewers is None else distinct([checksummed(it) for it in reviewers])
    with_files = query.load_files or query.asks_files
    logs: list[Log] = []
    if with_files or not named:
        logs = yield from _given(session, named, clients)
    if not named:
        named = tuple(dict.fromkeys(AgentId(log.fields["agentId"], deployment.chain_id) for log in logs))
    found: list[FeedbackEntry] = []
    for agent in named:
        entries = yield from reading.read_all(
            session, agent, clients, reading.Selection(include_revoked=query.include_revoked)
        )
        found += [entry for entry in entries if query.matches_state(entry)]
    if not with_files:
        return found
    events = {given.id: given.event for given in (feedback.read_given(deployment.chain_id, log) for log in logs)}
    with_events = [replace(entry, event=events.get(entry.id)) for entry in found]
    complete = yield from reading.with_files(session, with_events, query.load_seconds)
    return [entry for entry in complete if query.matches_file(entry.file)]


def _given(session: Session, agents: Sequence[AgentId], clients: Sequence[str] | None) -> Operation[list[Log]]:
    """The events of all feedback about agents, or about all if none is named, of clients, or of all if None."""
    about = [chain.topic(agent.token_id) for agent in agents] or None
    by = None if clients is None else [chain.topic(client) for client in clients]
    return (yield from chain.logs(session, Registry.REPUTATION, "NewFeedback", [about, by]))
