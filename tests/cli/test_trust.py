"""The commands of the trust analysis, on a folder of tables."""

from __future__ import annotations

import ibis
import pytest
from pyarrow import parquet

from tests.trust.conftest import Scene


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
    scene.tables().write(tmp_path / "tables")
    return tmp_path / "tables"


def test_a_small_ring_is_found_and_explained(done, tables, tmp_path):
    out = tmp_path / "results"
    told = done("trust", "analyse", "--tables", tables, "--out", out)
    assert (told["agents"], told["flagged"]) == (21, 9)
    assert parquet.read_table(out / "addresses.parquet").num_rows == 231
    account = done("trust", "explain", "sybil0", "--out", out)
    assert account["flagged"] is True
    finding = done("trust", "explain", account["findings"][0], "--out", out)
    assert "sybil0" in finding["actors"]
    assert done("trust", "explain", "99", "--out", out)["status"] == "flagged"


def test_reviews_and_trust_lists_are_taken(done, tables, tmp_path):
    cases = tmp_path / "cases.json"
    cases.write_text('[{"account": "sybil0", "verdict": "innocent", "reason": "A known tester."}]')
    told = done(
        "trust", "analyse", "--tables", tables, "--out", tmp_path / "r", "--reviews", cases, "--trust", "client3"
    )
    assert (told["flagged"], told["trust_list"], told["unknown_cases"]) == (8, 1, [])
    assert parquet.read_table(tmp_path / "r" / "trust.parquet").num_rows > 1
    account = done("trust", "explain", "sybil0", "--out", tmp_path / "r")
    assert account["review"] == {"verdict": "innocent", "reason": "A known tester."}


def test_a_case_of_an_account_that_does_not_occur_is_told(bilateral, done, refused, tables, tmp_path):
    cases, out = tmp_path / "cases.json", tmp_path / "r"
    cases.write_text('[{"account": "Sybil9", "verdict": "innocent", "reason": "A typo."}]')
    words = ("trust", "analyse", "--tables", tables, "--out", out, "--reviews", cases)
    ran = bilateral(*words)
    assert ran.code == 0
    assert 'change nothing, because no table has the address: "sybil9"' in ran.err
    assert done(*words)["unknown_cases"] == ["sybil9"]
    assert "was reviewed, and occurs in no table" in refused(3, "trust", "explain", "sybil9", "--out", out)["message"]


def test_a_database_is_analysed_as_a_folder_is(done, tables, tmp_path):
    connection = ibis.duckdb.connect(tmp_path / "tables.duckdb")
    for file in tables.iterdir():
        connection.create_table(file.stem, parquet.read_table(file))
    connection.disconnect()
    out = tmp_path / "results"
    told = done("trust", "analyse", "--tables", f"duckdb://{tmp_path / 'tables.duckdb'}", "--out", out)
    assert (told["agents"], told["flagged"]) == (21, 9)


def test_a_database_that_does_not_open_is_refused(refused, tmp_path):
    url = f"duckdb://{tmp_path / 'missing.duckdb'}"
    error = refused(3, "trust", "analyse", "--tables", url, "--out", tmp_path / "r")
    assert error["message"].startswith(f'no database opens at "{url}"')


def test_a_folder_without_tables_is_refused(refused, tmp_path):
    error = refused(3, "trust", "analyse", "--tables", tmp_path, "--out", tmp_path / "r")
    assert error["reason"] == "invalid_argument"


def test_an_explanation_without_results_says_what_to_run(refused, tmp_path):
    error = refused(3, "trust", "explain", "1", "--out", tmp_path)
    assert "run bilateral trust analyse" in error["message"]
