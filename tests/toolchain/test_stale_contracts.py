"""`ape test` runs on the contracts as they are, and tells the gas of their functions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from scripts._build import ROOT
from tests.packaging.fixtures import run

TESTS = ["tests/identity/test_directory.py", "-k", "only_the_owner_updates", "--numprocesses", "0", "-q"]
PROJECTS = ROOT / ".user-projects"  # Ape sees no contracts in `.cache`, where other temporary files are
OWNER_CHECK = "require(msg.sender == owner, UnauthorizedUpdate());"


@pytest.fixture
def copy():
    """A copy of the project, compiled, with the sources and tests of this checkout."""
    PROJECTS.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=PROJECTS) as name:
        folder = Path(name)
        for file in run("git", "ls-files", cwd=ROOT).splitlines():
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, folder / file)
        for tool in (".venv", "node_modules"):
            (folder / tool).symlink_to(ROOT / tool)
        shutil.copytree(ROOT / ".build", folder / ".build")
        yield folder


def ape_test(folder, *options):
    """Run tests of the directory as a user of Ape does."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment["APE_DATA_FOLDER"] = str(folder / ".cache/ape")
    command = [".venv/bin/ape", "test", *TESTS, *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


def edit(folder, change):
    """Change the contract from which the registry inherits."""
    source = folder / "contracts/identity/AgentDirectory.sol"
    text = source.read_text()
    assert OWNER_CHECK in text
    source.write_text(text.replace(OWNER_CHECK, change))


@pytest.mark.nightly
def test_ape_test_refuses_changed_contracts_that_do_not_compile(copy):
    edit(copy, "require(nobody == owner);")
    done = ape_test(copy)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Undeclared identifier" in done.stderr
    assert "the contracts do not compile" in done.stderr


@pytest.mark.nightly
def test_ape_test_compiles_the_contracts_that_inherit_from_a_changed_one(copy):
    edit(copy, "")
    done = ape_test(copy)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "4 failed" in done.stdout


def test_ape_test_reports_the_gas_of_transactions_and_passes():
    done = ape_test(ROOT, "--gas")
    assert done.returncode == 0, done.stdout
    assert re.search(r"IdentityRegistry Gas(?s:.*)^ +updateAgent +\d+ +\d+ +\d+", done.stdout, re.MULTILINE), (
        done.stdout
    )


@pytest.fixture
def project(tmp_path):
    """A folder with a source and the script that compiles, beside a compiler that counts its runs."""
    shutil.copytree(ROOT / "toolchain", tmp_path / "toolchain", ignore=shutil.ignore_patterns("site"))
    for name in ("contracts/A.sol", "ape-config.yaml", "package-lock.json", "scripts/compile.py", ".venv/bin/python"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    compiler = tmp_path / ".venv/bin/python"
    compiler.write_text("#!/bin/sh\necho >> runs\nmkdir .build\ntouch .build/__local__.json\n")
    compiler.chmod(0o755)
    return tmp_path


def test_contracts_are_compiled_after_a_change_of_a_source_or_of_apes_build_and_not_otherwise(project):
    def runs():
        run("toolchain/compile.sh", cwd=project)
        return len((project / "runs").read_text().splitlines())

    assert (runs(), runs()) == (1, 1)
    (project / "contracts/A.sol").write_text("contract A {}")
    assert (runs(), runs()) == (2, 2)
    manifest, fingerprint = project / ".build/__local__.json", project / ".build/.fingerprint"
    later = fingerprint.stat().st_mtime_ns + 1
    os.utime(manifest, ns=(later, later))  # `ape compile --force` on other sources, which are as before now
    assert (runs(), runs()) == (3, 3)
