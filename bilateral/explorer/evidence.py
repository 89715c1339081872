"""The evidence of listed feedback: the proof of its payment, and its answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from bilateral.explorer.networks import rating_path
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.payments.queries import PaymentProof, proofs_of
from bilateral.index.ratings.answers import Answer, answers_to
from bilateral.index.ratings.feedback import Feedback
from bilateral.index.reading.registries import Registries


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a feedback.

    Attributes:
        payment: The answer to the question if it was paid for.
        answer: The answer that counts most; None without one.
    """

    payment: PaymentProof
    answer: Answer | None


def evidence_of(connection: Connection, registries: Registries, entries: Iterable[Feedback]) -> dict[str, Evidence]:
    """Return the evidence of each feedback, by the path of its page.

    Args:
        registries: The indexed registries.
        entries: The feedback, of any chains and agents.
    """
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


def _people(connection: Connection, chain_id: int, wanted: set[int]) -> dict[tuple[str, int], set[str]]:
    """Return the owner and the wallet of agents."""
    columns = agent_tables.agent.c
    rows = connection.execute(
        select(columns.identity_registry, columns.agent_id, columns.owner, columns.wallet).where(
            columns.chain_id == chain_id,
            columns.identity_registry.in_(
                select(schema.registry.c.identity_registry).where(schema.registry.c.chain_id == chain_id)
            ),
            columns.agent_id.in_(sorted(wanted)),
        )
    )
    people: dict[tuple[str, int], set[str]] = defaultdict(set)
    for identity, agent_id, *accounts in rows:
        people[identity, int(agent_id)].update(account for account in accounts if account is not None)
    return people


def _chain(entry: Feedback) -> int:
    return int(entry.agent.partition(":")[0])
