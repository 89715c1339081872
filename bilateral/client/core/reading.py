"""Reading feedback: one, all of an agent's, its answers, its average."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bilateral.client.core import chain, documents, feedback
from bilateral.client.inputs import distinct
from bilateral.client.results import FeedbackEntry, ReputationSummary
from bilateral.contracts import Registry
from bilateral.documents import FeedbackFile
from bilateral.errors import UnexpectedAnswerError
from bilateral.identifiers import FeedbackId, checksummed
from bilateral.reverts import ContractRevertError
from bilateral.summaries import Summary
from bilateral.summaries import summarize as summarize_values
from bilateral.values import FeedbackValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.inputs import AgentLike
    from bilateral.client.results import FeedbackResponse
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation
    from bilateral.identifiers import AgentId

READ: Final = "readFeedback(uint256,address,uint64)"
_NO_ROOM: Final = "SummaryTooLarge"
"""How the registry refuses an average of more than 128 bits, which anybody can bring about with one huge value."""

READ_ALL: Final = "readAllFeedback(uint256,address[],string,string,bool)"


def get(
    session: Session,
    agent_id: AgentLike | FeedbackId,
    client_address: str | None,
    feedback_index: int | None,
    *,
    load_file: bool,
) -> Operation[FeedbackEntry]:
    """See `Client.get_feedback`."""
    deployment = yield from chain.connect(session)
    wanted = feedback.named(deployment, agent_id, client_address, feedback_index)
    entry = yield from _read_one(session, wanted)
    topics = [chain.topic(wanted.agent.token_id), chain.topic(wanted.client)]
    logs = yield from chain.logs(
        session,
        Registry.REPUTATION,
        "NewFeedback",
        topics,
        lambda log: bool(log.fields["feedbackIndex"] == wanted.on_chain_index),
    )
    entry = with_event(entry, logs)
    if entry.event is not None:
        moment = yield from chain.block_time(entry.event.block)
        entry = replace(entry, event=replace(entry.event, given_at=moment))
    if not load_file:
        return entry
    (complete,) = yield from with_files(session, [entry])
    return complete


@dataclass(frozen=True)
class Selection:
    """Which feedback to read: with these tags, empty for any, revoked or not, given by the end of a block.

    Whose it is, where nobody is named, is always read as of the last block.
    """

    tag1: str = ""
    tag2: str = ""
    include_revoked: bool = False
    block: str = "latest"

    def has(self, entry: FeedbackEntry) -> bool:
        """Whether it has a feedback."""
        tags = ((self.tag1, entry.tag1), (self.tag2, entry.tag2))
        is_tagged = all(not wanted or wanted.encode() == tag.raw for wanted, tag in tags)
        return is_tagged and (self.include_revoked or not entry.is_revoked)


def read_all(
    session: Session, agent_id: AgentLike, reviewers: Sequence[str] | None, selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """See `Client.read_all_feedback`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    if reviewers is not None:
        clients = distinct([checksummed(it) for it in reviewers])
        return (yield from _read_from(session, agent, clients, selection)) if clients else []
    try:
        return (yield from _read_at_once(session, agent, (), selection))
    except chain.TOO_MUCH as error:
        chain.require_too_much(error)
    everybody = yield from clients_of(session, agent)
    return (yield from _read_from(session, agent, everybody, selection)) if everybody else []


def clients_of(session: Session, agent_id: AgentLike) -> Operation[list[str]]:
    """See `Client.get_clients`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    try:
        (clients,) = yield from chain.call(session, Registry.REPUTATION, "getClients(uint256)", agent.token_id)
    except chain.TOO_MUCH as error:
        chain.require_too_much(error)
        logs = yield from chain.logs(session, Registry.REPUTATION, "NewFeedback", [chain.topic(agent.token_id)])
        clients = distinct([log.fields["clientAddress"] for log in logs])
    return list(clients)


def summarize(
    session: Session, agent_id: AgentLike, tag1: str, tag2: str, reviewers: Sequence[str] | None
) -> Operation[ReputationSummary]:
    """See `Client.get_reputation_summary`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    if reviewers is None:
        clients = tuple((yield from clients_of(session, agent)))
    else:
        clients = distinct([checksummed(it) for it in reviewers])
    found = Summary(0, 0, 0)
    if clients:
        function = "getSummary(uint256,address[],string,string)"
        try:
            arguments = (agent.token_id, clients, tag1, tag2)
            found = Summary(*(yield from chain.call(session, Registry.REPUTATION, function, *arguments)))
        except chain.TOO_MUCH as error:
            if not (isinstance(error, ContractRevertError) and error.error == _NO_ROOM):
                chain.require_too_much(error)
            entries = yield from read_all(session, agent, clients, Selection(tag1, tag2))
            found = summarize_values([entry.stored for entry in entries], within_registry=False)
    return ReputationSummary(
        agent, found.count, found.value, found.decimals, tag1, tag2, clients, is_everybody=reviewers is None
    )


def responses(
    session: Session, agent_id: AgentLike | FeedbackId, client_address: str | None, feedback_index: int | None
) -> Operation[list[FeedbackResponse]]:
    """See `Client.get_responses`."""
    deployment = yield from chain.connect(session)
    wanted = feedback.named(deployment, agent_id, client_address, feedback_index)
    topics = [chain.topic(wanted.agent.token_id), chain.topic(wanted.client)]
    logs = yield from chain.logs(session, Registry.REPUTATION, "ResponseAppended", topics)
    found = [feedback.read_response(wanted.agent, log.fields) for log in logs]
    return [response for response in found if response.feedback == wanted]


def with_event(entry: FeedbackEntry, logs: Sequence[Log]) -> FeedbackEntry:
    """An entry with what only its event has, if it is among the logs."""
    given = (feedback.read_given(entry.id.agent.chain_id, log) for log in logs)
    return next((replace(entry, event=it.event) for it in given if it.id == entry.id), entry)


def with_files(
    session: Session, entries: Sequence[FeedbackEntry], seconds: float = math.inf
) -> Operation[list[FeedbackEntry]]:
    """Entries with their files, or with what is the matter with those. None is begun with after so many seconds."""
    links = {entry.id: (entry.event.uri, entry.event.hash) for entry in entries if entry.event and entry.event.uri}
    loaded = yield from documents.load_all(session, FeedbackFile, list(links.values()), seconds)
    found = dict(zip(links, loaded, strict=True))
    nothing = (None, None)
    return [
        replace(entry, file=file, file_problem=problem)
        for entry in entries
        for file, problem in [found.get(entry.id, nothing)]
    ]


def _read_one(session: Session, wanted: FeedbackId, block: str = "latest") -> Operation[FeedbackEntry]:
    """Read one feedback from the registry's state."""
    arguments = (wanted.agent.token_id, wanted.client, wanted.on_chain_index)
    answer = yield from chain.call(session, Registry.REPUTATION, READ, *arguments, block=block)
    value, decimals, tag1, tag2, is_revoked = answer
    with chain.given_by(Registry.REPUTATION):
        return FeedbackEntry(wanted, FeedbackValue(value, decimals), tag1, tag2, is_revoked)


def _read_at_once(
    session: Session, agent: AgentId, clients: Sequence[str], selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """Read the feedback of clients, or of all if none is named, by one call."""
    arguments = (agent.token_id, list(clients), selection.tag1, selection.tag2, selection.include_revoked)
    columns = yield from chain.call(session, Registry.REPUTATION, READ_ALL, *arguments, block=selection.block)
    if len({len(column) for column in columns}) != 1:
        raise UnexpectedAnswerError("the reputation registry answers readAllFeedback with lists of unequal length")
    with chain.given_by(Registry.REPUTATION):
        return [
            FeedbackEntry(FeedbackId(agent, client, index), FeedbackValue(value, decimals), tag1, tag2, is_revoked)
            for client, index, value, decimals, tag1, tag2, is_revoked in zip(*columns, strict=True)
        ]


def _read_from(
    session: Session, agent: AgentId, clients: Sequence[str], selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """Read the feedback of named clients, by halves where it is too much at once, one by one where even one's is."""
    try:
        return (yield from _read_at_once(session, agent, clients, selection))
    except chain.TOO_MUCH as error:
        chain.require_too_much(error)
    if len(clients) == 1:
        return (yield from _read_one_by_one(session, agent, clients[0], selection))
    middle = len(clients) // 2
    first = yield from _read_from(session, agent, clients[:middle], selection)
    second = yield from _read_from(session, agent, clients[middle:], selection)
    return first + second


def _read_one_by_one(
    session: Session, agent: AgentId, client: str, selection: Selection
) -> Operation[list[FeedbackEntry]]:
    """Read the feedback of one client, each by a call of its own."""
    function = "getLastIndex(uint256,address)"
    (last,) = yield from chain.call(
        session, Registry.REPUTATION, function, agent.token_id, client, block=selection.block
    )
    found = []
    for index in range(1, last + 1):
        entry = yield from _read_one(session, FeedbackId(agent, client, index), selection.block)
        if selection.has(entry):
            found.append(entry)
    return found
