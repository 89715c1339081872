"""The operator's store of registration files: bounded, and old files that no agent names make room."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from sqlalchemy import insert

from bilateral.api.answers import ProblemError
from bilateral.api.file_store import PENDING, OperatorStore
from bilateral.api.service import Service
from bilateral.api.settings import ApiSettings
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.agents.tables import agent
from bilateral.index.log.database import open_database

URL = "https://explorer.example/files"


@pytest.fixture
def store(tmp_path):
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    open_database(database).dispose()
    service = Service(ApiSettings(database=database, store=str(tmp_path / "files"), store_url=URL))
    yield OperatorStore(service, f"0x{'3' * 40}", tmp_path / "files", URL, most=2)
    service.close()


def name_by_an_agent(store, uri, agent_id=0):
    engine = open_database(store.service.settings.database)
    row = {column.name: 0 for column in agent.c if not column.nullable}
    row |= {"identity_registry": f"0x{'1' * 40}", "owner": f"0x{'2' * 40}", "uri": uri, "agent_id": agent_id}
    with engine.begin() as connection:
        connection.execute(insert(agent).values(**row))
    engine.dispose()


def age(store):
    """Make the pending files two hours old."""
    for path in (store.folder / PENDING).glob("*.json"):
        os.utime(path, (time.time() - 7_200,) * 2)


def names(folder):
    return {f"{URL}/{path.name}" for path in folder.glob("*.json")}


def test_full_store_refuses_in_words_and_old_files_that_no_agent_names_make_room(store):
    for content in (b'{"first":1}', b'{"second":1}'):
        store.put(content)
    with pytest.raises(ProblemError, match="this service's store is full"):
        store.put(b'{"third":1}')
    age(store)
    third = store.put(b'{"third":1}')
    assert names(store.folder / PENDING) == {third.uri}


def test_files_that_agents_name_do_not_count(store):
    """Each has cost its owner a transaction."""
    claimed = [store.put(b'{"claimed":%d}' % number) for number in range(2)]
    for number, document in enumerate(claimed):
        name_by_an_agent(store, document.uri, number)
    age(store)
    others = {store.put(b'{"other":%d}' % number).uri for number in range(2)}
    assert (names(store.folder), names(store.folder / PENDING)) == ({document.uri for document in claimed}, others)
    assert store.put(b'{"claimed":0}') == claimed[0]
    assert names(store.folder / PENDING) == others


def test_account_has_a_limited_number_of_files_an_hour(store, monkeypatch):
    monkeypatch.setattr("bilateral.api.file_store.OF_ACCOUNT", 2)
    other = replace(store, account=f"0x{'4' * 40}", most=9)
    for number in (1, 2, 2, 1):
        replace(store, most=9).put(b'{"file":%d}' % number)
    with pytest.raises(ProblemError, match="has had 2 files stored within an hour") as refused:
        replace(store, most=9).put(b'{"file":3}')
    assert (refused.value.code, refused.value.status) == ("too_many_files", 429)
    other.put(b'{"file":3}')


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"store": "files"}, "must be set together"),
        ({"store_url": URL}, "must be set together"),
        ({"store": "files", "store_url": "http://explorer.example/files"}, "is not an https URL"),
    ],
)
def test_store_without_folder_or_public_url_is_refused(settings, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        ApiSettings(**settings)
