"""The package installs as users install it, and works without Ape and without anything that it does not name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import ape
import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import importlib.util, pkgutil
import bilateral
assert importlib.util.find_spec("ape") is None
for module in pkgutil.walk_packages(bilateral.__path__, "bilateral."):
    importlib.import_module(module.name)
from bilateral.client import Client
from bilateral.errors import NodeUnreachableError
try:
    Client("http://127.0.0.1:9").get_deployment()
except NodeUnreachableError:
    pass
from bilateral.documents import DataUriStore, Loader, RegistrationFile
stored = DataUriStore().put(RegistrationFile.new("Agent", "It works", "https://agent.example/i.png").to_bytes())
print(Loader().load(stored.uri, stored.hash).registration().name, bilateral.__file__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package, built and installed from its sources, and what it names as its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--offline", "--target", folder]
    subprocess.run([*command, "--python", sys.executable, ROOT], check=True)  # noqa: S603
    for name in dependencies("bilateral"):
        files = distribution(name).files
        for top in {file.parts[0] for file in files if not file.parts[0].startswith((".", "__pycache__"))}:
            target = folder / top
            if not target.exists():
                target.symlink_to(distribution(name).locate_file(top))
    return folder


def dependencies(name, seen=None):
    """The names of the distributions that a distribution needs here, extras aside."""
    seen = set() if seen is None else seen
    for line in distribution(name).requires or []:
        needed, _, marker = line.partition(";")
        needed = re.match(r"[\w.-]+", needed)[0]
        absent = "extra ==" in marker or needed.lower() in seen or not _is_installed(needed)
        if not absent:
            seen.add(needed.lower())
            dependencies(needed, seen)
    return seen


def _is_installed(name):
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True


@pytest.fixture(scope="module")
def run(installed):
    """Runs Python with nothing else than the package and what it names as its dependencies."""

    def run(*arguments, **variables):
        result = subprocess.run(  # noqa: S603
            [sys.executable, "-S", *arguments],
            env={**os.environ, "PYTHONPATH": str(installed), **variables},
            cwd=installed,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.stderr == ""
        assert result.returncode == 0
        return result.stdout

    return run


def test_the_package_works_without_ape(run, installed):
    written = run("-c", PROGRAM)
    assert written.split()[0] == "Agent"
    assert str(installed) in written


def test_the_command_line_works_without_ape(run, installed, tmp_path, identity, owner):
    command = installed / "bin" / "bilateral"
    assert "Two-sided trust for AI agents" in run(command, "--help")
    identity.register("https://agent.example", sender=owner)
    record = {"chainId": 31337, "contracts": {"IdentityRegistry": {"address": identity.address}}}
    (tmp_path / "record.json").write_text(json.dumps(record))
    options = ("--no-load", "--json", "--rpc-url", ape.chain.provider.uri, "--deployment", tmp_path / "record.json")
    agent = json.loads(run(command, "agent", "show", "1", *options))
    assert (agent["owner"], agent["uri"]) == (owner.address, "https://agent.example")


def test_the_package_says_that_it_is_typed(installed):
    assert (installed / "bilateral" / "py.typed").is_file()
