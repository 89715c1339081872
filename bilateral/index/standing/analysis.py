"""Run the trust analysis of the indexed identity registries, either once or whenever new rows arrive."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, Row, func, select, update
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.changes.projection import add_notes
from bilateral.index.errors import AnalysisOutdatedError, NoEndpointError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import is_lost, is_transient, snapshot
from bilateral.index.log.dialects import dialect_of
from bilateral.index.payments.tables import payment, payment_return
from bilateral.index.standing.funding import FundingCollector
from bilateral.index.standing.inputs import TableReader
from bilateral.index.standing.opinions import accounts_without_funding
from bilateral.index.standing.queries import identity_registries, note_problem
from bilateral.index.standing.results import replace_results, replace_standings
from bilateral.index.standing.tables import AnalysisKey, funding, standing_refresh
from bilateral.trust.engine import Engine as TrustEngine
from bilateral.trust.features.reviews import Reviews
from bilateral.trust.results import Results

_LOGGER: Final = logging.getLogger("bilateral.index")

_LOCK: Final = 80048011
"""The key of the advisory lock for replacing the results of an analysis."""

_TRIES: Final = 3
"""The number of attempts at an analysis. Each attempt reads a new state of the index."""


@dataclass(frozen=True)
class AnalysisSummary:
    """The key figures of an analysis.

    Attributes:
        identity_registry: The identity registry whose agents were analysed.
        block: The last block that the analysis includes.
        agents: The number of agents.
        opinions: The number of feedback entries, ratings and validations that the analysis read.
        left_out: The number of rows that were left out because their agent is not in the index.
        accounts_without_funding: The number of accounts whose first inbound transfer has not been searched for yet.
        findings: The number of findings.
        flagged: The number of accounts that the analysis flags.
        trusted_accounts: The number of trusted accounts from which the analysis spread trust.
        unknown_cases: Accounts in lower case that have reviewed cases but do not occur in the analysis's tables. Their
            cases have no effect.
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
    """Analyse an identity registry as of the last indexed block, and replace the stored results."""
    return Analyst(engine, key).analyse(reviews, trusted)


class Analyst:
    """Analyses an identity registry repeatedly, each time reading only the rows of new blocks."""

    def __init__(self, engine: Engine, key: AnalysisKey) -> None:
        self._engine = engine
        self._key = key
        self._reader = TableReader(key.chain_id, key.identity_registry)
        self.claimed = self._reader.claimed  # transactions that the index's rows alone cannot resolve

    def analyse(self, reviews: Reviews | None = None, trusted: Sequence[str] = ()) -> AnalysisSummary:
        """Analyse the registry as of the last indexed block, and replace the stored results. See `analyse`."""
        for _ in range(_TRIES):
            try:
                summary = self._analyse_once(reviews, trusted)
            except DBAPIError as problem:
                if not is_transient(problem):
                    raise
                continue  # a reorganisation and the inserts deadlocked, and PostgreSQL rolled the inserts back
            if summary is not None:
                return summary
        raise AnalysisOutdatedError(self._key.chain_id)

    def _analyse_once(self, reviews: Reviews | None, trusted: Sequence[str]) -> AnalysisSummary | None:
        """Analyse, and store the results. If a reorganisation replaced the block meanwhile, return None instead."""
        began = time.monotonic()
        with snapshot(self._engine) as connection:
            state = _state(connection, self._key)
            tables = self._reader.read(connection)
            unfunded = len(accounts_without_funding(connection, self._key))
        fitted = TrustEngine().fit(tables.tables, reviews, trusted)
        results = Results.of(fitted, tables.places)
        summary = AnalysisSummary(
            **self._key.columns,
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
        figures = ("agents", "opinions", "left_out", "accounts_without_funding", "trusted_accounts")
        head = {name: getattr(summary, name) for name in figures} | {
            "block_number": state.block_number,
            "block_hash": state.block_hash,
            "is_exact": True,
            "made_at": int(time.time()),
            "reviewed_cases": len(reviews.cases) if reviews is not None else 0,
            "threshold": fitted.threshold,
        }
        seconds = time.monotonic() - began
        with self._engine.begin() as connection:
            dialect_of(connection).lock(connection, _LOCK)  # another process may be analysing the same registry
            if not _is_still_indexed(connection, self._key.chain_id, state):
                return None
            notes = replace_standings(connection, self._key, results.standings, state.block_number, seconds)
            note_problem(connection, self._key, None)
            notes += replace_results(connection, self._key, head, results, tables.places)
            if not _is_still_indexed(connection, self._key.chain_id, state):  # a reorganisation during the inserts
                connection.rollback()
                return None
            add_notes(connection, self._key.chain_id, state.block_number, notes)
        return summary


def _state(connection: Connection, key: AnalysisKey) -> Row[int, bytes, int]:
    """Return the index's last block, its hash, and the number of reorganisations so far."""
    if key not in identity_registries(connection):
        raise InvalidArgumentError(
            f"the index has no agents from {quoted(key.identity_registry)} on chain {key.chain_id}: "
            "list them with `bilateral index status`"
        )
    chain = schema.chain
    query = select(chain.c.block_number, chain.c.block_hash, chain.c.reorganizations)
    return connection.execute(query.where(chain.c.chain_id == key.chain_id)).one()


def _is_still_indexed(connection: Connection, chain_id: int, state: Row[int, bytes, int]) -> bool:
    chain, block = schema.chain, schema.block
    query = select(chain.c.reorganizations).where(chain.c.chain_id == chain_id)
    if connection.execute(query).scalar_one() == state.reorganizations:
        return True
    of_state = block.c.chain_id == chain_id, block.c.block_number == state.block_number
    retained = connection.execute(select(block.c.block_hash).where(*of_state)).scalar_one_or_none()
    return bool(retained == state.block_hash)


PAUSE: Final = 1.0
"""The number of seconds between two checks for new rows."""

LEAST_PAUSE: Final = 10.0
"""The minimum number of seconds between the end of a registry's refresh and the next refresh. The pause is at least as
long as the refresh took, so that even a large index leaves half of the time for other registries."""

_CONFIRM_SECONDS: Final = 60.0
"""Seconds without new rows after which standings are confirmed as of the last block. They are stale after 600."""

_RETRY_SECONDS: Final = 30.0
"""Seconds after which a failed analysis is retried if no new rows have arrived."""

_ACCOUNTS: Final = 200
"""The number of accounts whose initial funds are looked up per refresh, so that a slow node delays it only briefly."""


class Refresher:
    """Keeps the standings of all identity registries in an index current.

    Args:
        urls: The nodes' URLs, keyed by chain id. The nodes are queried for accounts' initial funds.
        only_followed: True to skip chains without URLs, which other processes follow and analyse.
    """

    def __init__(
        self,
        engine: Engine,
        urls: Mapping[int, Sequence[str]] | None = None,
        make: Callable[[Engine, AnalysisKey], Analyst] = Analyst,
        *,
        only_followed: bool = False,
    ) -> None:
        self._engine = engine
        self._urls = dict(urls or {})
        self._make = make
        self._only_followed = only_followed
        self._analysts: dict[AnalysisKey, Analyst] = {}
        self._marks: dict[AnalysisKey, tuple[int, ...]] = {}
        self._failed: dict[AnalysisKey, float] = {}
        self._due: dict[AnalysisKey, float] = {}
        self._confirmed: dict[AnalysisKey, float] = {}
        self._pools: dict[int, Pool] = {}

    def add_nodes(self, urls: Mapping[int, Sequence[str]]) -> None:
        """Add the URLs of nodes, keyed by chain id."""
        self._urls.update(urls)

    def run(self, stop: threading.Event) -> None:
        """Refresh standings until an event is set. If the database fails temporarily, wait until it works again."""
        while not stop.is_set():
            try:
                self.refresh(is_paced=True)
            except DBAPIError as problem:
                if not (is_lost(problem) or is_transient(problem)):
                    raise
                _LOGGER.warning("standings=wait problem=%r", str(problem.orig))
            stop.wait(PAUSE)

    def refresh(self, *, is_paced: bool = False) -> bool:
        """Refresh the standings of each registry that has new rows. Return True if any registry had new rows."""
        with snapshot(self._engine) as connection:
            keys = [
                key for key in identity_registries(connection) if not self._only_followed or key.chain_id in self._urls
            ]
            states = {key: _progress(connection, key) for key in keys}
        is_changed = False
        for key, (block, mark) in states.items():
            began = time.monotonic()
            is_retry = key in self._failed and began - self._failed[key] >= _RETRY_SECONDS
            if mark == self._marks.get(key) and not is_retry:
                self._confirm(key, block)
                continue
            if is_paced and began < self._due.get(key, began):
                continue
            is_changed = True
            if self._find_funds(key) < _ACCOUNTS:  # otherwise, the next check finds more
                with snapshot(self._engine) as connection:
                    _, self._marks[key] = _progress(connection, key)  # before the analysis, which may lack later rows
            self._refresh(key)
            self._confirmed[key] = ended = time.monotonic()
            self._due[key] = ended + max(LEAST_PAUSE, ended - began)
        return is_changed

    def _confirm(self, key: AnalysisKey, block: int) -> None:
        """Record that no new rows arrived up to a block, so the standings also hold at this block and time."""
        now = time.monotonic()
        if key in self._failed or now - self._confirmed.get(key, now) < _CONFIRM_SECONDS:
            return
        self._confirmed[key] = now
        current = update(standing_refresh).where(key.of(standing_refresh), standing_refresh.c.block_number <= block)
        with self._engine.begin() as connection:
            connection.execute(current.values(block_number=block, made_at=int(time.time())))

    def _refresh(self, key: AnalysisKey) -> None:
        """Analyse a registry. If this fails, keep the last standings and record the reason."""
        began = time.monotonic()
        analyst = self._analysts.setdefault(key, self._make(self._engine, key))
        try:
            analyst.analyse()
        except DBAPIError:
            self._marks.pop(key, None)
            raise
        except Exception as problem:  # noqa: BLE001  # whatever fails in an analysis must not stop the index
            self._analysts.pop(key)  # its state may mix two analyses
            self._failed[key] = time.monotonic()
            _LOGGER.warning("chain=%d standings=failed problem=%r", key.chain_id, str(problem))
            with self._engine.begin() as connection:
                note_problem(connection, key, f"{type(problem).__name__}: {problem}")
            return
        self._failed.pop(key, None)
        if self._read_claimed(key, analyst):
            self._marks.pop(key, None)  # the next check evaluates claims with what was just read
        _LOGGER.info("chain=%d standings=analysis seconds=%.1f", key.chain_id, time.monotonic() - began)

    def _find_funds(self, key: AnalysisKey) -> int:
        """Search for new accounts' initial funds. Return the number of accounts searched, 0 without an archive node."""
        urls = self._urls.get(key.chain_id)
        if not urls:
            return 0
        if key.chain_id not in self._pools:
            self._pools[key.chain_id] = Pool(key.chain_id, [Source(Endpoint(url), ()) for url in urls])
        try:
            return FundingCollector(self._engine, key, self._pools[key.chain_id]).collect(_ACCOUNTS)
        except NoEndpointError as problem:
            _LOGGER.info("chain=%d funds=unknown problem=%r", key.chain_id, str(problem))
            return 0

    def _read_claimed(self, key: AnalysisKey, analyst: Analyst) -> int:
        """Read transactions that clients claim as proof of payment, without delaying analyses. Return their number."""
        pool = self._pools.get(key.chain_id)
        try:
            return 0 if pool is None else analyst.claimed.read(pool.choose().endpoint, _ACCOUNTS)
        except BilateralError as problem:
            _LOGGER.info("chain=%d claims=unknown problem=%r", key.chain_id, str(problem))
            return 0


def _progress(connection: Connection, key: AnalysisKey) -> tuple[int, tuple[int, ...]]:
    """Return the index's last block, and figures that change whenever rows that affect standings change."""
    chain = schema.chain.c
    query = select(chain.block_number, chain.event_rows, chain.reorganizations).where(chain.chain_id == key.chain_id)
    counts = [
        connection.execute(select(func.count()).select_from(table).where(table.c.chain_id == key.chain_id)).scalar_one()
        for table in (payment, payment_return, funding)
    ]
    block, *figures = connection.execute(query).one()
    return block, (*figures, *counts)
