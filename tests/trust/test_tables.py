"""Tables are checked as they come in, and coded without loss."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.tables.coding import coded
from bilateral.trust.tables.opinions import Kind
from bilateral.trust.tables.schema import COLUMNS, Tables
from tests.trust.conftest import addressed


def test_tables_are_read_as_they_were_written(market, tmp_path):
    tables = addressed(market.tables())
    tables.write(tmp_path)
    again = Tables.read(tmp_path)
    assert again.feedback.select(["id", "value", "ts"]) == tables.feedback.select(["id", "value", "ts"])
    assert coded(again).addresses == coded(tables).addresses


def test_chunks_with_dictionaries_of_their_own_are_read_together(tmp_path):
    texts = [[f"0x{chunk:020x}{number:020x}" for number in range(200)] for chunk in range(2)]
    codes = pa.array(np.arange(200, dtype=np.uint8))
    uri = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(text)) for text in texts])
    numbers = np.arange(400)
    agents = {"agent_id": numbers, "owner": uri, "wallet": uri, "uri": uri, "ts": numbers, "is_validator": numbers < 0}
    table = pa.table(agents)
    with pq.ParquetWriter(tmp_path / "agents.parquet", table.schema) as writer:
        for start in (0, 200):
            writer.write_table(table.slice(start, 200))
    for tables in (Tables.of(agents=table), Tables.read(tmp_path)):
        ledger = coded(tables)
        assert ledger.addresses.take(pa.array(ledger.owner)).to_pylist() == [*texts[0], *texts[1]]
        assert len(set(ledger.uri.tolist())) == 400


def test_a_folder_without_agents_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"has no agents\.parquet: specify a folder of tables"):
        Tables.read(tmp_path)


def test_an_invalid_table_is_refused(market, tmp_path):
    addressed(market.tables()).write(tmp_path)
    (tmp_path / "feedback.parquet").write_text("not a table")
    with pytest.raises(InvalidArgumentError, match=r"feedback\.parquet is not a Parquet table"):
        Tables.read(tmp_path)


@pytest.mark.parametrize(
    ("column", "place"), [("owner", "agents.parquet: column owner"), ("uri", "agents.uri"), ("ts", "agents.ts")]
)
def test_a_column_of_codes_that_cannot_be_read_is_named_with_its_file(market, tmp_path, column, place):
    addressed(market.tables()).write(tmp_path)
    agents = pq.read_table(tmp_path / "agents.parquet")
    bytes_of = pa.array([b"\xff\xfe"] * len(agents)).dictionary_encode()
    agents = agents.set_column(agents.column_names.index(column), column, bytes_of)
    pq.write_table(agents, tmp_path / "agents.parquet")
    with pytest.raises(InvalidArgumentError, match=rf"^{re.escape(place)} has .* in row 1, which cannot be read as"):
        Tables.read(tmp_path)


def test_a_missing_file_is_an_empty_table(market, tmp_path):
    addressed(market.tables()).write(tmp_path)
    (tmp_path / "payments.parquet").unlink()
    assert Tables.read(tmp_path).payments.num_rows == 0


def test_an_unknown_table_is_refused():
    with pytest.raises(InvalidArgumentError, match='unknown table "reviews": expected one of agents'):
        Tables.of(reviews=pa.table({}))


def test_a_missing_column_is_named():
    with pytest.raises(InvalidArgumentError, match='table transfers has no column "dst": add it'):
        Tables.of(transfers=pa.table({"src": ["a"]}))


def test_a_column_of_another_type_is_named():
    table = pa.table({"src": ["a"], "dst": ["b"], "amount": ["much"], "ts": [1.0]})
    with pytest.raises(
        InvalidArgumentError, match=r'transfers\.amount has "much" in row 1, which cannot be read as double'
    ):
        Tables.of(transfers=table)


def test_files_without_known_columns_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "agents.parquet")
    with pytest.raises(InvalidArgumentError, match='table agents has no column "agent_id": add it'):
        Tables.read(tmp_path)


def test_extreme_values_are_cut_to_the_scale_of_their_tag(scene):
    scene.agent(1, "owner")
    for value in (1e38, -1e38, float("inf"), float("nan"), 50):
        scene.feedback("client", 1, value)
    opinions = scene.ledger().opinions
    assert sorted(opinions.percent.tolist()) == [0, 0, 50, 100, 100]
    assert np.isfinite(opinions.raw).all()


def test_rows_about_unknown_agents_are_counted_and_left_out(scene):
    scene.agent(1, "owner")
    scene.feedback("client", 2, 50)
    scene.rating("client", 7, 50)
    ledger = scene.ledger()
    assert ledger.dropped == 2
    assert len(ledger.opinions) == 0


@pytest.mark.parametrize("last", [9, 999], ids=["numbered from 0", "with gaps"])
@pytest.mark.parametrize("unknown", [-1, -2, -5, -1_000])
def test_a_negative_agent_id_is_unknown(scene, last, unknown):
    for agent_id in (*range(9), last):
        scene.agent(agent_id, "owner")
    scene.feedback("client", unknown, 50)
    ledger = scene.ledger()
    assert (ledger.dropped, len(ledger.opinions)) == (1, 0)


def test_a_tag_with_one_value_does_not_count_as_quality(market):
    for number in range(60):
        market.feedback(f"client{number % 40}", number % 20 + 1, 1, tag="vouch")
    ledger = market.ledger()
    assert (ledger.opinions.kind == Kind.CONSTANT_TAG).sum() == 60
    assert np.isnan(ledger.opinions.percent[ledger.opinions.kind == Kind.CONSTANT_TAG]).all()


def test_the_first_inbound_transfer_funds_an_account(scene):
    scene.agent(1, "owner")
    scene.transfer("late", "client", 2.0, 20.0)
    scene.transfer("early", "client", 1.0, 10.0)
    ledger = scene.ledger()
    client = ledger.addresses.index("client").as_py()
    assert ledger.addresses[int(ledger.funder[client])].as_py() == "early"
    assert (ledger.funded_at[client], ledger.funded_with[client]) == (10.0, 1.0)


def test_a_transfer_that_is_not_the_first_funds_nobody(scene):
    scene.agent(1, "owner")
    scene.transfer("stranger", "client", ts=50.0)
    scene.transfer("exchange", "client", ts=60.0)
    scene.feedback("client", 1, 90)
    tables = scene.tables()
    marked = Tables.of(
        **{name: getattr(tables, name) for name in COLUMNS if name != "transfers"},
        transfers=tables.transfers.append_column("funds", pa.array([False, None])),
    )
    for variant, funder in ((tables, "stranger"), (marked, "exchange")):
        ledger = coded(variant)
        names = ledger.addresses.to_pylist()
        assert names[ledger.funder[names.index("client")]] == funder


def test_a_proof_that_names_no_payment_is_told_apart(scene):
    scene.agent(1, "owner")
    paid = scene.payment("client", "owner", 1)
    scene.feedback("client", 1, 50, payment_tx=paid)
    scene.feedback("client", 1, 50, payment_tx="0xdead")
    scene.feedback("client", 1, 50)
    assert scene.ledger().opinions.payment.tolist() == [0, -2, -1]


def test_an_empty_text_names_no_payment(scene):
    scene.agent(1, "owner")
    scene.payment("client", "owner", 1)
    scene.feedback("client", 1, 50, payment_tx="")
    assert scene.ledger().opinions.payment.tolist() == [-1]


@pytest.mark.parametrize(("table", "column"), [("agents", "agent_id"), ("feedback", "id"), ("feedback", "value")])
def test_numbers_that_are_coded_texts_are_taken(market, table, column):
    tables = market.tables()
    table_before = getattr(tables, table)
    codes = table_before[column].cast(pa.string()).dictionary_encode()
    dictionary = table_before.set_column(table_before.column_names.index(column), column, codes)
    others = {name: getattr(tables, name) for name in COLUMNS if name != table}
    again = Tables.of(**{table: dictionary}, **others)
    assert np.array_equal(coded(again).opinions.raw, coded(tables).opinions.raw)
    assert coded(again).agent_ids.tolist() == coded(tables).agent_ids.tolist()


def test_amounts_beyond_the_largest_value_are_cut(scene):
    scene.agent(1, "owner")
    scene.transfer("source", "client", 1e300, 10.0)
    ledger = scene.ledger()
    client = ledger.addresses.index("client").as_py()
    assert (ledger.funded_with[client], ledger.funding[client]) == (1e38, 0)


def test_a_proof_by_a_transaction_of_several_payments_names_the_right_one(scene):
    scene.agent(1, "owner")
    scene.agent(2, "other")
    for payer, agent_id in (("client", 2), ("stranger", 1), ("client", 1)):
        paid = scene.payment(payer, "owner", agent_id)
        scene.rows["payments"][-1] = ("0xbatch", *scene.rows["payments"][-1][1:])
    scene.feedback("client", 1, 50, payment_tx="0xbatch")
    scene.feedback("client", 2, 50, payment_tx="0xbatch")
    scene.feedback("thief", 2, 50, payment_tx=paid)
    opinions = scene.ledger().opinions
    assert dict(zip(opinions.row.tolist(), opinions.payment.tolist(), strict=True)) == {0: 2, 1: 0, 2: -2}
