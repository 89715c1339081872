"""The commands that install the packages work as the pages show them, before the first release and after it."""

from __future__ import annotations

import os
import re
import sys

import pytest

from scripts._build import ROOT
from scripts.install_lines import FOLDER, is_released, with_install_lines
from tests.packaging.fixtures import clone, run

WAYS = ["for-buyers.md", "for-sellers.md", "for-operators.md", "for-contract-authors.md"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_the_commands_of_today_and_the_first_release_switches_it(page):
    text = page.read_text()
    assert with_install_lines(text, released=is_released()) == text, "make install-lines"
    released = with_install_lines(text, released=True)
    assert not re.search(r"pip install\s+['\"]?\.", released)
    assert "No version is released yet" not in released
    assert with_install_lines(released, released=is_released()) == text


@pytest.mark.parametrize("name", WAYS)
def test_first_commands_of_a_way_install_from_the_index_after_a_release(name):
    released = with_install_lines((ROOT / "docs" / name).read_text(), released=True)
    first = released.split("```\n")[1].splitlines()
    assert first[0] == "pip install 'bilateral[all]'"
    assert ("bilateral@" in first[1]) == (name == "for-contract-authors.md")


@pytest.mark.nightly
@pytest.mark.parametrize("name", WAYS)
def test_first_commands_of_a_way_work_today(tmp_path, name):
    """The dependencies of the package, and the toolchain of the checkout, are left to other tests."""
    checkout = clone(tmp_path / "a checkout")
    commands = (ROOT / "docs" / name).read_text().split("```\n")[1]
    assert commands.endswith("bilateral dev\n")
    script = commands.removesuffix("bilateral dev\n").replace("make setup && .venv/bin/python", sys.executable)
    # PIP_NO_DEPS would leave the dependencies of hatchling out of its own environment, too.
    script = script.replace("pip install ", "pip install --no-deps ")
    # Temporary files may be inside of this checkout, where npm would find the checkout's own packages, and change them.
    (tmp_path / FOLDER / "node_modules").mkdir(parents=True)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    path = f"{tmp_path / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"
    run("bash", "-euc", script, cwd=checkout, environment=os.environ | {"PATH": path})
    assert (tmp_path / "venv/bin/bilateral").exists()
    modules = tmp_path / FOLDER / "node_modules"
    assert (modules / ".bin/anvil").exists()
    assert (modules / "bilateral").exists() == (name == "for-contract-authors.md")
