"""The package installs as for users, and works without Ape and without undeclared dependencies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

import ape
import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import importlib.util, pkgutil
import bilateral
assert importlib.util.find_spec("ape") is None
of_extras = ("bilateral.trust", "bilateral.index", "bilateral.migrations.", "bilateral.x402")
of_extras += ("bilateral.checks", "bilateral.api", "bilateral.explorer", "bilateral.cli.")
of_extras += ("bilateral.watchtower",)
of_extras += ("bilateral.dev.",)  # a market on one machine needs all extras
of_extras += ("bilateral.buyers.",)  # the service; what needs no extra is imported below
for module in pkgutil.walk_packages(bilateral.__path__, "bilateral."):
    if not module.name.startswith(of_extras):
        importlib.import_module(module.name)
import bilateral.buyers.anchors, bilateral.buyers.credentials
from bilateral.client import Client
from bilateral.core.errors import NodeUnreachableError
try:
    Client("http://127.0.0.1:9").get_deployment()
except NodeUnreachableError:
    pass
from bilateral.core.contracts import Deployment
assert Deployment.canonical(8453).first_agent_id == 0
from bilateral.documents import DataUriStore, Loader, RegistrationFile
stored = DataUriStore().put(RegistrationFile.new("Agent", "It works", "https://agent.example/i.png").to_bytes())
print(Loader().load(stored.uri, stored.hash).registration().name, bilateral.__file__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package, built from its sources, and its declared dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--offline", "--target", folder]
    subprocess.run([*command, "--python", sys.executable, ROOT], check=True)  # noqa: S603
    _link(folder, dependencies("bilateral"))
    return folder


@pytest.fixture(scope="module")
def installed_with_cli(installed, tmp_path_factory):
    """The same, and what the extra `cli` names."""
    folder = tmp_path_factory.mktemp("installed-cli")
    for entry in installed.iterdir():
        (folder / entry.name).symlink_to(entry)
    _link(folder, {needed for name in ("typer", "rich") for needed in {name, *dependencies(name)}})
    return folder


def _link(folder, names):
    """Put distributions of this environment into a folder."""
    for name in names:
        files = distribution(name).files
        for top in {file.parts[0] for file in files if not file.parts[0].startswith((".", "__pycache__"))}:
            target = folder / top
            if not target.exists():
                target.symlink_to(distribution(name).locate_file(top))


def dependencies(name, seen=None):
    """Return the names of a distribution's requirements on this machine, without extras."""
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
    """A function that runs Python with only the package and its declared dependencies."""

    def run(*arguments, folder=installed, code=0):
        result = subprocess.run(  # noqa: S603
            [sys.executable, "-S", *arguments],
            env={**os.environ, "PYTHONPATH": str(folder)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == code, result.stderr
        assert code or result.stderr == ""
        return result.stdout or result.stderr

    return run


def test_the_package_works_without_ape(run, installed):
    written = run("-c", PROGRAM)
    assert written.split()[0] == "Agent"
    assert str(installed) in written


def test_a_missing_extra_is_one_line_that_says_what_to_install(run):
    program = "\n".join(
        [
            "from bilateral.core.errors import MissingExtraError",
            "try:",
            "    import bilateral.trust",
            "except MissingExtraError as error:",
            "    print(error)",
        ]
    )
    assert run("-c", program) == ("numpy, scipy, pyarrow must be installed: run pip install 'bilateral[trust]'\n")


def test_the_command_line_without_its_extra_says_in_one_line_what_to_install(run, installed):
    completed = run(installed / "bin" / "bilateral", "--help", code=1)
    assert completed == "error: typer is not installed: run pip install 'bilateral[cli]'\n"


def test_ipfs_without_its_extra_says_in_one_line_what_to_install(run):
    program = "\n".join(
        [
            "from bilateral.documents import Loader",
            "from bilateral.core.errors import BilateralError",
            "try:",
            "    Loader().load('ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy')",
            "except BilateralError as error:",
            "    print(error.reason, error)",
        ]
    )
    assert run("-c", program) == "missing_extra libipld must be installed: run pip install 'bilateral[ipfs]'\n"


def test_the_command_line_works_without_ape(run, installed_with_cli, tmp_path, identity, owner):
    command = installed_with_cli / "bin" / "bilateral"
    run = partial(run, folder=installed_with_cli)
    assert "Two-sided trust for AI agents" in run(command, "--help")
    identity.register("https://agent.example", sender=owner)
    record = {"chainId": 31337, "contracts": {"IdentityRegistry": {"address": identity.address}}}
    (tmp_path / "record.json").write_text(json.dumps(record))
    options = ("--no-load", "--json", "--rpc-url", ape.chain.provider.uri, "--deployment", tmp_path / "record.json")
    agent = json.loads(run(command, "agent", "show", "1", *options))
    assert (agent["owner"], agent["uri"]) == (owner.address, "https://agent.example")


def test_the_package_says_that_it_is_typed(installed):
    assert (installed / "bilateral" / "py.typed").is_file()
