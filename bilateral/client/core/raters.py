"""Which agent stands behind an address that gave feedback (best practices, "Agent-as-Rater")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.client.core import agents, chain
from bilateral.client.results import Rater
from bilateral.contracts import Registry
from bilateral.identifiers import checksummed

if TYPE_CHECKING:
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation


def resolve(session: Session, address: str, *, load_file: bool) -> Operation[Rater]:
    """See `Client.resolve_rater`."""
    rater = checksummed(address)
    (agent_id,) = yield from chain.call(session, Registry.IDENTITY, "agentOf(address)", rater)
    if not agent_id:
        return Rater(rater, None)
    return Rater(rater, (yield from agents.load(session, agent_id, load_file=load_file)))
