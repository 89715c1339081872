"""`make help` lists every target under what it is for."""

from __future__ import annotations

import re
import subprocess

from scripts._build import ROOT


def test_every_target_is_listed_once_in_a_group_and_those_of_maintainers_last():
    command = ["make", "--no-print-directory", "help"]  # make names its folder if make runs it
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603  # ours
    groups = {}
    for paragraph in listed.strip().split("\n\n"):
        title, *lines = paragraph.splitlines()
        groups[title] = [re.match(r"  ([a-z-]+) +\S", line)[1] for line in lines]
    assert next(iter(groups)) == "Try it"
    assert list(groups)[-1] == "For maintainers"
    assert {"demo", "play"} <= set(groups["Try it"])
    assert {"dist", "lock"} <= set(groups["For maintainers"])
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    assert sorted(name for names in groups.values() for name in names) == sorted(targets)
    assert sorted(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()) == sorted(targets)


def test_tests_that_need_no_prover_run_without_it():
    """The prover has 200 MB. A fixture of the tests that need it runs `make prover`."""
    command = ["make", "--no-print-directory", "--dry-run", "test", "TESTS=tests/identity"]
    steps = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603  # ours
    assert "ape test" in steps
    assert "prover" not in steps
