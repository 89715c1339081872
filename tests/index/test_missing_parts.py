"""The index does without `search` or `standing`: the rest passes its tests, and the service says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bilateral.api.parts import import_present
from scripts._build import ROOT

REMOVED = {"search": "search", "standing": "standing search"}
"""The parts that go with each part: those that import it go, too."""

ROUTES = {"search": "/v1/search/agents", "standing": "/v1/analysis"}
"""A path of each part."""

OWN = {
    "search",
    "analysis",
    "shards",
    "measurements/test_queries.py",
    "test_tags.py",
    "test_migrations.py",
    "test_releases.py",
    "test_missing_parts.py",
}
"""Tests of the parts themselves, and of what draws on all of them."""

NEED_STANDING = (
    "payments/test_payments.py::test_money_that_the_owner_returns_is_stored_from_its_first_block_on",
    "payments/test_payments.py::test_money_that_an_owner_of_two_agents_returns_counts_once",
    "test_deployments.py::test_readme_shows_the_command_that_indexes_a_public_network_and_what_it_prints",
)
"""Tests of what others read of the standings: sources of funds, and the state of the analysis."""

SHORT = ("-m", "not nightly", "-k", "sqlite", "tests/index/payments/test_payments.py", "tests/index/test_verify.py")


def run_without(part, *arguments):
    environment = os.environ | {"BILATERAL_WITHOUT": REMOVED[part]}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.mark.parametrize(
    ("part", "chosen"),
    [
        pytest.param("standing", SHORT, id="some-standing"),  # without `search` as well
        *(pytest.param(part, ("tests/index",), marks=pytest.mark.nightly, id=f"all-{part}") for part in REMOVED),
    ],
)
def test_rest_of_the_index_passes_its_tests(part, chosen):
    ignored = [f"--ignore=tests/index/{name}" for name in OWN]
    ignored += [f"--deselect=tests/index/{name}" for name in NEED_STANDING]
    options = ("-q", "-p", "no:cacheprovider", "-p", "tests.index.without")
    run = run_without(part, "-m", "pytest", *options, *ignored, *chosen)
    assert run.returncode == 0, run.stdout[-4000:]


ASK = """
import sys
import tests.index.without
from starlette.testclient import TestClient
from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.index.log.database import open_database
database, *paths = sys.argv[1:]
open_database(database).dispose()
with TestClient(create_app(ApiSettings(database=database))) as client:
    for path in paths:
        answer = client.get(path)
        print(answer.status_code, answer.json().get("code"), answer.json().get("detail"))
"""


@pytest.mark.parametrize("part", REMOVED)
def test_service_answers_routes_of_a_missing_part_with_501(part, tmp_path):
    path = ROUTES[part]
    run = run_without(part, "-c", ASK, f"sqlite:///{tmp_path / 'index.sqlite'}", path, "/v1/chains")
    assert run.stdout.splitlines(), run.stderr
    refused, other = run.stdout.splitlines()
    assert refused.startswith("501 missing_part this installation has no route for ")
    assert refused.endswith(f"it lacks these parts of the index: {', '.join(sorted(REMOVED[part].split()))}")
    assert other.startswith("200 ")


@pytest.mark.parametrize("name", ["bilateral.index.search.typo", "bilateral.index.projections.typo", "yaml_typo"])
def test_module_that_is_missing_within_a_part_is_an_error(monkeypatch, tmp_path, name):
    (tmp_path / "with_a_typo.py").write_text(f"import {name}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=f"^No module named '{name}'"):
        import_present(["with_a_typo"])
