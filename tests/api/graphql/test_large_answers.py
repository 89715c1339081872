"""Answers have a limit in bytes: a stranger's file may be large, and a query may name it thousands of times."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url

from bilateral.api.graphql import execution
from bilateral.api.graphql import statements as entities
from bilateral.api.graphql.execution import Checked, GraphqlRequest
from bilateral.api.graphql.rows import chains_of
from bilateral.api.graphql.statements import Page, Selected, read_list
from bilateral.index.errors import LargeAnswerError
from bilateral.index.reading.readers import Reader
from tests.api.world import CHAIN_ID, served

MANY_TIMES = (
    "{ agents(first: 1) { feedback(first: 16) { agent { feedback(first: 16) "
    "{ agent { registrationFile { description } } } } } } }"
)


def test_answer_that_is_too_large_is_refused(query, monkeypatch):
    text = "{ agents { id owner agentURI } }"
    assert query(text)["agents"]
    monkeypatch.setattr(execution, "MOST_BYTES", 100)
    with pytest.raises(LargeAnswerError, match="exceeds 100 bytes"):
        query(text)


def test_list_that_is_too_large_ends_at_the_entry_that_is_too_much(api_reader, registries, monkeypatch):
    chains = chains_of(registries, CHAIN_ID)
    selection = (Selected("id", "id"),)
    with api_reader.connect() as connection:
        listed = read_list(connection, chains, "Agent", selection, Page(first=3))
        size = len(listed)
        monkeypatch.setattr(entities, "MOST_BYTES", size)
        assert read_list(connection, chains, "Agent", selection, Page(first=3)) == listed
        monkeypatch.setattr(entities, "MOST_BYTES", size - 1)
        with pytest.raises(LargeAnswerError, match=f"exceeds {size - 1} bytes"):
            read_list(connection, chains, "Agent", selection, Page(first=3))


def described(api_sqlite, tmp_path, description):
    """Return a copy of the index in which the file of one agent has another description."""
    path = Path(shutil.copy(make_url(api_sqlite).database, tmp_path))
    with sqlite3.connect(path) as connection:
        changed = connection.execute(
            "UPDATE registration_file SET description = ? WHERE name = ?", (description, "Weather Oracle")
        )
        assert changed.rowcount == 1
    connection.close()
    return path


@pytest.mark.parametrize(
    "text",
    [
        "{ agents(first: 3) { id registrationFile { description } } }",
        '{ agent(id: "31337:1") { registrationFile { description } } }',
        '{ one: agent(id: "31337:1") { registrationFile { description } } __typename _meta { block { number } } }',
    ],
    ids=["list", "entity", "several fields"],
)
@pytest.mark.parametrize("letter", ["x", "é", "天", "😀"], ids=["1 byte", "2 bytes", "3 bytes", "4 bytes"])
def test_the_limit_counts_the_bytes_of_the_whole_answer(api_sqlite, registries, tmp_path, monkeypatch, text, letter):
    reader = Reader(f"sqlite:///{described(api_sqlite, tmp_path, letter * 1_000)}")
    checked = Checked(GraphqlRequest(text, {}))

    def answer(limit):
        for module in (entities, execution):
            monkeypatch.setattr(module, "MOST_BYTES", limit)
        return reader.read(checked.answer, registries, CHAIN_ID)

    whole = answer(10**6)
    assert letter * 1_000 in whole.decode()
    assert answer(len(whole)) == whole
    with pytest.raises(LargeAnswerError, match=f"exceeds {len(whole) - 1} bytes"):
        answer(len(whole) - 1)
    reader.close()


def test_sqlite_ends_an_entry_that_is_too_large(api_sqlite, api_settings, tmp_path):
    path = described(api_sqlite, tmp_path, "x" * 1_000_000)
    with served(replace(api_settings, database=f"sqlite:///{path}")) as url:
        answer = httpx.post(f"{url}/graphql/31337", json={"query": MANY_TIMES}, timeout=300).json()
    assert "the response exceeds 33554432 bytes" in answer["errors"][0]["message"]
    assert "data" not in answer
