"""The toolchain writes nothing into the home folder but the caches of pip, uv and npm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
import requests

from bilateral.dev.anvil import LISTENING
from scripts._anvil import ANVIL, running_anvil
from scripts._build import ROOT

RUSTC_OF_RUSTUP = '#!/bin/sh\nmkdir -p "${RUSTUP_HOME:-$HOME/.rustup}"\necho "rustc 1.0.0"\n'
"""A compiler that creates rustup's folder when it runs, as rustup's own does."""


@pytest.fixture
def home(tmp_path):
    """An empty home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def rustup(tmp_path):
    """A PATH whose `rustc` is rustup's."""
    (tmp_path / "bin").mkdir()
    rustc = tmp_path / "bin" / "rustc"
    rustc.write_text(RUSTC_OF_RUSTUP)
    rustc.chmod(0o755)
    return f"{rustc.parent}{os.pathsep}{os.environ['PATH']}"


def test_forked_chain_is_not_cached_in_the_home_folder(home):
    with running_anvil() as upstream:
        fork = subprocess.Popen(  # noqa: S603  # the pinned anvil
            [ANVIL, "--port", "0", "--fork-url", upstream],
            env=os.environ | {"HOME": str(home)},
            stdout=subprocess.PIPE,
            text=True,
        )
        address = next(line for line in fork.stdout if line.startswith(LISTENING)).removeprefix(LISTENING).strip()
        question = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [f"0x{'ab' * 20}", "latest"]}
        answer = requests.post(f"http://{address}", json=question, timeout=120).json()
        fork.terminate()
        fork.communicate(timeout=120)
    assert answer["result"] == "0x0"
    assert list(home.iterdir()) == []


def run_pip_as_set_up_does(home, path, folder):
    """Source home.sh in a folder that is a project of its own, and have pip tell its index who it is."""
    (folder / "toolchain").mkdir(parents=True)
    shutil.copy(ROOT / "toolchain" / "home.sh", folder / "toolchain")
    pip = f"{ROOT}/.venv/bin/pip install --quiet --dry-run --require-hashes -r {ROOT}/toolchain/uv.lock"
    script = f"set -eu; . toolchain/home.sh; {pip}"
    subprocess.run(  # noqa: S603  # the project's own pip
        ["/bin/sh", "-c", script], cwd=folder, env={"HOME": str(home), "PATH": path}, check=True
    )


def test_pip_does_not_make_rustup_write_into_the_home_folder(home, rustup, tmp_path):
    run_pip_as_set_up_does(home, rustup, tmp_path / "project")
    assert not (home / ".rustup").exists()
    assert (tmp_path / "project" / ".cache" / "rustup").is_dir()


def test_rustup_of_the_user_is_left_in_place(home, rustup, tmp_path):
    (home / ".rustup").mkdir()
    run_pip_as_set_up_does(home, rustup, tmp_path / "project")
    assert not (tmp_path / "project" / ".cache").exists()


@pytest.mark.parametrize("script", ["toolchain/setup.sh", "assurance/setup.sh", "interop/setup.sh"])
def test_set_up_scripts_protect_the_home_folder_before_they_run_python(script):
    lines = (ROOT / script).read_text().splitlines()
    first_use = next(number for number, line in enumerate(lines) if re.search(r"-m venv|/pip |/uv ", line))
    assert lines.index(". toolchain/home.sh") < first_use
