"""The first page and the search box over an index with a flood: rows, marks, files, transactions and bytes."""

from __future__ import annotations

import csv
import gzip
import io
from hashlib import sha256

import httpx
import pytest

from bilateral.api.routes import rating_files
from bilateral.api.settings import ApiSettings
from bilateral.core.events import ClientRated, NewFeedback
from bilateral.explorer.text import plain, visible
from bilateral.index.log.database import open_database
from tests.api.world import served
from tests.explorer.html import Page
from tests.explorer.stored import NOTHING, REPUTATION, Ledger, account

CHAIN = 31337
FLOODS = 1_100
TAG, TAGS = "\u202e" * 60, 50

MOST_BYTES = 20_000
"""The bytes of a page that is sent, of the 200 kB of a first view: fonts and styles take most of these."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """An HTTP client of a service whose agent 1 one account floods with tags that nobody sees."""
    database = f"sqlite:///{tmp_path_factory.mktemp('front') / 'index.sqlite'}"
    engine, ledger = open_database(database), Ledger(CHAIN)
    for agent in (1, 2):
        ledger.register(agent, account(f"owner {agent}"), {"type": "x", "name": f"Agent {agent}", "description": ""})
    for index in range(1, 4):
        feedback = (1, account(f"honest {index}"), 1, 90, 0, NOTHING, "starred", "", "", "", NOTHING, None)
        ledger.log(NewFeedback, REPUTATION, *feedback)
    ledger.log(ClientRated, REPUTATION, 1, 2, 80)
    for index in range(1, FLOODS + 1):
        tag = f"{TAG}{index % TAGS}"
        feedback = (1, account("flooder"), index, 100, 0, NOTHING, tag, "", "", "", NOTHING, None)
        ledger.log(NewFeedback, REPUTATION, *feedback)
    ledger.store(engine)
    engine.dispose()
    settings = ApiSettings(database=database, rate=None, query_seconds=60.0, max_silence=10**9)
    with served(settings) as url, httpx.Client(base_url=url, timeout=60, headers={"Accept": "text/html"}) as client:
        yield client


def test_account_that_floods_has_three_rows_of_the_first_page(site):
    latest = site.get("/index.json").json()["latest"]
    raters = [row["by_account"] for row in latest]
    assert raters.count(account("flooder")) == 3
    html = site.get("/").text
    assert html.count("U+202E and 39 more") == 3  # a cell shows 40 characters
    assert html.count("<mark") == 3


def test_pages_with_fifty_tags_of_unseen_characters_stay_light(site):
    for path in ("/", "/31337/1", "/31337/1/ratings", "/search?tag=starred"):
        with site.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as packed:
            assert sum(map(len, packed.iter_raw())) < MOST_BYTES, path


def test_first_page_shows_one_direction_alone(site):
    for side in ("server", "client"):
        assert {row["side"] for row in site.get(f"/index.json?side={side}").json()["latest"]} == {side}
        assert f'data-live="/latest?side={side}"' in site.get(f"/?side={side}").text
    assert site.get("/?side=judge").status_code == 400


def test_marks_of_a_run_of_unseen_characters_are_one(site):
    assert visible("a" + "\u200b" * 3).count("<mark") == 3
    assert visible("a" + "\u200b" * 4 + "b").count("<mark") == 1
    assert plain("\u200b" * 60) == "[U+200B and 59 more]"


def test_file_of_ratings_has_all_rows_under_a_telling_name(site):
    answer = site.get("/31337/1/ratings.csv?cursor=of-another-page")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="bilateral-31337-1-ratings-as-server.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len({row["id"] for row in rows}) == len(rows) == FLOODS + 3
    assert len(list(csv.DictReader(io.StringIO(site.get("/31337/1/ratings.csv?tag=starred").text)))) == 3
    assert "/31337/1/ratings.csv" in Page(site.get("/31337/1").text).attributes("href")
    assert site.get("/31337/9/ratings.csv").status_code == 404


def test_third_file_at_a_time_is_told_to_wait(site):
    with rating_files._SLOTS, rating_files._SLOTS:
        busy = site.get("/31337/1/ratings.csv", headers={"Accept": "*/*"})
    assert (busy.status_code, busy.json()["code"], busy.headers["Retry-After"]) == (503, "files_busy", "10")
    assert site.get("/31337/1/ratings.csv").status_code == 200


def test_transaction_leads_to_the_pages_of_its_ratings(site):
    (rating,) = (
        site.get("/31337/2/ratings.json?side=given").json()["ratings"]
        or site.get("/31337/1/ratings.json?side=client").json()["ratings"]
    )
    path = f"/31337/ratings/{rating['block']}-{rating['log_index']}"
    shown = site.get(f"/search?q={rating['transaction'].upper().replace('0X', '0x')}")
    assert path in Page(shown.text).attributes("href")
    unknown = site.get(f"/search?q=0x{sha256(b'unknown').hexdigest()}")
    assert "Nothing was found for this hash." in Page(unknown.text).text


def test_pages_and_scripts_are_compressed_for_who_takes_gzip(site):
    for path in ("/", "/31337/1", Page(site.get("/").text).attributes("src")[0]):
        plain_answer = site.get(path, headers={"Accept-Encoding": "identity"})
        with site.stream("GET", path, headers={"Accept-Encoding": "br, gzip;q=0.5"}) as packed:
            body = b"".join(packed.iter_raw())
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(body) == plain_answer.content
        assert len(body) < len(plain_answer.content) * 0.6
        assert "Accept-Encoding" in packed.headers["Vary"]
    assert "Content-Encoding" not in site.get("/", headers={"Accept-Encoding": "gzip;q=0"}).headers
    tag = site.get("/31337/1").headers["ETag"]
    assert tag.startswith('W/"')
    assert site.get("/31337/1", headers={"If-None-Match": tag}).status_code == 304
