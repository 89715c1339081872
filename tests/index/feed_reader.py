"""A reader of the change feed that keeps what it learns, and compares that with the tables."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bilateral.index.changes.queries import FeedFilter, FeedPrunedError, last_cursor, oldest_cursor, read_feed
from bilateral.index.changes.tables import TABLES_BY_NAME
from bilateral.index.log.database import snapshot

EVERYTHING = FeedFilter()


class FeedReader:
    """Reads the feed with its own cursor, and refuses what comes twice or is taken back without having come.

    Args:
        cursor: The cursor at which it begins. Changes of before may be taken back.

    Attributes:
        cursor: The cursor of later changes.
        log: The id of each change in the order in which they came, with that of the change that it retracts.
        live: The changes that hold, by id: block, place, event and transaction.
        retractions: The number of changes that were taken back.
    """

    def __init__(self, cursor="0"):
        self.cursor = cursor
        self._start = int(cursor)
        self.log = []
        self.live = {}
        self.retractions = 0

    def read(self, engine, limit=1_000):
        """Read once, and return True at the end of the feed."""
        with snapshot(engine) as connection:
            page = read_feed(connection, self.cursor, EVERYTHING, limit)
        assert len(page.items) <= limit
        for change in page.items:
            self.log.append((change.id, change.retracts, change.transaction, dict(change.details)))
            place = (change.chain, change.block, change.log_index, change.event, change.transaction)
            if change.retracts is None:
                assert change.id not in self.live, f"{change.id} came twice"
                self.live[change.id] = place
            else:
                self._take_back(change.retracts, place)
                self.retractions += 1
        self.cursor = page.cursor
        return page.is_end

    def _take_back(self, retracted, place):
        """Forget a change that was retracted. The step of one that was pruned before is 0."""
        step = step_of(retracted)
        if 0 < step <= self._start or (step == 0 and self._start):
            return
        if step == 0:
            (retracted,) = (id_ for id_, known in self.live.items() if known == place)
        assert self.live.pop(retracted) == place

    def catch_up(self, engine, limit=1_000):
        """Read up to the end of the feed."""
        while not self.read(engine, limit):
            pass

    def assert_holds_all(self, engine):
        """Check that what holds is what the tables have, each event once."""
        self.catch_up(engine)
        events = sorted((place for place in self.live.values() if place[3] is not None), key=repr)
        assert events == sorted(stored_events(engine), key=repr)
        with snapshot(engine) as connection:
            assert self.cursor == last_cursor(connection)

    def assert_same_for_all(self, engine, limit):
        """Check that a reader who begins only now gets the same changes in the same order, but for the pruned ones."""
        with snapshot(engine) as connection:
            oldest = oldest_cursor(connection)
            if oldest != "0":
                with pytest.raises(FeedPrunedError, match=f"too old: .* were pruned. .* continue at {oldest}$"):
                    read_feed(connection, str(int(oldest) - 1), EVERYTHING)
        later = FeedReader(oldest)
        later.catch_up(engine, limit)
        assert later.log == [entry for entry in self.log if step_of(entry[0]) > int(oldest)]
        assert later.live == {id_: place for id_, place in self.live.items() if step_of(id_) > int(oldest)}


def step_of(id_):
    """Return the step of a change's id."""
    return int(id_.partition(".")[0])


def stored_events(engine):
    """Return chain, block, place, event and transaction of every stored event that is a change."""
    places = []
    with engine.connect() as connection:
        for event, table in TABLES_BY_NAME.values():
            query = select(table.c.chain_id, table.c.block_number, table.c.log_index, table.c.transaction_hash)
            if "metadata_key" in table.c:
                query = query.where(table.c.metadata_key == "agentWallet")
            for *place, transaction in connection.execute(query):
                places.append((*place, event.abi_name, f"0x{transaction.hex()}"))
    return places
