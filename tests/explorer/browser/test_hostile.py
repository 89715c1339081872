"""Texts of attackers in a browser: nothing runs, nothing is loaded from elsewhere, and no layout breaks."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import String, select

from bench.world.people import IDENTITY
from bilateral.api.settings import ApiSettings
from bilateral.index.files import tables as files
from bilateral.index.log.database import open_database
from bilateral.index.log.tables import EVENT_TABLES
from tests.api.world import served
from tests.explorer.browser.hostile import CHAIN_ID, EVENTS, TEXTS, hostile_index, request_of
from tests.explorer.browser.watched import SIZES
from tests.explorer.stored import account

FILES = (
    *(files.registration_file, files.registration_card, files.registration_service),
    *(files.registration_capability, files.registration_claim, files.feedback_file),
)
"""The tables of the contents of files."""

OWN_WORDS = ("problems", "kind", "agent_uri")
"""The columns that hold words of the index, and the URI of the file that holds the texts: it changes later."""


@pytest.fixture(scope="session")
def hostile_database(tmp_path_factory):
    """The URL of the hostile index."""
    database = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'index.sqlite'}"
    hostile_index(database)
    return database


@pytest.fixture(scope="session")
def hostile_site(hostile_database):
    """The URL of the service over the hostile index."""
    with served(ApiSettings(database=hostile_database, rate=None, query_seconds=60.0, max_silence=10**9)) as url:
        yield url


half = pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.nightly)])
"""By day each text is on half of the kinds of pages, and each kind shows half of the texts; at night the other half."""


def broken(window, paths, status=200):
    """Return the paths whose layout breaks on a phone or a laptop."""
    overflows = []
    for path in paths:
        window.open(path, status)
        for name in ("phone", "laptop"):  # a wide window has more room than these
            window.page.set_viewport_size(SIZES[name])
            overflows += [(path, name, entry) for entry in window.overflow()]
    return overflows


def test_every_field_that_holds_a_text_of_a_chain_or_a_file_holds_that_of_an_attacker(hostile_database):
    engine = open_database(hostile_database)
    with engine.connect() as connection:
        empty = {
            (table.name, column.name)
            for table in (*(EVENT_TABLES[event] for event in EVENTS), *FILES)
            for column in table.c
            if isinstance(column.type, String) and column.type.length != len(IDENTITY) and column.name not in OWN_WORDS
            if not connection.execute(select(column).where(column.contains(TEXTS[0])).limit(1)).first()
        }
    engine.dispose()
    # Decimal texts, which the reader drops if they hold anything else.
    assert empty == {("feedback_file", "value"), ("feedback_file", "value_decimals")}


@half
def test_texts_of_attackers_do_nothing_on_the_pages_of_agents_and_ratings(watched, hostile_site, half):
    window = watched(at=hostile_site)
    paths = []
    with httpx.Client(base_url=hostile_site, timeout=120) as client:
        for agent in range(1, len(TEXTS) + 1):
            (newest, claimed, *_) = client.get(f"/{CHAIN_ID}/{agent}.json").json()["feedback"]
            shown = newest if agent % 4 < 2 else claimed
            kinds = [
                f"/{CHAIN_ID}/{agent}",
                f"/{CHAIN_ID}/ratings/{shown['block']}-{shown['log_index']}",
                f"/{CHAIN_ID}/validations/0x{request_of(agent).hex()}",
            ]
            paths += kinds[(agent + half) % 2 :: 2]
    assert broken(window, paths) == []


@half
def test_texts_of_attackers_do_nothing_in_lists_and_forms(watched, hostile_site, half):
    window = watched(at=hostile_site)
    window.refused.add("/v1/transactions")
    paths = [f"/act/edit_registration?agent={CHAIN_ID}:{agent}" for agent in range(3 + half, len(TEXTS), 3)]
    paths += ["/", "/search", "/search?tag=W", f"/{CHAIN_ID}/network", f"/{CHAIN_ID}/2/network"]
    paths += [f"/{CHAIN_ID}/analysis", f"/{CHAIN_ID}/findings/lockstep-1", f"/{CHAIN_ID}/11/ratings"]
    paths += [f"/{CHAIN_ID}/clusters/1", f"/{CHAIN_ID}/11/ratings?reviewer={account('client 11')}&payment=claimed"]
    paths += [f"/compare?first={CHAIN_ID}/{number}&second={CHAIN_ID}/{number + 1}" for number in (1, 3, 10, 12)]
    paths += [f"/accounts/{account('client 3')}", f"/accounts/{account('owner 11')}"]
    for number, text in enumerate(quote(text[:60]) for text in TEXTS[:11]):
        search = f"/search?q={text}&tag={text}&reviewer={text}&service={text}&capability={text}"
        paths.append((search, f"/compare?first={text}&second=a/{text}")[(number + half) % 2])
    assert broken(window, paths) == []
    problems = [f"/{quote(text[:60], safe='')}/1" for text in TEXTS[half::2] if text]
    problems += [f"/{CHAIN_ID}/findings/{quote(text[:30], safe='')}" for text in TEXTS[:5]]
    assert broken(window, problems, 404) == []


def test_every_text_of_an_attacker_is_shown_as_it_is(watched, hostile_site):
    window = watched(at=hostile_site)
    heading = window.open(f"/{CHAIN_ID}/1").locator("h1").inner_text()
    assert heading == TEXTS[0]
    marked = window.open(f"/{CHAIN_ID}/10").locator("h1").inner_text()
    assert "U+202E" in marked
    assert "\u202e" not in marked
    assert window.open(f"/{CHAIN_ID}/{len(TEXTS)}").locator("h1").inner_text() == f"Agent {len(TEXTS)}"
    assert window.open(f"/{CHAIN_ID}/14").get_by_text("mixes letters from several alphabets").count() > 0
