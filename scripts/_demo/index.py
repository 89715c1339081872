"""Chapter: the index reads the demo's own chain into SQL, and its rows say what the registries say."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select, text

from bilateral.contracts import Deployment
from bilateral.index import schema
from bilateral.index.database import open_database
from bilateral.index.endpoint import Endpoint
from bilateral.index.settings import ChainSettings
from bilateral.index.source import Source
from bilateral.index.status import chain_statuses
from bilateral.index.verify import Verifier
from bilateral.index.worker import Worker, registries_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from scripts._demo.stage import Stage

_FEEDBACK = "SELECT agent_id, client_address, value, tag1, is_revoked FROM feedback ORDER BY block_number, log_index"
_RATINGS = "SELECT side, agent_id, server_id, rating FROM rating ORDER BY block_number, log_index"
_SUMMARIES = (
    "SELECT agent_id, side, tag, count, counterparts, round(mean, 1), round(lower_bound, 1) FROM summary "
    "ORDER BY agent_id, side, tag"
)


def play(stage: Stage) -> None:
    """Index the chain, compare the rows with the registries, and show the tables.

    Args:
        stage: The stage.
    """
    stage.chapter("Index")
    deployment = Deployment(
        stage.chain_id,
        identity=stage.registry("IdentityRegistry").address,
        reputation=stage.registry("BidirectionalReputationRegistry").address,
        authorized=stage.registry("AuthorizedReputationRegistry").address,
        validation=stage.registry("ValidationRegistry").address,
    )
    with tempfile.TemporaryDirectory() as folder:
        engine = open_database(f"sqlite:///{Path(folder) / 'index.sqlite'}")
        with stage.step("The index follows the chain to its head.") as step:
            settings = ChainSettings((stage.url,), (deployment,))
            Worker(engine, settings, stop=threading.Event()).run(until_head=True)
            (status,) = chain_statuses(engine)
            step.check("block", status.block, stage.height)
        with stage.step("Every row is what the chain says, and none is missing.") as step:
            registries = registries_of([deployment])
            verifier = Verifier(engine, Source(Endpoint(stage.url), list(registries)), registries)
            found = list(verifier.compare(0, status.block))
            step.check("rows", sum(it.rows for it in found), status.event_rows)
            step.check("missing", sum(len(it.missing) for it in found), 0)
            step.check("stale", sum(len(it.stale) for it in found), 0)
        with stage.step("The agents' table agrees with the registry.") as step:
            identity = stage.registry("IdentityRegistry")
            with engine.connect() as connection:
                agents = connection.execute(select(schema.agent.c.agent_id, schema.agent.c.owner)).all()
            step.check("agents", len(agents), identity.getAgentCount())
            step.check("owners that differ", sum(identity.ownerOf(agent) != owner for agent, owner in agents), 0)
        _show(stage, engine, "Feedback", ("agent", "client", "value", "tag", "revoked"), _FEEDBACK)
        _show(stage, engine, "Ratings", ("as", "agent", "by server", "rating"), _RATINGS)
        columns = ("agent", "as", "tag", "entries", "counterparts", "mean", "lower bound")
        _show(stage, engine, "Summaries", columns, _SUMMARIES)
        engine.dispose()


def _show(stage: Stage, engine: Engine, title: str, columns: Sequence[str], query: str) -> None:
    """Show the rows of a query."""
    with engine.connect() as connection:
        stage.table(title, columns, [tuple(row) for row in connection.execute(text(query))])
