"""`make prove` reports a failing prover and writes into the cache; CI proves some contracts quickly."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess

import pytest

from scripts._build import ROOT

PROVE = ROOT / "assurance" / "prove.py"
SCRIPT = ROOT / "assurance" / "prove.sh"


def write_command(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def prover():
    """The prover, as a module."""
    spec = importlib.util.spec_from_file_location("prove", PROVE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_contract_without_proofs_is_refused_in_one_line(prover, monkeypatch):
    monkeypatch.setattr("sys.argv", ["prove.py", "NoProof"])
    with pytest.raises(SystemExit, match=r"^prove: unknown contracts NoProof: choose from "):
        prover.main()


@pytest.mark.parametrize("reach", [False, True])
def test_halmos_that_ends_without_a_result_is_a_fault_and_its_output_is_shown(
    prover, tmp_path, monkeypatch, capsys, reach
):
    write_command(tmp_path / "halmos", "echo 'no such option'; echo 'out of memory' >&2; exit 3")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert prover.run_halmos("TallyProof", prover.Progress(1), reach=reach) == [
        "TallyProof: halmos ended with exit code 3, and returned no result"
    ]
    assert capsys.readouterr().out == "no such option\nout of memory\n\n"


def test_forge_and_halmos_get_a_home_folder_in_the_cache(tmp_path):
    (tmp_path / "assurance").mkdir()
    shutil.copy(SCRIPT, tmp_path / "assurance")
    commands = tmp_path / ".cache" / "assurance" / "bin"
    write_command(commands / "forge", 'echo "$HOME"')
    write_command(commands / "python", 'echo "$HOME"')
    run = subprocess.run([tmp_path / "assurance" / "prove.sh"], capture_output=True, text=True, check=True)  # noqa: S603
    home = f"{tmp_path / '.cache'}\n"
    assert (run.stdout, (tmp_path / ".cache" / "forge.log").read_text()) == (home, home)


def test_only_the_contracts_to_prove_are_compiled_by_forge_and_by_that_of_halmos(tmp_path):
    for folder in ("assurance", "tests/proofs"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "assurance")
    for name in ("First", "Second"):
        (tmp_path / f"tests/proofs/{name}.t.sol").write_text(f"contract {name}Proof is Proof {{}}\n")
    commands = tmp_path / ".cache" / "assurance" / "bin"
    write_command(commands / "forge", 'echo "$@"')
    write_command(commands / "python", 'echo "$FOUNDRY_SRC $FOUNDRY_TEST $FOUNDRY_SCRIPT"')
    command = [tmp_path / "assurance" / "prove.sh", "SecondProof"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert (tmp_path / ".cache" / "forge.log").read_text() == "build tests/proofs/Second.t.sol\n"
    assert not any((tmp_path / folder).exists() for folder in run.stdout.split())


def test_ci_proves_contracts_of_proofs_and_prints_the_closing_line_of_the_tests_last(prover):
    quick = re.search(r"^QUICK_PROOFS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert "PackedRatingsProof" in quick
    assert set(quick) < set(prover.contracts_of_proofs())
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make ")]
    assert commands == [
        "make --jobs=3 --output-sync=target test-interop test-npm lint prove-quickly docs prover",
        "make test | tee .cache/test.log",
    ]
