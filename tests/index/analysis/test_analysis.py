"""The analysis of an indexed registry, from its rows to stored findings."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from sqlalchemy import insert, select, text

from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import Approval, ApprovalForAll, ClientRated, Transfer, ValidationResponse
from bilateral.index.changes.queries import FeedFilter, read_feed
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.log import tables as index_schema
from bilateral.index.log.batches import Block
from bilateral.index.log.database import snapshot
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.standing import tables as schema
from bilateral.index.standing.analysis import analyse
from bilateral.index.standing.inputs import read_tables
from bilateral.index.standing.results import current_analysis, stored_results
from bilateral.index.standing.tables import AnalysisKey, standing
from bilateral.trust.engine import Engine
from bilateral.trust.explain import explain
from bilateral.trust.features.reviews import Reviews
from bilateral.trust.results import Results
from simulation.events import ADDRESSES
from tests.index.analysis.conftest import KEY, collector
from tests.index.analysis.story import NOBODY, RING

pytestmark = pytest.mark.one_engine


@pytest.fixture
def funded(indexed, market):
    """The indexed market with the sources of all accounts' funds."""
    collector(indexed, market.chain.url).collect()
    return indexed


@pytest.fixture
def analysed(funded):
    analyse(funded, KEY)
    return funded


def rows(engine, table):
    with engine.connect() as connection:
        return connection.execute(select(table)).mappings().all()


def flagged(engine):
    return {row["account"] for row in rows(engine, schema.suspicion) if row["is_flagged"]}


def test_the_ring_is_flagged_and_no_honest_account_is(analysed, market):
    assert set(market.ring) <= flagged(analysed) <= {*market.ring, market.master}


def test_without_sources_of_funds_the_summary_says_how_many_are_missing(indexed, market):
    assert analyse(indexed, KEY).accounts_without_funding == len(market.funded)


def test_the_summary_counts_the_stored_rows(funded):
    summary = analyse(funded, KEY)
    assert (summary.agents, summary.opinions, summary.left_out) == (9, 40 * 3 + RING, 0)
    assert summary.findings == len(rows(funded, schema.finding)) > 0
    assert summary.flagged == len(flagged(funded))
    assert summary.accounts_without_funding == summary.trusted_accounts == 0
    (stored,) = rows(funded, schema.analysis)
    assert stored["block_number"] == summary.block == ChainStore(funded, 31337, PROJECTIONS).cursor().number
    assert stored["is_exact"]


def test_every_row_of_a_finding_is_an_event_of_the_index(analysed):
    stored = rows(analysed, schema.finding_row)
    assert {row["table_name"] for row in stored} >= {"new_feedback"}
    with analysed.connect() as connection:
        for row in stored:
            if row["table_name"] == "funding":
                query = "SELECT count(*) FROM funding WHERE transaction_hash = :transaction_hash"
            else:
                query = (
                    f"SELECT count(*) FROM {row['table_name']} WHERE chain_id = :chain_id"  # noqa: S608  # ours
                    " AND block_number = :block_number AND log_index = :log_index"
                    " AND transaction_hash = :transaction_hash"
                )
            assert connection.execute(text(query), dict(row)).scalar_one() == 1


def test_the_members_of_the_ring_are_actors_of_a_finding(analysed, market):
    actors = {row["account"] for row in rows(analysed, schema.finding_member) if row["part"] == schema.Part.ACTOR}
    assert set(market.ring) <= actors


def test_stored_results_explain_like_those_of_the_engine(analysed):
    with analysed.connect() as connection:
        tables = read_tables(connection, *KEY.columns.values())
        stored = stored_results(connection, KEY)
    computed = Results.of(Engine().fit(tables.tables), tables.places)
    assert stored.agents.sort_by("agent_id").to_pylist() == [
        {name: row[name] for name in stored.agents.column_names}
        for row in computed.agents.sort_by("agent_id").to_pylist()
    ]
    for finding in computed.findings["finding"].to_pylist():
        ours, theirs = explain(stored, finding), explain(computed, finding)
        assert ours["summary"] == theirs["summary"]
        assert len(ours["rows"]) == len(theirs["rows"])
        assert set(ours["actors"]) == set(theirs["actors"])


def add_events(connection, event, owner, *rows):
    """Add events of the identity registry, a second apart, after all others."""
    place = connection.execute(text("SELECT * FROM new_feedback LIMIT 1")).mappings().one()
    table = index_schema.EVENT_TABLES[event]
    known = {column.name: place[column.name] for column in table.c if column.name in place}
    known |= {"owner": owner} if "owner" in table.c else {}
    known |= {"registry": KEY.identity_registry, "block_number": 1_000_000}
    for number, values in enumerate(rows):
        here = {"log_index": 1000 + number, "block_time": 2_000_000_000 + number}
        connection.execute(insert(table).values(known | here | values))


def agents(connection):
    """The agents of the analysis, by id."""
    rows = read_tables(connection, *KEY.columns.values()).tables.agents.to_pylist()
    return {row["agent_id"]: row for row in rows}


def test_operators_that_judge_an_agent_are_read_from_approvals(indexed, market):
    with indexed.begin() as connection:
        first = market.owners[0]
        query = text("SELECT DISTINCT client_address FROM feedback WHERE agent_id = 1")
        raters = sorted(connection.execute(query).scalars())
        assert len(raters) >= 3
        strangers = [f"0x{number:040x}" for number in range(1, 300)]
        approved = [{"operator": account, "is_approved": True} for account in (NOBODY, raters[0], *strangers)]
        add_events(connection, ApprovalForAll, first, *approved, {"operator": raters[2], "is_approved": False})
        add_events(connection, Approval, first, *({"account": entry, "agent_id": 1} for entry in (NOBODY, raters[1])))
        stored = agents(connection)
    assert stored[1]["operators"] == raters[:2]
    assert {number for number, row in stored.items() if row["operators"]} == {1}


def test_holders_are_read_from_transfers(indexed, market):
    first, second, other = market.owners[0], market.clients[2], market.clients[3]
    moves = [(first, first), (first, second), (second, first)]
    with indexed.begin() as connection:
        before = agents(connection)
        add_events(
            connection,
            Transfer,
            first,
            *({"from_address": source, "to_address": target, "agent_id": 1} for source, target in moves),
            {"from_address": market.owners[1], "to_address": NOBODY, "agent_id": 2},
            {"from_address": other, "to_address": market.owners[2], "agent_id": 2**200},
        )
        stored = agents(connection)
    assert {row["holders"] for row in before.values()} == {None}
    registered = [before[number]["ts"] for number in (1, 2)]
    assert [(holder["account"], holder["since"]) for holder in stored[1]["holders"]] == [
        (first, registered[0]),
        (second, 2_000_000_001.0),
        (first, 2_000_000_002.0),
    ]
    assert [holder["account"] for holder in stored[2]["holders"]] == [market.owners[1], None]
    assert {number for number, row in stored.items() if row["holders"]} == {1, 2}


def test_evidence_of_an_earlier_owner_does_not_count_for_who_has_the_agent_now(indexed, market):
    first, second = market.owners[0], market.clients[2]
    rated = {"registry": ADDRESSES[Registry.BIDIRECTIONAL], "client_id": 1, "server_id": 2}
    answered = {"registry": ADDRESSES[Registry.VALIDATION], "validator_address": second, "agent_id": 3}
    answered |= {"request_hash": b"1" * 32, "response_uri": "", "response_hash": bytes(32), "tag": ""}
    with indexed.begin() as connection:
        before = {row["agent_id"]: row for row in _servers(connection)}
        add_events(
            connection,
            Transfer,
            first,
            {"from_address": first, "to_address": second, "agent_id": 1, "log_index": 500},
        )
        add_events(connection, ClientRated, first, *({**rated, "rating": at, "block_time": at} for at in (10, 2**31)))
        add_events(connection, ValidationResponse, first, answered | {"response": 100, "block_time": 10})
        connection.execute(text("UPDATE agent SET owner = :owner, wallet = NULL WHERE agent_id = 1"), {"owner": second})
        tables = read_tables(connection, *KEY.columns.values())
        after = {row["agent_id"]: row for row in _servers(connection)}
    assert tables.tables.ratings["client"].to_pylist() == [first, second]
    assert (tables.tables.validations.num_rows, tables.left_out) == (0, 1)  # who has the agent did not then
    reasons = {reason["code"]: reason for reason in json.loads(after[1]["reasons"])}
    assert after[1]["raters"] == 0 < before[1]["raters"]
    assert reasons["owner_changed"]["figures"] == {"at": 2_000_000_000, "raters": before[1]["raters"], "payments": 0}


def _servers(connection):
    table = Engine().fit(read_tables(connection, *KEY.columns.values()).tables).standings()
    return [row for row in table.to_pylist() if row["side"] == "server"]


def test_a_second_analysis_replaces_the_first(analysed):
    before = {table.name: len(rows(analysed, table)) for table in (schema.analysis, *schema.RESULT_TABLES)}
    analyse(analysed, KEY)
    assert {table.name: len(rows(analysed, table)) for table in (schema.analysis, *schema.RESULT_TABLES)} == before


def test_a_reviewed_account_is_not_flagged(funded, market):
    innocent = market.ring[0]
    cases = Reviews.of([{"account": innocent, "verdict": "innocent", "reason": "a person showed its papers"}])
    analyse(funded, KEY, cases)
    assert innocent not in flagged(funded)
    assert rows(funded, schema.analysis)[0]["reviewed_cases"] == 1
    with funded.connect() as connection:
        told = explain(stored_results(connection, KEY), innocent)
    assert told["summary"][1] == "Reviewers found it innocent, which overrides its findings."


def test_trust_spreads_from_the_readers_list(funded, market):
    analyse(funded, KEY, trusted=[market.clients[0]])
    trust = {row["account"]: row["trust"] for row in rows(funded, schema.suspicion) if row["trust"] is not None}
    assert market.clients[0] in trust
    assert not trust.keys() & set(market.ring)


def test_a_rollback_removes_findings_on_blocks_that_are_gone_and_says_that_scores_are_not_exact(analysed, market):
    store = ChainStore(analysed, 31337, PROJECTIONS)
    last = max(row["block_number"] for row in rows(analysed, schema.finding_row))
    header = market.chain.rpc("eth_getBlockByNumber", hex(last - 1), False)
    gone = {row["finding_id"] for row in rows(analysed, schema.finding_row) if row["block_number"] >= last}
    store.roll_back(store.cursor(), Block(last - 1, bytes.fromhex(header["hash"][2:]), int(header["timestamp"], 16)))
    for table in (schema.finding, schema.finding_member, schema.finding_row):
        assert not gone & {row["finding_id"] for row in rows(analysed, table)}
    with analysed.connect() as connection:
        assert current_analysis(connection, KEY)["is_exact"] is False


def test_a_registry_without_rows_is_refused(indexed):
    nowhere = AnalysisKey(31337, "0x" + "00" * 20)
    with pytest.raises(InvalidArgumentError, match='no agents from "0x0000'):
        analyse(indexed, nowhere)


def test_before_the_first_analysis_there_is_none(indexed):
    with indexed.connect() as connection:
        assert current_analysis(connection, KEY) is None


def test_tables_hold_what_the_story_tells(funded, market):
    with funded.connect() as connection:
        tables = read_tables(connection, *KEY.columns.values())
    assert tables.tables.agents["owner"].to_pylist() == [*market.owners, market.master]
    assert tables.tables.agents["agent_id"].to_pylist() == list(range(1, 10))
    feedback = tables.tables.feedback.to_pylist()
    assert [row["id"] for row in feedback] == list(range(len(feedback)))
    assert {row["client"] for row in feedback} == {*market.clients, *market.ring}
    assert {row["tag"] for row in feedback} == {"starred"}
    assert tables.tables.payments.num_rows == 0
    assert {(row["src"], row["dst"], row["amount"]) for row in tables.tables.transfers.to_pylist()} == {
        (source, account, amount / 10**18) for account, (source, amount, *_) in market.funded.items()
    }
    assert pa.types.is_float64(tables.tables.transfers["amount"].type)


def test_parts_of_a_suspicion_are_stored(analysed, market):
    (row,) = [row for row in rows(analysed, schema.suspicion) if row["account"] == market.ring[0]]
    assert sum(json.loads(row["parts"]).values()) == pytest.approx(row["suspicion"])


def changes_of(engine, kind, since="0"):
    with snapshot(engine) as connection:
        return read_feed(connection, since, FeedFilter(kinds=(kind,))).items


def test_the_change_feed_tells_new_flags_and_verdicts_once(funded, market):
    analyse(funded, KEY)
    flags, verdicts = changes_of(funded, ChangeKind.FLAG), changes_of(funded, ChangeKind.VERDICT)
    assert {change.accounts[0] for change in flags} == flagged(funded)
    assert all(change.details == {"is_flagged": True} for change in flags)
    stored = {(f"31337:{row['agent_id']}", row["side"], row["status"]) for row in rows(funded, standing)}
    told = {(change.agents[0], change.details["side"], change.details["status"]) for change in verdicts}
    assert told == {entry for entry in stored if entry[2] != "thin"} != set()
    analyse(funded, KEY)
    assert changes_of(funded, ChangeKind.FLAG) == flags
    innocent = market.ring[0]
    cases = Reviews.of([{"account": innocent, "verdict": "innocent", "reason": "a person showed its papers"}])
    analyse(funded, KEY, cases)
    later = changes_of(funded, ChangeKind.FLAG, flags[-1].id)
    assert [(change.accounts, change.details) for change in later] == [((innocent,), {"is_flagged": False})]
