"""The workers of a run are forks of one process that has imported the tests."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scripts._build import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")

TESTS = """
import os
import pytest

IMPORTED = os.getpid()

@pytest.mark.parametrize("number", range(6))
def test_number(number):
    with open("seen", "a") as file:
        file.write(f"{IMPORTED} {os.getpid()}\\n")
    if number == 3:
        os._exit(1)
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder and the output of a run by two workers, one of which dies during a test."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_numbers.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:ape_test", "-p", "tests.workers", "-n", "2"]
    ran = subprocess.run(  # noqa: S603  # the project's own pytest
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    return folder, ran.stdout + ran.stderr


def test_both_workers_find_the_tests_imported_by_one_other_process(ran):
    pairs = [line.split() for line in (ran[0] / "seen").read_text().splitlines()]
    forked = [(imported, worker) for imported, worker in pairs if imported != worker]
    assert len({imported for imported, _ in forked}) == 1
    assert len({worker for _, worker in forked}) == 2


def test_tests_of_a_worker_that_dies_are_run_by_another(ran):
    assert "while running 'test_numbers.py::test_number[3]'" in ran[1]
    assert "1 failed, 5 passed" in ran[1]
