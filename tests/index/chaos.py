"""`python -m tests.index.chaos [STEPS] [--seed SEED]`: seeded steps that try to make the index wrong.

A chain is mined, reorganised and made shorter; the index is followed, killed and restarted by several workers at once;
endpoints refuse and lie; contracts emit what no registry would. After each catch-up every table is compared with the
plain model of the chain's logs, and the derived tables with those computed anew. Readers of the change feed go on from
their cursors meanwhile: what they learned must be what the tables hold, and the same for a reader who begins anew.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import func, select

from bilateral.core.values.summaries import SEALED_SIDES
from bilateral.index.chain import pool
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.changes.worker import FeedLimits, prune_feed
from bilateral.index.errors import NoEndpointError
from bilateral.index.log import background_writes as behind
from bilateral.index.log import tables as schema
from bilateral.index.log.store import JOURNAL_BLOCKS, ChainStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.ratings import tables as rating_tables
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator
from tests.index.comparison import assert_equals_model, derived_rows, open_with_registries
from tests.index.feed_reader import FeedReader
from tests.index.proxy import Answer, Proxy, range_of, refusal
from tests.index.schemas import make_schema
from tests.postgres import running_postgres
from tests.processes import CONTEXT

CHAIN_ID = 31337
REGISTRIES = {address: registry for registry, address in ADDRESSES.items()}
STEPS_A_ROUND = 250
STEPS_A_COMPARISON = 25
MANY_LOGS = 20
"""Logs from which on a thread writes on PostgreSQL: some transactions of a round are larger, and some smaller."""
ROWS_AT_ONCE = 3
"""Rows of a table that it begins to write while others are read."""

MISDEEDS = {
    "loses a registry's logs": lambda _, result: [
        entry for entry in result if entry["address"] != result[-1]["address"]
    ],
    "gives a log twice": lambda _, result: [*result, *result[-1:]],
    "gives a foreign log": lambda _, result: [
        *result,
        *(entry | {"address": "0x" + "99" * 20} for entry in result[-1:]),
    ],
    "gives logs of another fork": lambda _, result: [entry | {"blockHash": "0x" + "77" * 32} for entry in result],
    "is out of order": lambda _, result: result[::-1],
    "limits blocks": lambda parameters, result: (
        refusal("exceed maximum block range: 7", -32701) if span(parameters) > 7 else result
    ),
    "limits logs": lambda parameters, result: (
        refusal("query returned more than 40 results") if len(result) > 40 and span(parameters) > 1 else result
    ),
    "fails": lambda *_: Answer(502, b"bad gateway"),
    "hangs up": lambda *_: Answer(200, None),
    "behaves": lambda _, result: result,
}


def span(parameters):
    first, last = range_of(parameters)
    return last - first + 1


def followers_of(engine, *urls):
    sources = [Source(Endpoint(url, timeout=60), list(REGISTRIES), wait=lambda _: True) for url in urls]
    store, pool = ChainStore(engine, CHAIN_ID, PROJECTIONS), Pool(CHAIN_ID, sources)
    return Follower(store, pool, REGISTRIES, first_block=0, trusts_reorganisation=True)  # blocks go at any depth here


def let_few_events_be_many():
    """Let the threads that write on PostgreSQL have work in short ranges."""
    behind._MANY = MANY_LOGS
    behind._ROWS_AT_ONCE = ROWS_AT_ONCE


def work(database, urls):
    """Follow the chain in a process of its own, until it is killed."""
    let_few_events_be_many()
    engine = open_with_registries(database)
    follower = followers_of(engine, *urls)
    while True:
        try:
            follower.step()
        except NoEndpointError:
            time.sleep(0.01)


class Round:
    """One chain and one database, and what happens to them.

    Attributes:
        happened: The number of times that each thing happened.
    """

    def __init__(self, seed, database, event_chain, proxy):
        self._random = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._generator = Generator(seed, hostile=0.05)
        self._database = database
        self._chain = event_chain
        self._proxy = proxy
        self._urls = (proxy.url, event_chain.url)
        self._engine = open_with_registries(database)
        self._follower = followers_of(self._engine, *self._urls)
        self._reader = FeedReader()
        self.happened = Counter()
        self._acts = {
            self._mine: 40,
            self._mine_empty_blocks: 4,
            self._follow: 24,
            self._reorganise: 10,
            self._shorten: 4,
            self._misbehave: 10,
            self._restart: 5,
            self._kill: 1,
            self._read_feed: 12,
            self._reorganise_deeply: 1,
            self._prune_feed: 2,
        }

    def run(self, steps):
        for number in range(1, steps + 1):
            (act,) = self._random.choices(list(self._acts), weights=self._acts.values())
            self.happened[act.__name__.strip("_")] += 1
            act()
            if number % STEPS_A_COMPARISON == 0 or number == steps:
                self._compare()

    def close(self):
        self._engine.dispose()

    def _head(self):
        return int(self._chain.rpc("eth_blockNumber"), 16)

    def _mine(self):
        self._chain.mine(self._generator.logs(self._random.randint(1, 12)))

    def _mine_empty_blocks(self):
        self._chain.rpc("anvil_mine", hex(self._random.choice((1, 5, 60))))

    def _follow(self):
        try:
            self._follower.step()
        except NoEndpointError:
            self.happened["no endpoint"] += 1

    def _read_feed(self):
        self._reader.read(self._engine, self._random.choice((1, 7, 40, 1_000)))

    def _prune_feed(self):
        self._reader.catch_up(self._engine)
        limits = FeedLimits(steps=self._random.choice((1, 5, 40)))
        self.happened["pruned steps of the feed"] += prune_feed(self._engine, limits)

    def _reorganise(self, depth=None):
        self._remove(depth or self._random.randint(1, 12))
        for _ in range(self._random.randint(1, 3)):
            self._mine()

    def _reorganise_deeply(self):
        self._reorganise(JOURNAL_BLOCKS + self._random.randint(1, 60))

    def _shorten(self):
        self._remove(self._random.randint(1, 6))

    def _remove(self, depth):
        """Remove the last blocks. Anvil keeps a limited number of old states, so a deep removal may be shorter."""
        depth = min(depth, self._head())
        while depth:
            try:
                self._chain.rpc("anvil_rollback", depth)
            except RuntimeError as problem:
                if "data unavailable" not in str(problem):
                    raise
                self.happened["removals that anvil refused"] += 1
                depth //= 2
            else:
                return

    def _misbehave(self):
        self._misdeed = self._random.choice(list(MISDEEDS))
        self.happened[self._misdeed] += 1
        misdeed = MISDEEDS[self._misdeed]
        self._proxy.rules["eth_getLogs"] = lambda parameters, result: (
            misdeed(parameters, result) if result and range_of(parameters)[1] > self._deep else result
        )

    @property
    def _deep(self):
        """The last block whose logs endpoints give as they are: a lie so deep is found by a second read only."""
        return self._head() - JOURNAL_BLOCKS

    def _restart(self):
        self._engine.dispose()
        self._engine = open_with_registries(self._database)
        urls = self._random.sample(self._urls, 2)
        self._follower = followers_of(self._engine, *urls)

    def _kill(self):
        """Let two more processes follow the chain, and kill both at some moment.

        The machine's speed says how many blocks are mined meanwhile. The acts after it do not depend on that.
        """
        workers = [CONTEXT.Process(target=work, args=(self._database, self._urls)) for _ in range(2)]
        for worker in workers:
            worker.start()
        end, later = time.monotonic() + self._random.uniform(1.0, 3.0), self._random.getstate()
        while time.monotonic() < end:
            self._mine()
            self._follow()
        self._random.setstate(later)
        for worker in workers:
            worker.kill()
            worker.join()

    def _compare(self):
        """Catch up by the good endpoint, and compare."""
        follower = followers_of(self._engine, self._chain.url)
        while follower.step().outcome is not Outcome.WAITED:
            pass
        assert_equals_model(self._engine, self._chain)
        derived = derived_rows(self._engine)
        ChainStore(self._engine, CHAIN_ID, PROJECTIONS).rebuild()
        assert derived_rows(self._engine) == derived
        retracted = self._reader.retractions
        self._reader.assert_holds_all(self._engine)
        self._reader.assert_same_for_all(self._engine, self._random.choice((3, 25, 1_000)))
        self.happened["changes that readers compared"] += len(self._reader.log)
        self.happened["retractions before comparisons"] += self._reader.retractions - retracted
        with self._engine.connect() as connection:
            rows = connection.execute(select(schema.chain.c.event_rows)).scalar_one()
            blind = (
                select(func.count())
                .select_from(rating_tables.summary)
                .where(rating_tables.summary.c.side.in_(SEALED_SIDES.values()))
            )
            self.happened["compared summaries of blind ratings"] += connection.execute(blind).scalar_one()
        self.happened["compared rows"] += rows
        self.happened["comparisons"] += 1


def play(steps, seed, emitter_code, postgres_url, progress=lambda *_: None):
    """Play rounds on both engines in turn, and return how often each thing happened."""
    happened, numbers = Counter(), random.Random(seed)  # noqa: S311  # reproducible, not secret
    pool._BENCH_SECONDS = (0.05,)  # a benched endpoint is soon tried again
    let_few_events_be_many()
    done = 0
    while done < steps:
        length, of_round = min(STEPS_A_ROUND, steps - done), numbers.randrange(2**32)
        with tempfile.TemporaryDirectory() as folder, running_anvil(*OPTIONS) as url:
            name = f"chaos_{of_round}"
            if (done // STEPS_A_ROUND) % 2:
                database = make_schema(postgres_url, name)
            else:
                database = f"sqlite:///{Path(folder) / 'index.sqlite'}"
            with Proxy(url) as proxy:
                played = Round(of_round, database, EventChain(url, emitter_code), proxy)
                try:
                    played.run(length)
                except BaseException:
                    print(f"round with seed {of_round} on {database.split(':')[0]} failed", file=sys.stderr)
                    raise
                finally:
                    played.close()
        done += length
        happened += played.happened
        progress(done, happened)
    return happened


def main():
    """Play, and print how often each thing happened."""
    import ape  # noqa: PLC0415  # it takes a second, and workers need it not

    parser = argparse.ArgumentParser(prog="python -m tests.index.chaos", description=__doc__)
    parser.add_argument("steps", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    code = ape.project.MockLogEmitter.contract_type.runtime_bytecode.bytecode
    began = time.monotonic()
    with running_postgres() as url:
        happened = play(
            options.steps,
            options.seed,
            code,
            url,
            lambda done, _: print(f"{done:,} of {options.steps:,} steps, {time.monotonic() - began:.0f} s", flush=True),
        )
    for event, times in sorted(happened.items()):
        print(f"{times:>10,}  {event}")
    print("Every comparison found 0 missing, 0 stale and 0 double rows, and 0 such changes in the feed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
