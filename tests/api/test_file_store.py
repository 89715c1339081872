"""The operator's store of registration files: bounded, and old files that no agent names make room."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from sqlalchemy import insert

from bilateral.api.file_store import OperatorStore
from bilateral.api.problems import ProblemError
from bilateral.api.service import Service
from bilateral.api.settings import ApiSettings
from bilateral.errors import InvalidArgumentError
from bilateral.index.store.database import open_database
from bilateral.index.tables.schema import agent

URL = "https://explorer.example/files"


@pytest.fixture
def store(tmp_path):
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    open_database(database).dispose()
    service = Service(ApiSettings(database=database, store=str(tmp_path / "files"), store_url=URL))
    yield OperatorStore(service, tmp_path / "files", URL, most=2)
    service.close()


def name_by_an_agent(store, uri):
    engine = open_database(store.service.settings.database)
    row = {column.name: 0 for column in agent.c if not column.nullable}
    row |= {"identity_registry": f"0x{'1' * 40}", "owner": f"0x{'2' * 40}", "uri": uri}
    with engine.begin() as connection:
        connection.execute(insert(agent).values(**row))
    engine.dispose()


def test_full_store_refuses_in_words_and_old_files_that_no_agent_names_make_room(store):
    kept, unclaimed = (store.put(content) for content in (b'{"kept":1}', b'{"unclaimed":1}'))
    with pytest.raises(ProblemError, match="the store of this service is full"):
        store.put(b'{"third":1}')
    name_by_an_agent(store, kept.uri)
    hours_ago = time.time() - 7_200
    for path in store.folder.glob("*.json"):
        os.utime(path, (hours_ago, hours_ago))
    third = store.put(b'{"third":1}')
    names = {f"{URL}/{path.name}" for path in Path(store.folder).glob("*.json")}
    assert names == {kept.uri, third.uri}
    assert unclaimed.uri not in names


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"store": "files"}, "name both or none"),
        ({"store_url": URL}, "name both or none"),
        ({"store": "files", "store_url": "http://explorer.example/files"}, "is not an https URL"),
    ],
)
def test_store_without_folder_or_public_url_is_refused(settings, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        ApiSettings(**settings)
