"""`bilateral watchtower run`, `status` and `probe` from the command line."""

from __future__ import annotations

import json

import pytest

from tests.commands import run_here
from tests.watchtower.killed import serving

CONTACT = ("--contact", "https://operator.example", "--allow-private")


@pytest.fixture
def page():
    """The port of a server, and the requests to it."""
    with serving() as (port, requests):
        yield port, requests


def test_one_probe_is_explained_and_stored_nowhere(page):
    port, requests = page
    url = f"http://127.0.0.1:{port}/"
    code, answer, _ = run_here("watchtower", "probe", url, *CONTACT, "--json")
    (probe,) = json.loads(answer)
    assert (code, probe["outcome"], probe["code"], probe["status"]) == (0, "up", "ok", 200)
    assert [path for _, path in requests] == ["/"]


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        ([], {}, "--contact"),
        (CONTACT, {"BILATERAL_PRIVATE_KEY": f"0x{1:064x}"}, "unset BILATERAL_PRIVATE_KEY"),
    ],
    ids=["without a contact", "with a key"],
)
def test_a_watchtower_does_not_start(words, environment, message):
    code, _, error = run_here("watchtower", "run", *words, environment=environment)
    assert code == 2
    assert message in error


def test_the_status_of_a_watchtower_that_never_ran_is_refused(tmp_path):
    code, _, error = run_here("watchtower", "status", "--store", f"sqlite:///{tmp_path / 'none.sqlite'}")
    assert code == 11
    assert "does not exist" in error
