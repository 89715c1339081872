"""The npm package, as its users have it: installed beside its dependencies, outside of the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
from http import HTTPStatus
from pathlib import Path

import httpx
import pytest
from solcx import compile_standard

from scripts._build import ROOT
from scripts.bill_of_materials import npm_bom
from tests.packaging.fixtures import TOOLS, market_of, run, unpack_with_tools
from tests.waiting import until

pytestmark = pytest.mark.nightly

MOST_DEPENDENCIES, MOST_BYTES = 3, 250_000
PROJECTS = Path(__file__).parent / "projects"


@pytest.fixture
def user_project(archive):
    """Make a copy of one of the projects that has the package and its dependencies in node_modules.

    Ape does not compile in the temporary folder or in .cache, so the copy is outside of both.
    """
    root = ROOT / ".user-projects" / str(os.getpid())

    def make(name):
        folder = shutil.copytree(PROJECTS / name, root / name)
        unpack_with_tools(archive, folder / "node_modules")
        return folder

    yield make
    shutil.rmtree(root, ignore_errors=True)


def test_archive_has_sources_abis_types_and_the_licence_and_nothing_else(archive):
    with tarfile.open(archive) as content:
        names = {name.removeprefix("package/") for name in content.getnames()}
    assert {"LICENSE", "README.md", "package.json", "abi/IdentityRegistry.json", "dist/service.d.ts"} <= names
    assert {"contracts/reputation/ReputationGated.sol", "contracts/buyers/BuyerTierGated.sol"} <= names
    assert {name.partition("/")[0] for name in names} == {
        "LICENSE", "README.md", "abi", "contracts", "dist", "package.json",
    }  # fmt: skip
    assert not [name for name in names if "mocks" in name]


def test_archive_is_small(archive):
    assert archive.stat().st_size <= MOST_BYTES


def test_types_of_the_package_have_no_any(archive):
    with tarfile.open(archive) as content:
        types = [name for name in content.getnames() if name.endswith(".d.ts") and "openapi" not in name]
        texts = {name: content.extractfile(name).read().decode() for name in types}
    plain = {name: re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL) for name, text in texts.items()}
    assert len(plain) > 20
    assert [name for name, text in plain.items() if re.search(r"\bany\b", text)] == []


def test_version_is_that_of_the_python_package(archive):
    manifest = json.loads((ROOT / "npm/package.json").read_text())
    assert f'version = "{manifest["version"]}"' in (ROOT / "pyproject.toml").read_text()
    assert archive.name == f"bilateral-{manifest['version']}.tgz"
    libraries = json.loads((ROOT / "package.json").read_text())["dependencies"]
    shared = manifest["devDependencies"].keys() & libraries.keys()
    assert {"@openzeppelin/contracts", "solady"} <= shared
    assert {name: manifest["devDependencies"][name] for name in shared} == {name: libraries[name] for name in shared}
    assert {name: manifest["peerDependencies"][name] for name in shared} == {
        name: f"^{libraries[name]}" for name in shared
    }


def test_libraries_of_solidity_are_installed_only_by_those_who_compile():
    manifest = json.loads((ROOT / "npm/package.json").read_text())
    assert not manifest["dependencies"].keys() & {"@openzeppelin/contracts", "solady", "viem"}
    assert len(manifest["dependencies"]) <= MOST_DEPENDENCIES
    assert all(manifest["peerDependenciesMeta"][name]["optional"] for name in ("@openzeppelin/contracts", "solady"))


def test_bill_of_materials_lists_what_the_package_needs_at_run_time():
    names = {component["name"] for component in npm_bom(ROOT / "npm", development=False)["components"]}
    assert names >= json.loads((ROOT / "npm/package.json").read_text())["dependencies"].keys()
    assert "vitest" not in names


def test_project_of_ape_compiles_a_gate(user_project, tmp_path):
    folder = user_project("ape")
    environment = {**os.environ, "APE_DATA_FOLDER": str(tmp_path / "ape-data")}
    run(Path(sys.executable).with_name("ape"), "compile", cwd=folder, environment=environment)
    contract = json.loads((folder / ".build/__local__.json").read_text())["contractTypes"]["Service"]
    assert {entry.get("name") for entry in contract["abi"]} >= {"serve", "served", "ClientDeclined"}


def test_project_of_foundry_compiles_a_gate_by_its_remappings(user_project, monkeypatch):
    folder = user_project("foundry")
    monkeypatch.chdir(folder)
    source = "src/TrustedBuyers.sol"
    request = {
        "language": "Solidity",
        "sources": {source: {"urls": [source]}},
        "settings": {
            "remappings": (folder / "remappings.txt").read_text().split(),
            "evmVersion": re.search('evm_version = "(.*)"', (folder / "foundry.toml").read_text())[1],
            "outputSelection": {"*": {"*": ["abi"]}},
        },
    }
    compiled = compile_standard(request, base_path=folder, allow_paths=[folder, TOOLS])
    abi = compiled["contracts"][source]["TrustedBuyers"]["abi"]
    assert {entry.get("name") for entry in abi} >= {"serve", "served", "TierTooLow"}


def test_gates_interfaces_and_examples_compile_with_the_oldest_compiler_that_they_name(user_project):
    folder = user_project("foundry")
    package = folder / "node_modules" / "bilateral" / "contracts"
    sources = [str(source.relative_to(folder)) for source in sorted(package.rglob("*.sol"))]
    assert len(sources) > 25
    assert {re.search(r"pragma solidity (.*);", (folder / source).read_text())[1] for source in sources} == {"^0.8.24"}
    assert run(TOOLS / ".bin" / "solcjs", "--version").startswith("0.8.24+")
    paths = ["--base-path", ".", "--include-path", "node_modules"]
    run(TOOLS / ".bin" / "solcjs", *paths, "--abi", "--output-dir", "out", *sources, cwd=folder)


def test_types_of_calls_follow_the_abis_and_the_service(user_project):
    folder = user_project("node")
    options = ["--noEmit", "--strict", "--module", "NodeNext", "--target", "ES2022", "--skipLibCheck"]
    run(TOOLS / ".bin" / "tsc", *options, "types.ts", cwd=folder)


def test_client_asks_a_service(user_project, service, chain, identity, owner):
    identity.register('data:application/json,{"name":"Translator"}', sender=owner)
    agent = f"{chain.chain_id}:{identity.getAgentCount()}"
    until(lambda: httpx.get(f"{service}/v1/agents/{agent}").status_code, lambda status: status == HTTPStatus.OK)
    answer = json.loads(run("node", "ask.mjs", service, agent, cwd=user_project("node")))
    assert answer["agent"] == agent
    assert len(answer["found"]) == 1
    assert {answer["server"], answer["client"]} <= {"accept", "caution", "reject"}
    assert answer["refusal"] == [True, 404, "agent_not_found"]


def test_project_buys_verifies_rates_and_reads_on_a_market(user_project, installed, tmp_path):
    folder = user_project("node")
    with market_of(installed("all"), tmp_path) as market:
        answer = json.loads(run("node", "buy.mjs", cwd=folder, environment={**os.environ, **market.variables}))
    assert answer == {
        "answer": {"city": "Bergen", "weather": "snow"},
        "isVerified": True,
        "problems": [],
        "summary": {"count": 1, "value": 95},
    }
