"""The content of the pages of one rating and of one validation."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from bilateral.explorer.evidence import Evidence, evidence_of
from bilateral.explorer.networks import rating_path
from bilateral.index.errors import MissingChainError
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.payments.queries import proof_of
from bilateral.index.ratings.authorized import AuthorizedFeedback
from bilateral.index.ratings.feedback import Feedback, Response, responses_of
from bilateral.index.ratings.queries import Rating
from bilateral.index.ratings.records import FileEvidence, ValidationRecord, file_evidence, rating_at, validation_records
from bilateral.index.reading.registries import Registries
from bilateral.index.standing.queries import Doubt, doubts_of


@dataclass(frozen=True, slots=True)
class RatingPage:
    """The content of a rating's page. One of the first three is set.

    Attributes:
        feedback: A client's feedback.
        authorized: A client's feedback that the agent's owner authorised.
        rating: A server's rating of a client or validator.
        names: The names of the agents in it, by short id.
        doubts: Those of them that are held back or contested, by short id.
        file: The file of the feedback, and how it was checked; None if it names none.
        evidence: The payment and the answer of the feedback, by the path of its page; empty for ratings by servers.
        responses: The newest responses to the feedback.
        progress: The chain's progress.
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
    """The content of a validation's page.

    Attributes:
        records: The requests with this name: one for each registry that has one.
        names: The names of the agents, by short id.
        doubts: Those of them that are held back or contested, by short id.
        progress: The chain's progress.
    """

    records: tuple[ValidationRecord, ...]
    chain_id: int
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


def rating_page(
    connection: Connection, registries: Registries, chain_id: int, block: int, log_index: int
) -> RatingPage | None:
    """Read the page of a rating.

    Args:
        registries: The indexed registries.
        block: The block of the rating's event.
        log_index: The event's place in the block.

    Returns:
        The content; None if no rating is there.
    """
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
        agent_id, claim = int(authorized.agent.partition(":")[2]), file.payment_transaction if file else None
        proof = proof_of(connection, identity, chain_id, agent_id, authorized.client, claim)
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
    """Read the page of a validation.

    Args:
        registries: The indexed registries.
        request: The hash that names the request.

    Returns:
        The content; None if no registry has such a request.
    """
    records = validation_records(connection, chain_id, request)
    if not records:
        return None
    ids = [record.agent for record in records]
    names, doubts = names_of(connection, registries, ids), doubts_of(connection, registries, ids)
    return ValidationPage(records, chain_id, names, doubts, progress_of(connection, chain_id))


def progress_of(connection: Connection, chain_id: int) -> ChainProgress:
    """Return the progress of an indexed chain.

    Raises:
        MissingChainError: The visit leaves it out, as its shard does not answer.
    """
    for progress in chains(connection, chain_id):
        return progress
    raise MissingChainError(chain_id)
