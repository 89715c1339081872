"""The content of the pages for one rating and for one validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from bilateral.explorer.networks import rating_path
from bilateral.index.agents import tables as agent_tables
from bilateral.index.errors import MissingChainError
from bilateral.index.files.queries import names_of
from bilateral.index.log import tables as schema
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.payments.queries import PaymentProof, proof_of, proofs_of
from bilateral.index.ratings.authorized import AuthorizedFeedback
from bilateral.index.ratings.feedback import Feedback, Response, responses_of
from bilateral.index.ratings.queries import FileEvidence, Rating, file_evidence, rating_at
from bilateral.index.ratings.recent import Answer, answers_to
from bilateral.index.ratings.validations import ValidationRecord, validation_records
from bilateral.index.reading.registries import Registries
from bilateral.index.standing.queries import Doubt, doubts_of


@dataclass(frozen=True, slots=True)
class RatingPage:
    """A rating page's content. Exactly one of the first three attributes is set.

    Attributes:
        feedback: A client's feedback.
        authorized: A client's feedback that the agent's owner authorised.
        rating: A server's rating of a client or validator.
        names: The names of the agents in the rating, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
        file: The feedback file, and how it was checked; None if there is none.
        evidence: The feedback's payment proof and main response, by the path of the feedback's page; empty for ratings
            by servers.
        responses: The newest responses to the feedback.
    """

    feedback: Feedback | None
    authorized: AuthorizedFeedback | None
    rating: Rating | None
    chain_id: int
    names: dict[str, str]
    doubts: dict[str, Doubt]
    file: FileEvidence | None
    evidence: dict[str, Evidence]
    responses: tuple[Response, ...]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class ValidationPage:
    """A validation page's content.

    Attributes:
        records: The requests with this hash, one from each registry that contains such a request.
        names: The names of the agents, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
    """

    records: tuple[ValidationRecord, ...]
    chain_id: int
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


def rating_page(
    connection: Connection, registries: Registries, chain_id: int, block: int, log_index: int
) -> RatingPage | None:
    """Read a rating's page."""
    record = rating_at(connection, chain_id, block, log_index)
    if record is None:
        return None
    feedback = record if isinstance(record, Feedback) else None
    rating = record if isinstance(record, Rating) else None
    authorized = record if isinstance(record, AuthorizedFeedback) else None
    file = file_evidence(connection, chain_id, block, log_index)
    evidence = evidence_of(connection, registries, [feedback] if feedback else [])
    identity = next(
        registry.identity_registry for registry in registries.by_chain[chain_id] if registry.address == record.registry
    )
    responses: tuple[Response, ...] = ()
    if feedback is not None:
        key = registries.key(chain_id, feedback.agent_id, identity)
        responses = responses_of(connection, key, feedback.client, feedback.feedback_index, limit=50).items
    if authorized is not None:
        proof = proof_of(connection, identity, authorized, file.payment_transaction if file else None)
        evidence[rating_path(chain_id, block, log_index)] = Evidence(proof, None)
    ids = [record.agent, rating.server if rating else None]
    return RatingPage(
        feedback=feedback,
        authorized=authorized,
        rating=rating,
        chain_id=chain_id,
        names=names_of(connection, registries, ids),
        doubts=doubts_of(connection, registries, ids),
        file=file,
        evidence=evidence,
        responses=responses,
        progress=progress_of(connection, chain_id),
    )


def validation_page(
    connection: Connection, registries: Registries, chain_id: int, request: bytes
) -> ValidationPage | None:
    """Read a validation's page."""
    records = validation_records(connection, chain_id, request)
    if not records:
        return None
    ids = [record.agent for record in records]
    names, caveats = names_of(connection, registries, ids), doubts_of(connection, registries, ids)
    return ValidationPage(records, chain_id, names, caveats, progress_of(connection, chain_id))


def progress_of(connection: Connection, chain_id: int) -> ChainProgress:
    """Return an indexed chain's progress."""
    for progress in chains(connection, chain_id):
        return progress
    raise MissingChainError(chain_id)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a feedback entry.

    Attributes:
        payment: Whether the interaction was provably paid for.
        answer: The most relevant response; None if there is none.
    """

    payment: PaymentProof
    answer: Answer | None


def evidence_of(connection: Connection, registries: Registries, entries: Iterable[Feedback]) -> dict[str, Evidence]:
    """Return each feedback entry's evidence, keyed by the path of its page."""
    by_chain: dict[int, list[Feedback]] = defaultdict(list)
    for entry in entries:
        by_chain[_chain(entry)].append(entry)
    evidence = {}
    for chain_id, listed in by_chain.items():
        identities = {
            registry.address: registry.identity_registry for registry in registries.by_chain.get(chain_id, ())
        }
        proofs = proofs_of(connection, identities, chain_id, listed)
        people = _people(connection, chain_id, {agent.agent_id for agent in listed})
        for entry, proof in zip(listed, proofs, strict=True):
            own = people[identities.get(entry.registry, ""), entry.agent_id]
            (answer,) = answers_to(connection, chain_id, [entry], own)
            evidence[rating_path(chain_id, entry.block, entry.log_index)] = Evidence(proof, answer)
    return evidence


def _people(connection: Connection, chain_id: int, ids: set[int]) -> dict[tuple[str, int], set[str]]:
    columns = agent_tables.agent.c
    rows = connection.execute(
        select(columns.identity_registry, columns.agent_id, columns.owner, columns.wallet).where(
            columns.chain_id == chain_id,
            columns.identity_registry.in_(
                select(schema.registry.c.identity_registry).where(schema.registry.c.chain_id == chain_id)
            ),
            columns.agent_id.in_(sorted(ids)),
        )
    )
    people: dict[tuple[str, int], set[str]] = defaultdict(set)
    for identity, agent_id, *accounts in rows:
        people[identity, int(agent_id)].update(account for account in accounts if account is not None)
    return people


def _chain(entry: Feedback) -> int:
    return int(entry.agent.partition(":")[0])
