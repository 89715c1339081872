"""Each extra, installed alone, has all that its part of the package imports, and its first command runs."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import distribution, packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts._build import ROOT
from tests.packaging.fixtures import run
from tests.trust.conftest import Scene, addressed

IMPORTED = {
    "": ["bilateral.client", "bilateral.documents", "bilateral.core.events", "bilateral.node"],
    "api": ["bilateral.api", "bilateral.explorer", "bilateral.checks", "bilateral.buyers", "bilateral.index"],
    "cli": ["bilateral.cli"],
    "index": ["bilateral.index"],
    "ipfs": ["bilateral.documents"],
    "private": ["bilateral.buyers.private"],
    "semantic": ["bilateral.index.search"],
    "solana": ["bilateral.solana"],
    "trust": ["bilateral.trust"],
    "x402": ["bilateral.x402"],
    "all": ["bilateral"],
}
"""The packages that an extra is for."""

ELSEWHERE = {
    "api": [
        "bilateral.api.aggregator",
        "bilateral.buyers.private.offline",
        "bilateral.index.search.nearest",
    ],
    "cli": ["bilateral.cli.analysis", "bilateral.cli.index_verification"],
    "index": ["bilateral.index.search.nearest"],
    "private": ["bilateral.buyers.private.members", "bilateral.buyers.private.stored_nullifiers"],
    "x402": [
        "bilateral.x402.aggregator",
        "bilateral.x402.server.asgi",
        "bilateral.x402.server.gate",
        "bilateral.x402.clients.service_check",
        "bilateral.x402.server.stored_failures",
        "bilateral.x402.server.stores",
    ],
    "all": [],
}
"""Their parts that need another extra, or a framework that the user chooses, and whose documentation says so."""

BY_DAY = {"", "cli", "index", "x402"}
"""The extras that bring the least, so their modules can miss the most. The others are tried at night."""

FRAMEWORKS = ["bilateral.x402.server.wsgi"]
"""Adapters to frameworks that no extra installs."""

IMPORT_ALL = """
import importlib, json, pkgutil, sys
wanted, elsewhere = json.loads(sys.argv[1])
def is_elsewhere(name):
    return any(name == room or name.startswith(room + ".") for room in elsewhere)
count = 0
def walk(name):
    global count
    if is_elsewhere(name) or name.endswith((".__main__", ".migrations.env")):  # Alembic runs its environment
        return
    module = importlib.import_module(name)
    count += 1
    for entry in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if ".migrations.versions" not in name:
            walk(f"{name}.{entry.name}")
for name in wanted:
    walk(name)
print(count)
"""


REFUSE_OTHERS = """
import importlib.abc, json, sys
refused = set(json.loads(sys.argv[2]))
class Refusal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refusal())
"""
"""Hides packages, as if they were not installed."""


@cache
def installed_with(extra):
    """Return the names of the packages that an extra brings, with all that these need."""
    names, todo = set(), [("bilateral", frozenset({extra}))]
    while todo:
        name, extras = entry = todo.pop()
        if entry in names:
            continue
        names.add(entry)
        for line in distribution(name).requires or []:
            requirement = Requirement(line)
            if any(
                not requirement.marker or requirement.marker.evaluate({"extra": chosen}) for chosen in extras | {""}
            ):
                todo.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return {name for name, _ in names}


@cache
def owners():
    """Return the packages that each importable module belongs to."""
    return {module: {*map(canonicalize_name, names)} for module, names in packages_distributions().items()}


@pytest.mark.parametrize(
    "extra", [extra if extra in BY_DAY else pytest.param(extra, marks=pytest.mark.nightly) for extra in IMPORTED]
)
def test_modules_of_an_extra_import_only_what_it_brings(tmp_path, extra):
    refused = [module for module, names in owners().items() if not names & installed_with(extra)]
    assert "ape" in refused
    request = json.dumps([IMPORTED[extra], [*ELSEWHERE.get(extra, []), *FRAMEWORKS]])
    command = (sys.executable, "-c", REFUSE_OTHERS + IMPORT_ALL, request, json.dumps(refused))
    assert int(run(*command, cwd=tmp_path)) > 5


def test_every_extra_is_tried():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"", *extras} == IMPORTED.keys()


def megabytes(*extras):
    """Return the installed size of extras, with all that they need and without bytecode."""
    return sum(bytes_of(name) for name in {name for extra in extras for name in installed_with(extra)}) / 1e6


@cache
def bytes_of(name):
    """Return the installed size of one package: of this one, that of its sources."""
    if name == "bilateral":
        paths = (ROOT / "bilateral").rglob("*")
    else:
        paths = map(distribution(name).locate_file, distribution(name).files or ())
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="wheels differ in size")
def test_page_states_the_installed_size_of_each_extra():
    rows = re.findall(r"^\| `([\w,]+)` \| (\d+) \|$", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE)
    stated = {extra: int(size) for extra, size in rows}
    assert stated.keys() == {*IMPORTED, "cli,api"} - {""}
    assert stated == {extra: pytest.approx(megabytes(*extra.split(",")), rel=0.05) for extra in stated}
    assert stated["cli,api"] <= 500
    assert stated["all"] <= 800


@pytest.mark.nightly
@pytest.mark.parametrize("extra", IMPORTED)
def test_modules_of_an_extra_can_be_imported_with_it_alone(installed, tmp_path, extra):
    request = json.dumps([IMPORTED[extra], [*ELSEWHERE.get(extra, []), *FRAMEWORKS]])
    assert int(run(installed(extra) / "python", "-I", "-c", IMPORT_ALL, request, cwd=tmp_path)) > 5


def test_without_an_extra_the_command_says_what_to_install(installed, tmp_path):
    command = [installed("") / "bilateral"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "error: typer is not installed: run pip install 'bilateral[cli]'\n"


def test_command_line_lists_the_deployed_registries(installed, tmp_path):
    listed = json.loads(run(installed("cli") / "bilateral", "deployment", "list", "--json", cwd=tmp_path))
    assert 8453 in {entry["chain"] for entry in listed}


@pytest.mark.nightly
def test_index_reads_a_chain_and_analyses_it(installed, tmp_path, chain, identity, owner, record):
    identity.register(sender=owner)
    source = ("--rpc-url", chain.provider.uri, "--deployment", record, "--database", "sqlite:///index.sqlite")
    bilateral = installed("index,cli") / "bilateral"
    run(bilateral, "index", "run", *source, "--until-head", cwd=tmp_path)
    (state,) = json.loads(run(bilateral, "index", "status", "--database", source[-1], "--json", cwd=tmp_path))
    assert state["block"] == chain.blocks.height
    assert (state["standings"]["status"], state["standings"]["problem"]) == ("current", None)


@pytest.mark.nightly
def test_ipfs_names_a_file(installed, tmp_path):
    program = "from bilateral.documents.ipfs import Cid; print(Cid.of_raw(b'hello'))"
    assert "bafkrei" in run(installed("ipfs") / "python", "-c", program, cwd=tmp_path)


@pytest.mark.nightly
def test_solana_derives_the_address_of_an_agent(installed, tmp_path):
    program = "from bilateral.solana.addresses import index_address; print(index_address(1))"
    shown = run(installed("solana") / "python", "-c", program, cwd=tmp_path)
    assert shown == "HrNNo81K4wpUEYu2My77Gyg5eGM72WxkHvrRU5R11egq\n"


@pytest.mark.nightly
def test_trust_analysis_reads_tables(installed, tmp_path):
    scene = Scene()
    scene.agent(1, "owner")
    scene.feedback("client", 1, 90)
    addressed(scene.tables()).write(tmp_path / "tables")
    words = ("trust", "analyse", "--tables", "tables", "--out", "results", "--json")
    told = json.loads(run(installed("trust,cli") / "bilateral", *words, cwd=tmp_path))
    assert (told["agents"], told["opinions"]) == (1, 1)


@pytest.mark.nightly
def test_x402_lists_the_keys_of_an_agent(installed, tmp_path, chain, identity, owner, record):
    identity.register("data:application/json,{}", sender=owner)
    words = ("x402", "signers", "list", identity.getAgentCount(), "--json")
    node = ("--rpc-url", chain.provider.uri, "--deployment", record)
    assert json.loads(run(installed("x402,cli") / "bilateral", *words, *node, cwd=tmp_path)) == []
