"""Chapter: the index reads the demo's own chain into SQL, and its rows say what the registries say."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select, text

from bilateral.core.contracts import Deployment
from bilateral.index.agents import tables as agent_tables
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.source import Source
from bilateral.index.log.database import open_database
from bilateral.index.log.registries import registries_of
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.status import chain_statuses
from bilateral.index.operating.verification import Verifier
from bilateral.index.operating.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from scripts._demo.stage import Stage

_FEEDBACK = "SELECT agent_id, client_address, value, tag1, is_revoked FROM feedback ORDER BY block_number, log_index"
_RATINGS = "SELECT registry, side, agent_id, server_id, rating FROM rating ORDER BY block_number, log_index"
_SUMMARIES = (
    "SELECT registry, agent_id, side, tag, count, counterparts, round(mean, 1), round(lower_bound, 1) FROM summary "
    "ORDER BY registry, agent_id, side, tag"
)
_PAYMENTS = "SELECT buyer, seller_id, amount FROM payment_settled ORDER BY block_number, log_index"
_SPEAKERS = "SELECT account, agent_id FROM companion_agent ORDER BY agent_id"


def play(stage: Stage) -> None:
    """Index the chain, compare the rows with the registries, and show the tables.

    Args:
        stage: The stage.
    """
    stage.chapter("Index")
    deployments = _deployments(stage)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_database(f"sqlite:///{Path(folder) / 'index.sqlite'}")
        with stage.step("The index follows the chain to its head.") as step:
            settings = ChainSettings((stage.url,), deployments)
            Worker(engine, settings, stop=threading.Event()).run(until_head=True)
            (status,) = chain_statuses(engine)
            step.check("block", status.block, stage.height)
        with stage.step("Every row is what the chain says, and none is missing.") as step:
            registries = registries_of(deployments)
            verifier = Verifier(engine, Source(Endpoint(stage.url), list(registries)), registries)
            differences = list(verifier.compare(0, status.block))
            step.check("rows", sum(difference.rows for difference in differences), status.event_rows)
            step.check("missing", sum(len(difference.missing) for difference in differences), 0)
            step.check("stale", sum(len(difference.stale) for difference in differences), 0)
        _compare_agents(stage, engine)
        _show(stage, engine, "Feedback", ("agent", "client", "value", "tag", "revoked"), _FEEDBACK)
        _show(stage, engine, "Ratings", ("registry", "as", "agent", "by server", "rating"), _RATINGS)
        columns = ("registry", "agent", "as", "tag", "entries", "counterparts", "mean", "lower bound")
        _show(stage, engine, "Summaries", columns, _SUMMARIES)
        _show(stage, engine, "Payments", ("buyer", "seller", "amount"), _PAYMENTS)
        _show(stage, engine, "Speakers of the companion's agents", ("account", "agent"), _SPEAKERS)
        engine.dispose()


def _deployments(stage: Stage) -> tuple[Deployment, ...]:
    """Return the registries of the story: its own, and those on the registry that was deployed before."""

    def at(name: str) -> str:
        return str(stage.registry(name).address)

    own = Deployment(
        stage.chain_id,
        identity=at("IdentityRegistry"),
        reputation=at("BidirectionalReputationRegistry"),
        authorized=at("AuthorizedReputationRegistry"),
        validation=at("ValidationRegistry"),
        buyers=at("BuyerReputationRegistry"),
    )
    deployed = Deployment(
        stage.chain_id,
        identity=at("deployed identity registry"),
        reputation=at("ratings on the companion"),
        directory=at("companion"),
        first_agent_id=0,
    )
    return own, deployed


def _compare_agents(stage: Stage, engine: Engine) -> None:
    """Compare the agents with what their registries say."""
    table = agent_tables.agent
    counts = {
        "IdentityRegistry": stage.registry("IdentityRegistry").getAgentCount(),
        "deployed identity registry": stage.registry("companion").getAgentCount() + 1,  # its first agent has id 0
    }
    for name, count in counts.items():
        with stage.step(f"The agents of the {name} are in their table, with their owners.") as step:
            identity = stage.registry(name)
            query = select(table.c.agent_id, table.c.owner).where(table.c.identity_registry == str(identity.address))
            with engine.connect() as connection:
                agents = connection.execute(query).all()
            step.check("agents", len(agents), count)
            step.check("owners that differ", sum(identity.ownerOf(agent) != owner for agent, owner in agents), 0)


def _show(stage: Stage, engine: Engine, title: str, columns: Sequence[str], query: str) -> None:
    """Show the rows of a query."""
    with engine.connect() as connection:
        stage.table(title, columns, [tuple(row) for row in connection.execute(text(query))])
