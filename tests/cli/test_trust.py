"""The commands of the trust analysis, on a folder of tables."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.trust.conftest import Scene, address_of, addressed

SYBIL = address_of("sybil0")


@pytest.fixture
def tables(tmp_path):
    scene = Scene()
    for number in range(20):
        scene.agent(number + 1, f"owner{number}", ts=10.0 * number)
    for number in range(200):
        scene.transfer(f"exchange{number % 2}", f"client{number}", 20.0 + number, 100.0 * number)
        for step in range(5):
            scene.feedback(f"client{number}", (number * 7 + step * 3) % 20 + 1, 60 + number % 35, 5000.0 * step)
    scene.agent(99, "mastermind", ts=50.0)
    for number in range(8):
        scene.transfer("mastermind", f"sybil{number}", 5.0, 6000.0 + number)
        scene.feedback(f"sybil{number}", 99, 100, 7000.0 + number)
    addressed(scene.tables()).write(tmp_path / "tables")
    return tmp_path / "tables"


def test_a_small_ring_is_found_and_explained(done, tables, tmp_path):
    out = tmp_path / "results"
    told = done("trust", "analyse", "--tables", tables, "--out", out)
    assert (told["agents"], told["flagged"]) == (21, 9)
    assert parquet.read_table(out / "addresses.parquet").num_rows == 231
    account = done("trust", "explain", SYBIL, "--out", out)
    assert account["flagged"] is True
    finding = done("trust", "explain", account["findings"][0], "--out", out)
    assert SYBIL in finding["actors"]
    assert done("trust", "explain", "99", "--out", out)["status"] == "flagged"


def test_reviews_and_trust_lists_are_taken(done, tables, tmp_path):
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([{"account": SYBIL, "verdict": "innocent", "reason": "A known tester."}]))
    told = done(
        "trust",
        "analyse",
        "--tables",
        tables,
        "--out",
        tmp_path / "r",
        "--reviews",
        cases,
        "--trust",
        address_of("client3"),
    )
    assert (told["flagged"], told["trust_list"], told["unknown_cases"]) == (8, 1, [])
    assert parquet.read_table(tmp_path / "r" / "trust.parquet").num_rows > 1
    account = done("trust", "explain", SYBIL, "--out", tmp_path / "r")
    assert account["review"] == {"verdict": "innocent", "reason": "A known tester."}


def test_a_case_of_an_account_that_does_not_occur_is_told(bilateral, done, refused, tables, tmp_path):
    cases, out = tmp_path / "cases.json", tmp_path / "r"
    cases.write_text('[{"account": "Sybil9", "verdict": "innocent", "reason": "A typo."}]')
    words = ("trust", "analyse", "--tables", tables, "--out", out, "--reviews", cases)
    ran = bilateral(*words)
    assert ran.code == 0
    assert 'change nothing, because no table has the address: "sybil9"' in ran.err
    assert done(*words)["unknown_cases"] == ["sybil9"]
    assert "was reviewed but appears in no table" in refused(3, "trust", "explain", "sybil9", "--out", out)["message"]


def test_tables_of_other_accounts_are_told(bilateral, done, tables, tmp_path):
    transfers = parquet.read_table(tables / "transfers.parquet")
    strangers = pa.array([address_of(address) for address in transfers["dst"].to_pylist()])
    parquet.write_table(transfers.set_column(1, "dst", strangers), tables / "transfers.parquet")
    words = ("trust", "analyse", "--tables", tables, "--out", tmp_path / "results")
    sentence = "only 0 of the 208 accounts in feedback.client are in transfers.dst"
    ran = bilateral(*words)
    assert ran.code == 0
    assert sentence in " ".join(ran.err.split())
    assert [warning.startswith(sentence) for warning in done(*words)["warnings"]] == [True]


def test_a_wrong_address_is_refused_with_its_row(refused, tables, tmp_path):
    feedback = parquet.read_table(tables / "feedback.parquet")
    clients = feedback["client"].to_pylist()
    clients[11] = "alice.eth"
    parquet.write_table(feedback.set_column(1, "client", pa.array(clients)), tables / "feedback.parquet")
    error = refused(3, "trust", "analyse", "--tables", tables, "--out", tmp_path / "r")
    assert error["message"].startswith('feedback.client has "alice.eth" in row 12: write an address')


def test_tables_at_a_url_are_analysed_and_decided_on(done, tables, tmp_path):
    asks = pa.table({"ask_id": [7], "asker": [SYBIL], "agent_id": [99], "ts": [1e9], "amount": [40.0]})
    parquet.write_table(asks, tmp_path / "asks.parquet")
    url = f"file://{tables}"
    assert done("trust", "analyse", "--tables", url, "--out", tmp_path / "results")["flagged"] == 9
    out = tmp_path / "answers.parquet"
    assert done("trust", "decide", "--tables", url, "--asks", tmp_path / "asks.parquet", "--out", out)["asks"] == 1


def test_several_chains_are_analysed_and_explained(done, refused, tables, tmp_path):
    folders = [word for chain_id in (1, 8453) for word in ("--tables", f"{chain_id}={tables}")]
    out = tmp_path / "results"
    assert done("trust", "analyse", *folders, "--out", out)["agents"] == 42
    assert done("trust", "explain", "99", "--out", out, "--chain-id", "8453")["chain_id"] == 8453
    assert "pass one as --chain-id" in refused(3, "trust", "explain", "99", "--out", out)["message"]


def test_several_folders_without_their_chains_are_refused(refused, tables, tmp_path):
    words = ("trust", "analyse", "--tables", tables, "--tables", f"1={tables}", "--out", tmp_path / "r")
    assert "each needs a chain id" in refused(2, *words)["message"]


@pytest.mark.parametrize("sources", [(), ("--tables", "tables", "--database", "sqlite:///index.sqlite")])
def test_analysis_of_no_rows_or_of_two_sources_is_refused(refused, sources, tmp_path):
    told = refused(2, "trust", "analyse", *sources, "--out", tmp_path / "r")["message"]
    assert told == "pass exactly one of --tables and --database (the database of an index)"


@pytest.mark.parametrize(
    "url", ["duckdb://tables.duckdb", "postgresql://host/tables", "1=postgres://host/tables", "sc://host:50051/#s3://b"]
)
def test_a_database_as_tables_is_refused(refused, tmp_path, url):
    error = refused(2, "trust", "analyse", "--tables", url, "--out", tmp_path / "r")
    assert "export the tables to a folder with COPY … TO" in error["message"]
    assert refused(2, "trust", "seeds", "--tables", url) == error


@pytest.mark.parametrize("option", ["--memory", "--checkpoints"])
def test_a_removed_option_is_refused(refused, tables, tmp_path, option):
    words = ("trust", "analyse", "--tables", tables, "--out", tmp_path / "r", option, "4")
    assert refused(2, *words)["message"].startswith(f"{option} has been removed: ")


def test_a_folder_that_takes_no_results_is_refused(refused, tables, tmp_path):
    (tmp_path / "file").touch()
    message = refused(3, "trust", "analyse", "--tables", tables, "--out", tmp_path / "file")["message"]
    assert message.startswith("results cannot be written to")


def test_a_folder_without_tables_is_refused(refused, tmp_path):
    error = refused(3, "trust", "analyse", "--tables", tmp_path, "--out", tmp_path / "r")
    assert error["reason"] == "invalid_argument"


def test_an_explanation_without_results_says_what_to_run(refused, tmp_path):
    error = refused(3, "trust", "explain", "1", "--out", tmp_path)
    assert "run `bilateral trust analyse" in error["message"]


def test_asks_are_answered_and_written(done, tables, tmp_path):
    asks = pa.table({"ask_id": [7], "asker": [SYBIL], "agent_id": [99], "ts": [1e9], "amount": [40.0]})
    parquet.write_table(asks, tmp_path / "asks.parquet")
    out = tmp_path / "answers.parquet"
    told = done("trust", "decide", "--tables", tables, "--asks", tmp_path / "asks.parquet", "--out", out)
    assert (told["asks"], told["accept"]) == (1, 0)
    (answer,) = parquet.read_table(out).to_pylist()
    assert (answer["ask_id"], answer["verdict"] != "accept") == (7, True)


def test_without_good_buyers_nobody_is_proposed(done, tables):
    assert done("trust", "seeds", "--tables", tables) == {"proposals": []}
