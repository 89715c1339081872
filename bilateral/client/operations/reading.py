"""Reading feedback: individual entries, all of an agent's entries, responses and averages."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from bilateral.client.operations import documents, feedback, registries
from bilateral.client.results import FeedbackEntry, FeedbackResponse, ReputationSummary
from bilateral.client.state import AgentLike, ClientState, distinct
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError, UnexpectedAnswerError
from bilateral.core.events import NewFeedback, ResponseAppended
from bilateral.core.identifiers import AgentId, FeedbackId, checksummed
from bilateral.core.text import ChainText, quoted
from bilateral.core.values import FeedbackValue, HumanValue
from bilateral.core.values.summaries import Summary
from bilateral.core.values.summaries import summarize as summarize_values
from bilateral.documents import FeedbackFile
from bilateral.documents.feedback import Capability
from bilateral.node.steps import Operation, together

READ: Final = "readFeedback"
_PAGE: Final = 1000
"""How many entries to read in one batch."""

READ_ALL: Final = "readAllFeedback"


def get(
    state: ClientState,
    agent_id: AgentLike | FeedbackId,
    client_address: str | None,
    feedback_index: int | None,
    *,
    load_file: bool,
) -> Operation[FeedbackEntry]:
    """See `Client.get_feedback`."""
    reference = feedback.reference((yield from registries.connect(state)), agent_id, client_address, feedback_index)
    entry = yield from _read_one(state, reference)
    topics = [registries.topic(reference.agent.token_id), registries.topic(reference.client)]
    # The index is the first word of the event's data. Indexes start at 1, so only a nonstandard registry logs 0.
    indexes = (reference.on_chain_index.to_bytes(32), bytes(32))
    events = yield from registries.events(
        state, Registry.REPUTATION, NewFeedback, topics, lambda raw: raw.data[:32] in indexes
    )
    entry = with_event(entry, events)
    if entry.event is not None:
        time = yield from registries.block_time(entry.event.block)
        entry = replace(entry, event=replace(entry.event, given_at=time))
    if not load_file:
        return entry
    (complete,) = yield from with_files(state, [entry])
    return complete


@dataclass(frozen=True)
class Selection:
    """The feedback to read: its tags (empty for any), whether to include revoked entries, and as of which block.

    If no clients are specified and the feedback must be read in parts, the list of clients is as of the latest block.
    """

    tag1: str = ""
    tag2: str = ""
    include_revoked: bool = False
    block: str = "latest"

    def has(self, entry: FeedbackEntry) -> bool:
        """Check whether the selection includes a feedback entry."""
        tags = ((self.tag1, entry.tag1), (self.tag2, entry.tag2))
        is_tagged = all(not required or required.encode() == tag.raw for required, tag in tags)
        return is_tagged and (self.include_revoked or not entry.is_revoked)


def read_all(
    state: ClientState, agent_id: AgentLike, reviewers: Sequence[str] | None, selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """See `Client.read_all_feedback`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    if reviewers is not None:
        clients = distinct([checksummed(reviewer) for reviewer in reviewers])
        return (yield from _read_from(state, agent, clients, selection)) if clients else []
    try:
        return (yield from _read_at_once(state, agent, (), selection))
    except registries.TOO_LARGE as error:
        registries.raise_if_explained(error)
    everybody = yield from clients_of(state, agent)
    return (yield from _read_from(state, agent, everybody, selection)) if everybody else []


def clients_of(state: ClientState, agent_id: AgentLike) -> Operation[list[str]]:
    """See `Client.get_clients`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    try:
        (clients,) = yield from registries.call(state, Registry.REPUTATION, "getClients", agent.token_id)
    except registries.TOO_LARGE as error:
        registries.raise_if_explained(error)
        of_agent = [registries.topic(agent.token_id)]
        events = yield from registries.events(state, Registry.REPUTATION, NewFeedback, of_agent)
        clients = distinct([event.client_address for event in events])
    return list(clients)


def summarize(  # noqa: PLR0913  # the method's own parameters
    state: ClientState, agent_id: AgentLike, tag1: str, tag2: str, reviewers: Sequence[str] | None, *, read_tags: bool
) -> Operation[ReputationSummary]:
    """See `Client.get_reputation_summary`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    if reviewers is None:
        clients = tuple((yield from clients_of(state, agent)))
    else:
        clients = distinct([checksummed(reviewer) for reviewer in reviewers])
    summary = Summary(0, 0, 0)
    is_computed_here = False
    tags: Counter[ChainText] = Counter()
    is_mixed = read_tags and not tag1
    if clients:
        selection = Selection(tag1, tag2)
        try:
            arguments = (agent.token_id, clients, tag1, tag2)
            summary = Summary(*(yield from registries.call(state, Registry.REPUTATION, "getSummary", *arguments)))
            entries = (yield from _read_from(state, agent, clients, selection)) if is_mixed else []
        except registries.TOO_LARGE as error:
            registries.raise_if_explained(error)
            entries = yield from _read_from(state, agent, clients, selection)
            summary = summarize_values([entry.stored for entry in entries])
            is_computed_here = True
        tags.update(entry.tag1 for entry in entries)
    return ReputationSummary(
        agent,
        summary.count,
        summary.value,
        summary.decimals,
        tag1,
        tag2,
        clients,
        is_everybody=reviewers is None,
        first_tags=tuple(tag for tag, _ in tags.most_common()) if is_mixed else None,
        is_computed_here=is_computed_here,
    )


def responses(
    state: ClientState, agent_id: AgentLike | FeedbackId, client_address: str | None, feedback_index: int | None
) -> Operation[list[FeedbackResponse]]:
    """See `Client.get_responses`."""
    reference = feedback.reference((yield from registries.connect(state)), agent_id, client_address, feedback_index)
    topics = [registries.topic(reference.agent.token_id), registries.topic(reference.client)]
    appended = yield from registries.events(state, Registry.REPUTATION, ResponseAppended, topics)
    responses = [feedback.read_response(reference.agent, event) for event in appended]
    return [response for response in responses if response.feedback == reference]


def with_event(entry: FeedbackEntry, events: Sequence[NewFeedback]) -> FeedbackEntry:
    """Return the entry, with the fields that only its event contains if `events` includes that event."""
    entries = (feedback.read_feedback(entry.id.agent.chain_id, event) for event in events)
    return next((replace(entry, event=new.event) for new in entries if new.id == entry.id), entry)


def with_files(
    state: ClientState, entries: Sequence[FeedbackEntry], seconds: float = math.inf
) -> Operation[list[FeedbackEntry]]:
    """Return the entries with their files or loading errors. After `seconds`, no further file is loaded."""
    links = {entry.id: (entry.event.uri, entry.event.hash) for entry in entries if entry.event and entry.event.uri}
    loaded = yield from documents.load_all(state, FeedbackFile, list(links.values()), seconds)
    results = dict(zip(links, loaded, strict=True))
    complete = []
    for entry in entries:
        file, problem = results.get(entry.id, (None, None))
        complete.append(replace(entry, file=file, file_problem=problem))
    return complete


def _read_one(state: ClientState, reference: FeedbackId, block: str = "latest") -> Operation[FeedbackEntry]:
    arguments = (reference.agent.token_id, reference.client, reference.on_chain_index)
    answer = yield from registries.call(state, Registry.REPUTATION, READ, *arguments, block=block)
    value, decimals, tag1, tag2, is_revoked = answer
    with registries.blame_registry(Registry.REPUTATION):
        return FeedbackEntry(reference, FeedbackValue(value, decimals), tag1, tag2, is_revoked)


def _read_at_once(
    state: ClientState, agent: AgentId, clients: Sequence[str], selection: Selection
) -> Operation[list[FeedbackEntry]]:
    arguments = (agent.token_id, list(clients), selection.tag1, selection.tag2, selection.include_revoked)
    columns = yield from registries.call(state, Registry.REPUTATION, READ_ALL, *arguments, block=selection.block)
    if len({len(column) for column in columns}) != 1:
        raise UnexpectedAnswerError("the reputation registry returned lists of unequal length for readAllFeedback")
    with registries.blame_registry(Registry.REPUTATION):
        return [
            FeedbackEntry(FeedbackId(agent, client, index), FeedbackValue(value, decimals), tag1, tag2, is_revoked)
            for client, index, value, decimals, tag1, tag2, is_revoked in zip(*columns, strict=True)
        ]


def _read_from(
    state: ClientState, agent: AgentId, clients: Sequence[str], selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """Read these clients' feedback. Calls that are too large are split in half repeatedly, down to single entries."""
    try:
        return (yield from _read_at_once(state, agent, clients, selection))
    except registries.TOO_LARGE as error:
        registries.raise_if_explained(error)
    if len(clients) == 1:
        return (yield from _read_one_by_one(state, agent, clients[0], selection))
    middle = len(clients) // 2
    first = yield from _read_from(state, agent, clients[:middle], selection)
    second = yield from _read_from(state, agent, clients[middle:], selection)
    return first + second


def _read_one_by_one(
    state: ClientState, agent: AgentId, client: str, selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """Read one client's feedback with one call per entry. Calls are sent in batches."""
    (last,) = yield from registries.call(
        state, Registry.REPUTATION, "getLastIndex", agent.token_id, client, block=selection.block
    )
    entries: list[FeedbackEntry] = []
    for first in range(1, last + 1, _PAGE):
        indexes = range(first, min(first + _PAGE, last + 1))
        reads = [_read_one(state, FeedbackId(agent, client, index), selection.block) for index in indexes]
        entries += [entry for entry in (yield from together(reads)) if selection.has(entry)]
    return entries


@dataclass(frozen=True)
class Query:
    """The conditions of a search. See `Client.search_feedback`."""

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
        """True if the search needs data that only the feedback files contain."""
        return bool(self.capabilities or self.skills or self.tasks or self.names)

    def matches_state(self, entry: FeedbackEntry) -> bool:
        """Check whether a feedback entry matches the query, using only the data that the registry stores."""
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
        """Check whether a feedback entry's file matches the query."""
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
        raise InvalidArgumentError("pass an agent or a reviewer: searching without either requires an index")
    if unknown := query.capabilities - set(get_args(Capability)):
        raise InvalidArgumentError(f"{quoted(min(unknown))} is not a capability: use {', '.join(get_args(Capability))}")
    about = dict.fromkeys(registries.agent_of(deployment, agent) for agent in agents)
    clients = None if reviewers is None else distinct([checksummed(reviewer) for reviewer in reviewers])
    needs_files = query.load_files or query.asks_files
    feedback_events: list[NewFeedback] = []
    if needs_files or not about:
        feedback_events = yield from _feedback_events(state, list(about), clients)
    if not about:
        about = dict.fromkeys(AgentId(event.agent_id, deployment.chain_id) for event in feedback_events)
    selection = Selection(include_revoked=query.include_revoked)
    entries = yield from together([read_all(state, agent, clients, selection) for agent in about])
    matches = [entry for of_agent in entries for entry in of_agent if query.matches_state(entry)]
    if not needs_files:
        return matches
    from_events = [feedback.read_feedback(deployment.chain_id, event) for event in feedback_events]
    events = {entry.id: entry.event for entry in from_events}
    with_events = [replace(entry, event=events.get(entry.id)) for entry in matches]
    complete = yield from with_files(state, with_events, query.load_seconds)
    return [entry for entry in complete if query.matches_file(entry.file)]


def _feedback_events(
    state: ClientState, agents: Sequence[AgentId], clients: Sequence[str] | None
) -> Operation[list[NewFeedback]]:
    """Return the events of all feedback for the agents (all if empty) from the clients (all if None)."""
    about = [registries.topic(agent.token_id) for agent in agents] or None
    by = None if clients is None else [registries.topic(client) for client in clients]
    return (yield from registries.events(state, Registry.REPUTATION, NewFeedback, [about, by]))
