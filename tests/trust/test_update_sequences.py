"""However rows come, and however reorganisations remove them, an update equals an analysis of all rows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from bench.trust.updates import is_equal
from bilateral.trust.columns import coded_together
from bilateral.trust.engine import Engine
from bilateral.trust.reviews import Reviews
from bilateral.trust.tables import COLUMNS, Tables
from tests.sequences import play
from tests.trust.conftest import Scene, address_of, addressed

AGENTS = 12
ACCOUNTS = strategies.integers(0, 60).map(lambda number: f"client{number}") | strategies.sampled_from(
    ["owner0", "owner1", "exchange", "unknown0", "unknown1", "unknown2"]
)
OWNED = strategies.integers(0, AGENTS + 1)
"""The agents of a row: the first and the last are unknown at the beginning."""

TIMES = strategies.integers(5000, 5040).map(float)
"""Few times, so that many rows have the same."""

ROWS = {
    "feedback": strategies.tuples(
        ACCOUNTS, OWNED, strategies.integers(0, 120), TIMES, strategies.sampled_from(["starred", "new tag"])
    ),
    "rating": strategies.tuples(ACCOUNTS, OWNED, strategies.integers(0, 100), TIMES),
    "validator_rating": strategies.tuples(OWNED, OWNED, strategies.integers(0, 100), TIMES),
    "validation": strategies.tuples(OWNED, OWNED, strategies.integers(0, 100), TIMES),
    "payment": strategies.tuples(ACCOUNTS, ACCOUNTS, OWNED, strategies.floats(0.1, 9), TIMES),
    "transfer": strategies.tuples(ACCOUNTS, ACCOUNTS, strategies.floats(0.1, 9), TIMES),
    "agent": strategies.tuples(strategies.integers(AGENTS + 1, AGENTS + 9), ACCOUNTS, TIMES),
}
ANY_ROW = strategies.one_of([strategies.tuples(strategies.just(kind), row) for kind, row in ROWS.items()])


def a_market():
    scene = Scene()
    for number in range(1, AGENTS + 1):
        scene.agent(number, f"owner{number % 9}", ts=10.0 * number)
    for number in range(60):
        scene.transfer("exchange" if number % 3 else f"client{number // 9}", f"client{number}", 20.0, 20.0 * number)
        for step in range(3):
            agent = (number * 7 + step * 3) % AGENTS + 1
            if number % 2:
                scene.payment(f"client{number}", f"owner{agent % 9}", agent, 1.0 + step, 4000.0 + number)
            scene.feedback(f"client{number}", agent, 40 + (number * 13 + agent * 7) % 55, 5000.0 + number)
    return scene


def coded_as_files_are(tables):
    with TemporaryDirectory() as folder:
        tables.write(Path(folder))
        return Tables.read(Path(folder))


class Sequences(RuleBasedStateMachine):
    """Rows of any kind come in batches, and the last batches may go again."""

    @initialize(is_coded=strategies.booleans())
    def begin(self, is_coded):
        self.scene = a_market()
        tables = addressed(self.scene.tables())
        self.engine = Engine().fit(coded_as_files_are(tables) if is_coded else tables)
        self.counts = []

    def whole(self):
        return addressed(self.scene.tables())

    def check(self, reviews=None):
        whole = Engine().fit(self.whole(), reviews)
        assert self.engine.context_.ledger.addresses.equals(whole.context_.ledger.addresses)
        assert is_equal(self.engine, whole)

    @rule(rows=strategies.lists(ANY_ROW, min_size=1, max_size=12), is_reviewed=strategies.booleans())
    def add(self, rows, is_reviewed):
        before = {name: len(held) for name, held in self.scene.rows.items()}
        self.counts.append(before)
        known = {row[0] for row in self.scene.rows["agents"]}
        for kind, row in rows:
            if kind != "agent" or row[0] not in known:
                getattr(self.scene, kind)(*row)
                known |= {row[0]} if kind == "agent" else set()
        later, whole = {}, self.whole()
        for name in COLUMNS:
            later[name] = getattr(whole, name).slice(before[name])
        cases = [{"account": address_of("client1"), "verdict": "guilty", "reason": "shown"}]
        reviews = Reviews.of(cases) if is_reviewed else None
        self.engine.update(Tables.of(**later), reviews)
        self.check(reviews)

    @rule(number=strategies.integers(1, 3))
    def remove(self, number):
        for _ in range(min(number, len(self.counts))):
            for name, count in self.counts.pop().items():
                del self.scene.rows[name][count:]
        self.engine.renew(self.whole())
        self.check()


def test_updates_and_reorganisations_give_what_a_whole_analysis_gives(monkeypatch):
    monkeypatch.setattr("bilateral.trust.columns._FEW", 1.0)  # however small the market is
    play(Sequences, examples=10, steps=6)


@pytest.mark.parametrize("new", [[], ["0x000"], ["0x5", "0x55"], ["0xzz"], ["0x000", "0x2", "0xzz"]])
def test_new_texts_come_among_those_that_are_sorted(new):
    texts = pa.array(sorted(f"0x{number:03}" for number in range(0, 2000, 2)))
    known = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([5, None, 999, 0]), texts)])
    later = pa.chunked_array([pa.array([*new, None, "0x010"])])
    addresses, (first, second) = coded_together([known, later])
    assert addresses.to_pylist() == sorted({*texts.to_pylist(), *new})
    assert [None if code < 0 else addresses[code].as_py() for code in first] == known.to_pylist()
    assert [None if code < 0 else addresses[code].as_py() for code in second] == later.to_pylist()
