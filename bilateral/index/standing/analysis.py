"""Runs the analysis of an indexed identity registry, and stores its results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.index.changes.projection import add_notes
from bilateral.index.errors import AnalysisOutdatedError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import is_transient, snapshot
from bilateral.index.log.dialects import dialect_of
from bilateral.index.standing.inputs import TableReader
from bilateral.index.standing.opinions import accounts_without_funding
from bilateral.index.standing.proofs import ClaimedTransactions
from bilateral.index.standing.results import replace_results
from bilateral.index.standing.standings import identity_registries, note_problem, replace_standings
from bilateral.index.standing.tables import AnalysisKey
from bilateral.trust.engine import Engine as TrustEngine
from bilateral.trust.features.reviews import Reviews
from bilateral.trust.results import Results

_LOCK: Final = 80048011
"""The advisory lock of those who replace the results of an analysis."""

_TRIES: Final = 3
"""Attempts to read while the index writes: each sees another state."""


@dataclass(frozen=True)
class AnalysisSummary:
    """The figures of one analysis.

    Attributes:
        identity_registry: The identity registry whose agents were analysed.
        block: The last block that it saw.
        agents: The number of agents.
        opinions: The number of feedbacks, ratings and validations that it read.
        left_out: The number of rows left out because they name an agent that is not there.
        accounts_without_funding: The number of accounts whose first inbound transfer was not looked for yet.
        findings: The number of findings.
        flagged: The number of accounts that it flags.
        trusted_accounts: The number of accounts that it spread trust from.
        unknown_cases: The reviewed accounts that its tables do not have, in small letters. Their cases change nothing.
    """

    chain_id: int
    identity_registry: str
    block: int
    agents: int
    opinions: int
    left_out: int
    accounts_without_funding: int
    findings: int
    flagged: int
    trusted_accounts: int
    unknown_cases: tuple[str, ...]


def analyse(
    engine: Engine, key: AnalysisKey, reviews: Reviews | None = None, trusted: Sequence[str] = ()
) -> AnalysisSummary:
    """Analyse an identity registry as of the index's last block, and replace the stored results."""
    return Analyst(engine, key).analyse(reviews, trusted)


class Analyst:
    """Analyses an identity registry again and again, and reads only the rows of new blocks."""

    def __init__(self, engine: Engine, key: AnalysisKey) -> None:
        self._engine = engine
        self._key = key
        self._reader = TableReader(key.chain_id, key.identity_registry)

    @property
    def claimed(self) -> ClaimedTransactions:
        """The transactions that clients claim as proofs, and that the index alone cannot judge."""
        return self._reader.claimed

    def analyse(self, reviews: Reviews | None = None, trusted: Sequence[str] = ()) -> AnalysisSummary:
        """Analyse as of the index's last block, and replace the stored results. See `analyse`."""
        for _ in range(_TRIES):
            try:
                summary = self._analyse_once(reviews, trusted)
            except DBAPIError as problem:
                if not is_transient(problem):
                    raise
                continue  # a reorganisation and the inserts waited for each other, and PostgreSQL undid the inserts
            if summary is not None:
                return summary
        raise AnalysisOutdatedError(self._key.chain_id)

    def _analyse_once(self, reviews: Reviews | None, trusted: Sequence[str]) -> AnalysisSummary | None:
        """Analyse and store; return None, and store nothing, if a reorganisation replaced the analysed block."""
        began = time.monotonic()
        with snapshot(self._engine) as connection:
            state = _state(connection, self._key)
            tables = self._reader.read(connection)
            unfunded = len(accounts_without_funding(connection, self._key))
        fitted = TrustEngine().fit(tables.tables, reviews, trusted)
        results = Results.of(fitted, tables.places)
        summary = AnalysisSummary(
            chain_id=self._key.chain_id,
            identity_registry=self._key.identity_registry,
            block=state.block_number,
            agents=tables.tables.agents.num_rows,
            opinions=sum(getattr(tables.tables, name).num_rows for name in ("feedback", "ratings", "validations")),
            left_out=tables.left_out + fitted.context_.ledger.dropped,
            accounts_without_funding=unfunded,
            findings=results.findings.num_rows,
            flagged=int(fitted.suspicion_.flagged.sum()),
            trusted_accounts=len(trusted),
            unknown_cases=fitted.absent_cases(),
        )
        head = {
            "block_number": state.block_number,
            "block_hash": state.block_hash,
            "is_exact": True,
            "made_at": int(time.time()),
            "reviewed_cases": len(reviews.cases) if reviews is not None else 0,
            "threshold": fitted.threshold,
        }
        seconds = time.monotonic() - began
        figures = ("agents", "opinions", "left_out", "accounts_without_funding", "trusted_accounts")
        with self._engine.begin() as connection:
            dialect_of(connection).lock(connection, _LOCK)  # another process may analyse the same registry
            if not _is_still_indexed(connection, self._key.chain_id, state):
                return None
            reported = head | {name: getattr(summary, name) for name in figures}
            notes = replace_standings(connection, self._key, results.standings, state.block_number, seconds)
            note_problem(connection, self._key, None)
            notes += replace_results(connection, self._key, reported, results, tables.places)
            if not _is_still_indexed(connection, self._key.chain_id, state):  # a reorganisation during the inserts
                connection.rollback()
                return None
            add_notes(connection, self._key.chain_id, state.block_number, notes)
        return summary


@dataclass(frozen=True)
class _State:
    """The state of the index that an analysis sees: its last block, and the number of reorganisations so far."""

    block_number: int
    block_hash: bytes
    reorganizations: int


def _state(connection: Connection, key: AnalysisKey) -> _State:
    """Return the state of the index."""
    if key not in identity_registries(connection):
        raise InvalidArgumentError(
            f"the index has no agents of {quoted(key.identity_registry)} on chain {key.chain_id}: "
            "see bilateral index status"
        )
    chain = schema.chain
    query = select(chain.c.block_number, chain.c.block_hash, chain.c.reorganizations)
    return _State(*connection.execute(query.where(chain.c.chain_id == key.chain_id)).one())


def _is_still_indexed(connection: Connection, chain_id: int, state: _State) -> bool:
    """Check that no reorganisation has replaced the block of a state."""
    chain, block = schema.chain, schema.block
    query = select(chain.c.reorganizations).where(chain.c.chain_id == chain_id)
    if connection.execute(query).scalar_one() == state.reorganizations:
        return True
    retained = select(block.c.block_hash).where(
        block.c.chain_id == chain_id, block.c.block_number == state.block_number
    )
    return bool(connection.execute(retained).scalar_one_or_none() == state.block_hash)
