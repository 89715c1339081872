"""Two vantages exchange what they measured, by files that only the one can have written."""

from __future__ import annotations

import base64
import itertools
import json

import pytest
from joserfc.jwk import OKPKey
from sqlalchemy import select

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.merge import export_vantage, merge
from bilateral.watchtower.periods import measure
from bilateral.watchtower.store import change, hour
from tests.watchtower.weeks import ROUNDS, WEEK, Week, target


@pytest.fixture(scope="module")
def key():
    return OKPKey.generate_key("Ed25519")


@pytest.fixture
def here(tmp_path):
    """A vantage from which the second endpoint seemed to be down."""
    folder = tmp_path / "here"
    folder.mkdir()
    week = Week(folder, target(1, "8453:1"), target(2, "8453:2"))
    week.up(week.listed[0])
    week.probe(week.listed[1], [Outcome.DOWN] * ROUNDS)
    week.change(week.listed[1], WEEK.first, Outcome.DOWN)
    return week


@pytest.fixture
def there(tmp_path):
    """Another vantage, which reached both endpoints, and a third one that is not listed here."""
    folder = tmp_path / "there"
    folder.mkdir()
    week = Week(folder, target(1, "8453:1"), target(2, "8453:2"), target(3, "8453:3"))
    for endpoint in week.listed:
        week.up(endpoint, vantage="us-1")
    return week


def rows(week):
    with week.store.engine.connect() as connection:
        stored = [row for table in (hour, change) for row in connection.execute(select(table)).mappings()]
    return sorted(str({name: value for name, value in row.items() if name != "number"}) for row in stored)


def test_a_vantage_adds_what_it_measured(here, there, key):
    file = export_vantage(there.store, WEEK, "us-1", key)
    assert merge(here.store, file, "us-1", key) == 2 * 7 * 24
    first, second = sorted(measure(here.store, WEEK), key=lambda leaf: leaf["url"])
    assert (first["state"], first["uptime"][0]) == ("up", "100.0")
    assert (second["state"], second["code"], second["uptime"][0]) == ("degraded", "partial", "100.0")
    assert [vantage["state"] for vantage in second["vantages"].values()] == ["down", "up"]


def test_order_and_repetition_of_files_change_nothing(here, there, key, tmp_path):
    complete = export_vantage(there.store, WEEK, "us-1", key)
    lines = complete.splitlines(keepends=True)
    half = Week(tmp_path, *there.listed)
    half.probe(half.listed[0], [Outcome.UP] * (ROUNDS // 2 + 1), vantage="us-1")
    early = export_vantage(half.store, WEEK, "us-1", key)
    assert len(lines) > len(early.splitlines())
    merge(here.store, complete, "us-1", key)
    expected = rows(here)
    for files in itertools.permutations([complete, early, complete]):
        for file in files:
            merge(here.store, file, "us-1", key)
        assert rows(here) == expected


def test_a_later_file_completes_an_hour_that_an_earlier_one_began(here, there, key, tmp_path):
    half = Week(tmp_path, *there.listed)
    half.probe(half.listed[0], [Outcome.UP] * 2, vantage="us-1")
    for store in (half.store, there.store):
        merge(here.store, export_vantage(store, WEEK, "us-1", key), "us-1", key)
    leaf = min(measure(here.store, WEEK), key=lambda leaf: leaf["url"])
    assert leaf["vantages"]["us-1"]["known"] == ROUNDS


def unsigned(file):
    """The file without its signature."""
    statement, _, content = file.partition(b"\n")
    return statement.rpartition(b".")[0] + b".\n" + content


def renamed(file):
    """The file under the name of another vantage."""
    statement, _, content = file.partition(b"\n")
    header, payload, signature = statement.split(b".")
    named = json.loads(base64.urlsafe_b64decode(payload + b"==")) | {"vantage": "eu-1"}
    payload = base64.urlsafe_b64encode(json.dumps(named).encode()).rstrip(b"=")
    return b".".join((header, payload, signature)) + b"\n" + content


@pytest.mark.parametrize(
    "lie",
    [
        unsigned,
        renamed,
        lambda file: file.replace(b'"up":4', b'"up":3', 1),
        lambda file: file[:-1],
        lambda file: file + b"{}\n",
        lambda file: file.partition(b"\n")[2],
        lambda _: b"",
        lambda _: b"[]\n",
    ],
)
def test_a_file_without_a_valid_signature_is_refused(here, there, key, lie):
    before = rows(here)
    with pytest.raises(InvalidArgumentError, match="not signed by the vantage"):
        merge(here.store, lie(export_vantage(there.store, WEEK, "us-1", key)), "us-1", key)
    assert rows(here) == before


def test_a_vantage_speaks_for_itself_alone(here, there, key):
    for name, trusted in (("us-1", OKPKey.generate_key("Ed25519")), ("eu-1", key)):
        with pytest.raises(InvalidArgumentError, match="the vantage"):
            merge(here.store, export_vantage(there.store, WEEK, "us-1", key), name, trusted)


def test_an_hour_with_more_results_than_probes_is_refused(here, there, key):
    with there.store.engine.begin() as connection:
        connection.execute(hour.update().values(counts={"scheduled": 1, "up": 4}))
    before = rows(here)
    with pytest.raises(InvalidArgumentError, match="exceed its scheduled probes"):
        merge(here.store, export_vantage(there.store, WEEK, "us-1", key), "us-1", key)
    assert rows(here) == before
