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
from bilateral.index.errors import LargeAnswerError
from bilateral.index.queries import entities
from bilateral.index.queries.entities import Page, Selected, read_list
from bilateral.index.queries.entities_rows import chains_of
from tests.api.world import CHAIN_ID, served

MANY_TIMES = (
    "{ agents(first: 1) { feedback(first: 16) { agent { feedback(first: 16) "
    "{ agent { registrationFile { description } } } } } } }"
)


def test_answer_that_is_too_large_is_refused(query, monkeypatch):
    text = "{ agents { id owner agentURI } }"
    assert query(text)["agents"]
    monkeypatch.setattr(execution, "MOST_BYTES", 100)
    with pytest.raises(LargeAnswerError, match="more than 100 bytes"):
        query(text)


def test_list_that_is_too_large_ends_at_the_entry_that_is_too_much(api_reader, registries, monkeypatch):
    chains = chains_of(registries, CHAIN_ID)
    selection = (Selected("id", "id"),)
    with api_reader.connect() as connection:
        listed = read_list(connection, chains, "Agent", selection, Page(first=3))
        size = len(listed) - len("[,,]")
        monkeypatch.setattr(entities, "MOST_BYTES", size)
        assert read_list(connection, chains, "Agent", selection, Page(first=3)) == listed
        monkeypatch.setattr(entities, "MOST_BYTES", size - 1)
        with pytest.raises(LargeAnswerError, match=f"more than {size - 1} bytes"):
            read_list(connection, chains, "Agent", selection, Page(first=3))


def test_sqlite_ends_an_entry_that_is_too_large(api_sqlite, api_settings, tmp_path):
    path = Path(shutil.copy(make_url(api_sqlite).database, tmp_path))
    with sqlite3.connect(path) as connection:
        name = "Weather Oracle"
        changed = connection.execute(
            "UPDATE registration_file SET description = ? WHERE name = ?", ("x" * 1_000_000, name)
        )
        assert changed.rowcount == 1
    connection.close()
    with served(replace(api_settings, database=f"sqlite:///{path}")) as url:
        answer = httpx.post(f"{url}/graphql/31337", json={"query": MANY_TIMES}, timeout=300).json()
    assert "the answer has more than 33554432 bytes" in answer["errors"][0]["message"]
    assert "data" not in answer
