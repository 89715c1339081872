"""Leaves what takes long, or says the same twice, to `make test-all`, which runs every night.

`make test` runs what is not marked `nightly`. Three more marks leave only some cases of a test to the night:

- `one_engine`: the test is about something else than SQL, so its cases on PostgreSQL are nightly, and those on SQLite
  are not.
- `one_client`: the blocking client is generated from the asynchronous one, so its cases are nightly where they show no
  more than those of the other.
- `sample(count)`: so many of its cases, evenly spread, stand for all of them.

Of the examples that Hypothesis draws for a test, `make test` tries a part; a test that makes up its own examples asks
for the fixture `part`. Sequences of calls that must meet every refusal are played in full.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil

import pytest
from hypothesis import is_hypothesis_test, settings

QUICK = "not nightly"
"""The marks that `make test` asks for."""

PART = 0.4
"""The part of the examples that `make test` tries. Most faults show in the first ones, which are the same every day."""


def pytest_configure(config):
    for mark in (
        "nightly: takes long; part of `make test-all`, not of `make test`",
        "one_engine: does not depend on the database; on PostgreSQL it runs nightly",
        "one_client: shows of the blocking client what it shows of the asynchronous one; on the former it runs nightly",
        "sample(count): so many of its cases run in `make test`, the others nightly",
    ):
        config.addinivalue_line("markers", mark)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    sampled = defaultdict(list)
    names = {item.nodeid for item in items}
    if config.option.markexpr == QUICK:
        _try_fewer_examples(
            {function for item in items if is_hypothesis_test(function := getattr(item, "function", 0))}
        )
    for item in items:
        if _is_repeated(item, names):
            item.add_marker("nightly")
        elif item.get_closest_marker("sample"):
            sampled[item.nodeid.partition("[")[0]].append(item)
    for cases in sampled.values():
        for item in _unchosen(cases, cases[0].get_closest_marker("sample").args[0]):
            item.add_marker("nightly")


@pytest.fixture(scope="session")
def part(pytestconfig):
    """The part of the made-up examples that this run tries."""
    return PART if pytestconfig.option.markexpr == QUICK else 1


def _try_fewer_examples(tests):
    """Let Hypothesis try a part of the examples. A sequence of calls has settings of its own, see `tests.sequences`."""
    for test in tests:
        own = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(own, max_examples=ceil(own.max_examples * PART))


def _is_repeated(item, names):
    """Return True for a case on PostgreSQL, or with the blocking client, that a mark leaves to the night."""
    if not hasattr(item, "callspec"):
        return False
    if item.get_closest_marker("one_engine") and "postgresql" in item.callspec.params.values():
        return True
    test, _, case = item.nodeid.partition("[")
    return bool(
        item.get_closest_marker("one_client")
        and "Client" in item.callspec.id.split("-")
        and f"{test}[{case.replace('Client', 'AsyncClient', 1)}" in names
    )


def _unchosen(cases, count):
    """Return the cases without so many of them that are evenly spread."""
    chosen = {number * len(cases) // count for number in range(count)}
    return [case for number, case in enumerate(cases) if number not in chosen]
