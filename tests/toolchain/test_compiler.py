"""The compiler: soljson behind solc's command line, or a native one of exactly the same build."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from scripts._build import ROOT, build

SHIM = ROOT / "toolchain" / "solc.js"
PINNED = "0.8.37+commit.f401782d"


def run_solc(*arguments: str, text: str = "", check: bool = True) -> subprocess.CompletedProcess:
    return subprocess.run(  # noqa: S603  # the project's own compiler
        [SHIM, *arguments], input=text, capture_output=True, text=True, check=check
    )


def test_shim_tells_the_pinned_version():
    assert re.search(rf"^Version: {re.escape(PINNED)}\b", run_solc("--version").stdout, re.MULTILINE)


def test_shim_compiles_standard_json_to_the_bytecode_of_the_build():
    registry = build("MockRegistry")
    output = json.loads(run_solc("--standard-json", text=json.dumps(registry.standard_json)).stdout)
    compiled = output["contracts"][registry.source_id]["MockRegistry"]
    assert compiled["evm"]["bytecode"]["object"] == registry.creation_code.hex()


def test_shim_reads_imports_from_base_and_include_paths(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "base" / "A.sol").write_text('pragma solidity ^0.8.0; import "B.sol"; contract A is B {}')
    (tmp_path / "include" / "B.sol").write_text("pragma solidity ^0.8.0; contract B {}")
    source = {
        "language": "Solidity",
        "sources": {"Top.sol": {"content": 'pragma solidity ^0.8.0; import "A.sol"; contract Top is A {}'}},
        "settings": {"outputSelection": {"*": {"*": ["abi"]}}},
    }
    paths = ["--base-path", str(tmp_path / "base"), "--include-path", str(tmp_path / "include")]
    output = json.loads(run_solc("--standard-json", *paths, text=json.dumps(source)).stdout)
    assert output["contracts"].keys() == {"A.sol", "B.sol", "Top.sol"}


def test_shim_reports_missing_imports_as_the_compiler_does():
    source = {"language": "Solidity", "sources": {"Top.sol": {"content": 'import "Missing.sol";'}}, "settings": {}}
    errors = json.loads(run_solc("--standard-json", text=json.dumps(source)).stdout)["errors"]
    assert any("File not found: Missing.sol" in error["message"] for error in errors)


def test_shim_refuses_what_it_cannot_do():
    run = run_solc("--combined-json", "abi", check=False)
    assert run.returncode == 1
    assert run.stderr == "solc.js: only --version and --standard-json are supported\n"


def test_setup_and_configuration_pin_the_same_compiler():
    setup = (ROOT / "toolchain" / "setup.sh").read_text()
    version = PINNED.split("+", maxsplit=1)[0]
    assert f"SOLC_VERSION={version}\n" in setup
    assert f'SOLC_BUILD="$SOLC_VERSION+{PINNED.split("+")[1]}"' in setup
    assert f"version: {version}\n" in (ROOT / "ape-config.yaml").read_text()
    assert json.loads((ROOT / "package.json").read_text())["devDependencies"]["solc"] == version


@pytest.mark.parametrize(
    ("version", "native"), [(PINNED, True), ("0.8.37+commit.00000000", False), ("0.8.36+commit.f401782d", False)]
)
def test_native_compiler_is_chosen_only_when_it_is_exactly_the_pinned_build(tmp_path, version, native):
    solc = tmp_path / "bin" / "solc"
    solc.parent.mkdir()
    solc.write_text(f"#!/bin/sh\necho 'Version: {version}.Linux.g++'\n")
    solc.chmod(0o755)
    link = link_compiler(tmp_path, f"{solc.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    assert link == (solc if native else Path("../../toolchain/solc.js"))


def test_soljson_is_chosen_where_there_is_no_native_compiler(tmp_path):
    assert link_compiler(tmp_path, "/usr/bin:/bin") == Path("../../toolchain/solc.js")


def link_compiler(folder: Path, path: str) -> Path:
    """Run that part of the set-up in an empty folder, and tell what the compiler's link leads to."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    script = (ROOT / "toolchain" / "setup.sh").read_text()
    variables = re.search(r"^SOLC_VERSION=.*\nSOLC_BUILD=.*\n", script, re.MULTILINE)[0]
    function = re.search(r"^link_compiler\(\) \{.*?^\}\n", script, re.MULTILINE | re.DOTALL)[0]
    subprocess.run(  # noqa: S603  # the project's own set-up
        ["/bin/sh", "-eu", "-c", f"{variables}{function}link_compiler"],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder)},
        check=True,
    )
    return (folder / ".venv" / "solcx" / "solc-v0.8.37").readlink()
