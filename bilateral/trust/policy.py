"""Filters for reading the registries, such as the list of clients that `getSummary` requires (ERC-8004)."""

from dataclasses import dataclass

import numpy as np

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.engine import Engine
from bilateral.trust.tables.opinions import Kind


@dataclass(frozen=True)
class TrustedClients:
    """The clients whose feedback about an agent should count for a reader.

    Attributes:
        clients: The clients' addresses, most trusted first.
        left_out: The addresses that gave feedback but are left out.
        by_list: True if a reader's own list was used. Without a list, only detected accounts are removed, so undetected
            Sybils remain (ERC-8004's best practices: filter by trusted reviewers).
    """

    agent_id: int
    clients: tuple[str, ...]
    left_out: tuple[str, ...]
    by_list: bool


def trusted_clients(engine: Engine, agent_id: int) -> TrustedClients:
    """Return the clients whose feedback about an agent should count.

    A client is left out if it is flagged, if its feedback about this agent is probably false, if it owns the agent, if
    its feedback is only about an earlier owner, or if the reader has a list and no trust from it reaches the client.
    """
    ledger, opinions = engine.context_.ledger, engine.context_.ledger.opinions
    place = int(np.searchsorted(ledger.agent_ids[: ledger.current], agent_id))
    if place >= ledger.current or ledger.agent_ids[place] != agent_id:
        raise InvalidArgumentError(f"agent {agent_id} is not in the tables: analyse tables that contain it")
    own = np.flatnonzero(np.isin(ledger.subject_agent, np.flatnonzero(ledger.identity == place)))
    own = own[np.isin(ledger.subject_kind[own], (Kind.FEEDBACK, Kind.CONSTANT_TAG))]
    bounds = zip(*(np.searchsorted(opinions.subject, own, side=side) for side in ("left", "right")), strict=True)
    rows = np.concatenate([np.arange(*ends) for ends in bounds])
    rater = opinions.rater[rows]
    false = np.zeros(ledger.accounts)
    np.maximum.at(false, rater, engine.suspicion_.row[rows])
    clients = np.unique(rater)
    good = ~engine.suspicion_.flagged[clients] & (false[clients] < 0.5) & (clients != ledger.owner[place])  # noqa: PLR2004
    good &= np.isin(clients, rater[ledger.subject_agent[opinions.subject[rows]] == place])
    trust = -engine.suspicion_.total
    if engine.trust_ is not None:
        good &= engine.trust_.reached_[clients]
        trust = engine.trust_.trust_
    trusted = clients[good][np.argsort(-trust[clients[good]], kind="stable")]
    return TrustedClients(
        agent_id=agent_id,
        clients=tuple(ledger.addresses[int(client)].as_py() for client in trusted),
        left_out=tuple(ledger.addresses[int(client)].as_py() for client in clients[~good]),
        by_list=engine.trust_ is not None,
    )
