"""A run of the whole suite is judged, whatever the number of processes, and a run of a part is not."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.nightly import QUICK

ROOT = Path(__file__).parents[2]

CONFTEST = """
from pathlib import Path
from tests.conformance import page, plugin

pytest_plugins = ["tests.conformance.plugin"]
page.TABLE = Path(__file__).with_name("page.md")
page.REQUIREMENTS = Path(__file__).with_name("requirements.toml")
plugin.declarations = lambda: {'reason "no"': "reason no", 'reason "never"': "reason never"}
"""
PAGE = """
## Specification

| clause | shown by |
| --- | --- |
| FR-001: refuses | `tests/test_it.py::test_it_refuses` |
| FR-002: is far away | off chain |
"""
TESTS = """
import ape
import pytest
from ape.exceptions import ContractLogicError

@pytest.mark.parametrize("reason", {reasons})
def test_it_refuses(reason):
    with ape.reverts(reason):
        raise ContractLogicError(reason)

def test_another():
    pass

@pytest.mark.nightly
def test_left():
    pass
"""
VERDICT = re.compile(r"^conformance: judged 2 rows, 2 declarations$", re.MULTILINE)


@pytest.fixture
def run(tmp_path):
    """Runs pytest on a project with a page of two rows, and contracts with two reasons."""

    def run(*options, reasons=("no", "never"), page=PAGE):
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests/test_it.py").write_text(TESTS.format(reasons=list(reasons)))
        (tmp_path / "conftest.py").write_text(CONFTEST)
        (tmp_path / "page.md").write_text(page)
        (tmp_path / "requirements.toml").write_text('["Specification"]\nFR-001 = "refuses"\nFR-002 = "far away"\n')
        (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
        return subprocess.run(  # noqa: S603  # the project's own pytest
            [ROOT / ".venv/bin/pytest", "-p", "no:ape_test", *options],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [["-n", "2"], ["-n", "0", "-m", QUICK, "-p", "no:cacheprovider"]], ids=" ".join)
def test_run_of_the_whole_suite_is_judged_and_says_so(run, options):
    result = run(*options)
    assert result.returncode == 0, result.stdout + result.stderr
    assert VERDICT.search(result.stdout)


@pytest.mark.sample(1)
@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_row_whose_test_is_left_to_the_night_passes_the_quick_run(run, processes):
    result = run("-n", processes, "-m", QUICK, page=PAGE.replace("test_it_refuses", "test_left"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert VERDICT.search(result.stdout)


def test_a_row_that_is_not_shown_fails_the_run(run):
    result = run("-n", "0", reasons=["no"], page=PAGE.replace("test_it_refuses", "test_it_obeys"))
    assert result.returncode == 1
    assert "no test asserts with all its arguments or fields: reason never" in result.stdout
    assert "line 6: there is no test tests/test_it.py::test_it_obeys" in result.stdout
    assert "2 errors" in result.stdout.splitlines()[-1]
    assert VERDICT.search(result.stdout)


@pytest.mark.sample(1)
@pytest.mark.parametrize("selection", [["-k", "another"], ["-m", "nightly"], ["tests/test_it.py"]])
def test_run_of_a_part_is_not_judged(run, selection):
    result = run("-n", "0", *selection, reasons=["no"])
    assert result.returncode in {0, pytest.ExitCode.NO_TESTS_COLLECTED}, result.stdout + result.stderr
    assert "judged" not in result.stdout
