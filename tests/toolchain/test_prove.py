"""What `make prove` makes of a prover that fails, and where it writes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess

import pytest

from scripts._build import ROOT

PROVE = ROOT / "toolchain" / "prove.py"
SCRIPT = ROOT / "toolchain" / "prove.sh"


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


@pytest.mark.parametrize("reach", [False, True])
def test_halmos_that_ends_without_a_result_is_a_fault_and_its_output_is_shown(
    prover, tmp_path, monkeypatch, capsys, reach
):
    write_command(tmp_path / "halmos", "echo 'no such option'; echo 'out of memory' >&2; exit 3")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert prover.run_halmos("TallyProof", prover.Progress(1), reach=reach) == [
        "TallyProof: halmos ended with exit code 3, and without a result"
    ]
    assert capsys.readouterr().out == "no such option\nout of memory\n\n"


def test_forge_and_halmos_get_a_home_folder_in_the_cache(tmp_path):
    (tmp_path / "toolchain").mkdir()
    shutil.copy(SCRIPT, tmp_path / "toolchain")
    commands = tmp_path / ".cache" / "audit" / "bin"
    write_command(commands / "forge", 'echo "$HOME"')
    write_command(commands / "python", 'echo "$HOME"')
    run = subprocess.run([tmp_path / "toolchain" / "prove.sh"], capture_output=True, text=True, check=True)  # noqa: S603
    home = f"{tmp_path / '.cache'}\n"
    assert (run.stdout, (tmp_path / ".cache" / "forge.log").read_text()) == (home, home)
