"""Files of pages: own ones and copies from npm, in the package and in its wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from bilateral.explorer.assets import assets
from scripts._build import ROOT
from scripts.explorer_assets import COPIED, TARGET


def test_copies_are_those_of_the_packages_that_the_lock_file_names():
    for name, source in COPIED.items():
        assert (TARGET / name).read_bytes() == (ROOT / "node_modules" / source).read_bytes()


def test_a_wheel_contains_every_file_that_pages_load(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)  # noqa: S603  # our own program
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"bilateral/explorer/static/vendor/{entry}" for entry in COPIED} <= names
    assert {f"bilateral/explorer/static/{name}" for name in ("style.css", "app.js", "network.js")} <= names
    assert "bilateral/explorer/templates/base.html.j2" in names


def test_own_javascript_is_small_and_a_first_view_is_light():
    sizes = {asset.name.split(".")[0]: len(asset.body) for asset in assets().values()}
    assert sizes["app"] < 2_000
    assert sum(sizes[name] for name in ("act", "signing", "sha3")) < 55_000
    assert sum(sizes[name] for name in ("app", "style", "sans", "serif", "mono")) < 150_000
