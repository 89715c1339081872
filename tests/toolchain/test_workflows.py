"""The workflows of the hosting service: pinned, without rights that they do not need, and of commands that exist."""

from __future__ import annotations

import re

import pytest
import yaml

from scripts._build import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_hash_and_says_its_version(path):
    uses = re.findall(r"uses: (.*)", path.read_text())
    assert uses
    for action in uses:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_only_jobs_that_publish_may_do_more_than_read(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    writing = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert writing == ({name: {"id-token": "write"} for name in ("pypi", "npm")} if path.stem == "release" else {})


def test_commands_of_workflows_are_targets_of_make():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set()
    for path in WORKFLOWS:
        text = path.read_text()
        named |= set(re.findall(r"run: make ([a-z-]+)", text))
        named |= {name.split()[0] for names in re.findall(r"target: \[(.*)\]", text) for name in names.split(", ")}
    assert {"prove", "lint", "dist"} <= named <= targets
