"""The change feed: each change once, in order, and taken back if a reorganisation removes it."""

from __future__ import annotations

import pytest

from bilateral.core.contracts import Registry
from bilateral.index.changes import queries as reading
from bilateral.index.changes.queries import FeedCursorError, FeedFilter, FeedPrunedError, last_step, read_feed
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.changes.worker import FeedLimits, prune_feed
from bilateral.index.log.database import snapshot
from bilateral.index.reading.registries import AgentKey
from simulation.events import ADDRESSES
from tests.index.feed_reader import EVERYTHING, FeedReader


def read(engine, since="0", wanted=EVERYTHING, limit=1_000):
    with snapshot(engine) as connection:
        return read_feed(connection, since, wanted, limit)


@pytest.fixture
def reorganised(engine, event_chain, generator, catch_up):
    """An index that followed a chain whose last blocks were replaced, and a reader who saw both."""
    reader = FeedReader()
    for _ in range(6):
        event_chain.mine(generator.logs(8))
    catch_up()
    reader.catch_up(engine)
    event_chain.rpc("anvil_rollback", 3)
    for _ in range(4):
        event_chain.mine(generator.logs(8))
    catch_up()
    return reader


def test_a_reorganisation_takes_back_what_it_removed_the_latest_first(engine, reorganised):
    before = list(reorganised.log)
    reorganised.assert_holds_all(engine)
    assert reorganised.retractions > 0
    retracted = [retracts for _, retracts, *_ in reorganised.log if retracts is not None]
    told = [id_ for id_, retracts, *_ in before if retracts is None]
    assert retracted == [id_ for id_ in reversed(told) if id_ in retracted]


def test_every_reader_gets_the_same_changes_whenever_it_begins_and_however_it_pages(engine, reorganised, monkeypatch):
    reorganised.assert_holds_all(engine)
    for limit in (1, 5, 1_000):
        reorganised.assert_same_for_all(engine, limit)
    monkeypatch.setattr(reading, "AT_ONCE", 4)  # steps are larger than one read
    reorganised.assert_same_for_all(engine, 4)


def test_filters_show_what_a_filter_in_the_end_would_show(engine, reorganised):
    everything = read(engine).items
    some = next(change for change in everything if change.kind is ChangeKind.FEEDBACK)
    agent_id = int(some.agents[0].rpartition("#")[2].rpartition(":")[2])
    key = AgentKey(31337, ADDRESSES[Registry.IDENTITY], agent_id, ())
    cases = {
        FeedFilter(agents=(key,)): lambda change: some.agents[0] in change.agents,
        FeedFilter(accounts=(some.accounts[0],)): lambda change: some.accounts[0] in change.accounts,
        FeedFilter(kinds=(ChangeKind.OWNER, ChangeKind.RATING)): lambda change: change.kind in ("owner", "rating"),
        FeedFilter(kinds=(ChangeKind.FEEDBACK,), agents=(key,)): (
            lambda change: change.kind == "feedback" and some.agents[0] in change.agents
        ),
    }
    for wanted, passes in cases.items():
        assert read(engine, wanted=wanted).items == tuple(filter(passes, everything)) != ()


def test_each_id_is_a_cursor_of_the_changes_after_it(engine, reorganised):
    everything = read(engine).items
    for number, change in enumerate(everything):
        assert read(engine, change.id, limit=3).items == everything[number + 1 : number + 4]


@pytest.mark.parametrize("cursor", ["", "-1", "1.2", "1.2.3.4", "\u0661", "1" * 19, "x", "1 "])
def test_a_malformed_cursor_is_refused(engine, cursor):
    with pytest.raises(FeedCursorError, match="is malformed: pass a change's id, the cursor from a response, or 0"):
        read(engine, cursor)


def test_a_cursor_of_another_index_is_refused(engine, reorganised):
    last = int(read(engine).cursor)
    assert read(engine, str(last)).is_end
    with pytest.raises(FeedCursorError, match=rf"is past the end of the feed \({last}\): the index was rebuilt"):
        read(engine, str(last + 1))


def test_a_pruned_feed_refuses_older_cursors_and_goes_on_for_all_others(engine, event_chain, generator, catch_up):
    reader = FeedReader()
    for _ in range(6):
        event_chain.mine(generator.logs(8))
        catch_up()
    reader.catch_up(engine)
    last = int(reader.cursor)
    assert prune_feed(engine, FeedLimits(days=1.0, steps=last)) == 0
    assert prune_feed(engine, FeedLimits(steps=3)) == last - 3
    with pytest.raises(FeedPrunedError, match=rf"too old: .* Read the agents again, and continue at {last - 3}$"):
        read(engine, str(last - 4))
    with pytest.raises(FeedPrunedError):
        read(engine, f"{last - 3}.1.0")  # the reader may not have the rest of that step
    assert read(engine, str(last - 3)).is_end
    event_chain.rpc("anvil_rollback", 5)  # changes of two pruned steps are taken back, too
    event_chain.mine(generator.logs(8))
    catch_up()
    reader.assert_holds_all(engine)
    reader.assert_same_for_all(engine, 1_000)
    assert any(retracts is not None and retracts.startswith("0.") for _, retracts, *_ in reader.log)
    with snapshot(engine) as connection:
        last = last_step(connection)
    assert prune_feed(engine, FeedLimits(), now=4e9) > 0  # all are too old, but the last one numbers the next
    assert read(engine, str(last)).is_end
    event_chain.mine(generator.logs(8))
    catch_up()
    reader.assert_holds_all(engine)


def test_a_step_that_was_removed_whole_tells_nothing_of_the_blocks_that_came_instead(
    engine, event_chain, generator, catch_up
):
    reader = FeedReader()
    event_chain.mine(generator.logs(8))
    catch_up()
    event_chain.rpc("anvil_mine", hex(3))
    catch_up()  # blocks without events make no step
    event_chain.mine(generator.logs(8))
    catch_up()
    event_chain.rpc("anvil_rollback", 3)
    for _ in range(4):
        event_chain.mine(generator.logs(8))
    catch_up()
    reader.catch_up(engine)
    event_chain.rpc("anvil_rollback", 5)
    event_chain.mine(generator.logs(8))
    catch_up()
    reader.assert_holds_all(engine)
