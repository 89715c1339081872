"""Set-up does nothing twice, names what is missing, and depends on no registry's host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scripts._build import ROOT

SETUP = ROOT / "toolchain" / "setup.sh"
TOOLS = ("dirname", "cat", "sed", "cksum", "printf", "env")
PYTHON_LOCKS = [
    "toolchain/requirements.lock",
    "toolchain/uv.lock",
    "assurance/requirements.lock",
    "interop/requirements.lock",
]
LOCKS = [
    "package-lock.json",
    "assurance/package-lock.json",
    "interop/package-lock.json",
    "toolchain/prose/package-lock.json",
    *PYTHON_LOCKS,
]


def set_up(path: str | None = None) -> subprocess.CompletedProcess:
    environment = None if path is None else {"PATH": path, "HOME": "/nonexistent"}
    return subprocess.run([SETUP], env=environment, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.mark.nightly
def test_second_set_up_does_nothing_and_says_so():
    run = set_up()
    assert run.returncode == 0
    assert run.stdout == "setup: the toolchain is up to date, nothing to do.\n"


@pytest.fixture
def machine(tmp_path):
    """The PATH of a machine with those commands only, each a script, besides what every POSIX system has."""

    def with_commands(**scripts: str) -> str:
        for tool in TOOLS:
            paths = next(Path(folder, tool) for folder in ("/usr/bin", "/bin") if Path(folder, tool).exists())
            (tmp_path / tool).symlink_to(paths)
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        return str(tmp_path)

    return with_commands


PYTHON = "exit 0"
NODE = "exit 0"


@pytest.mark.parametrize(
    ("commands", "line"),
    [
        ({}, "Python 3.11 or newer is required (python3 is missing or older; set PYTHON=… to choose another)."),
        (
            {"python3": "exit 1"},
            "Python 3.11 or newer is required (python3 is missing or older; set PYTHON=… to choose another).",
        ),
        (
            {"python3": 'case "$2" in *ensurepip*) exit 1;; esac'},
            "Python 3.11 or newer with its venv and ensurepip modules is required (Debian: python3-venv).",
        ),
        ({"python3": PYTHON}, "Node 20 or newer is required (node is missing or older)."),
        ({"python3": PYTHON, "node": "exit 1"}, "Node 20 or newer is required (node is missing or older)."),
        (
            {"python3": PYTHON, "node": NODE},
            "npm 9 or newer, which comes with Node 20, is required (npm is missing or older).",
        ),
        (
            {"python3": PYTHON, "node": NODE, "npm": "echo 8.19.4"},
            "npm 9 or newer, which comes with Node 20, is required (npm is missing or older).",
        ),
    ],
    ids=["no Python", "old Python", "no venv", "no Node", "old Node", "no npm", "old npm"],
)
def test_missing_prerequisite_is_one_line_that_names_it_and_its_version(machine, commands, line):
    run = set_up(machine(**commands))
    assert run.returncode == 1
    assert run.stderr == f"setup: {line}\n"
    assert not run.stdout


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_file_names_no_host(lock):
    text = (ROOT / lock).read_text()
    assert "registry." not in text
    assert "pypi" not in text
    assert not re.search(r'"resolved"|--(extra-)?index-url|--find-links', text)
    assert set(re.findall(r"https?://([^/\s\"]+)", text)) <= FUNDING_AND_HOMEPAGES


FUNDING_AND_HOMEPAGES = {
    *("github.com", "opencollective.com", "tidelift.com", "paulmillr.com", "www.buymeacoffee.com"),
    *("feross.org", "www.patreon.com"),
}
"""Whom npm's lock names as receivers of donations; nothing is fetched from there."""


@pytest.mark.parametrize("lock", PYTHON_LOCKS)
def test_python_lock_pins_every_package_by_hash(lock):
    entries = re.findall(r"^(\S+==\S+).*?(?=^\S|\Z)", (ROOT / lock).read_text(), re.MULTILINE | re.DOTALL)
    blocks = re.split(r"(?m)^(?=\S)", (ROOT / lock).read_text())
    assert entries
    assert all("--hash=sha256:" in block for block in blocks if block.strip())
