"""Distributions that are built from a fresh clone work without the checkout, and are the same each time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import httpx
import pytest

from bilateral.explorer import assets as explorer_assets
from bilateral.explorer.assets import asset, assets
from bilateral.explorer.pictures import site_picture
from bilateral.explorer.rendering import Frame, render
from scripts import explorer_assets as vendor
from scripts._build import ROOT
from tests.packaging.fixtures import build, clone, python_of, run


@pytest.mark.nightly
def test_pages_of_a_wheel_from_a_fresh_clone_load_all_their_files(service):
    page = httpx.get(service)
    assert page.status_code == 200
    paths = set(re.findall(r'"(/assets/[^"]+)"', page.text + httpx.get(f"{service}/method").text))
    style = next(path for path in paths if path.endswith(".css"))
    fonts = set(re.findall(r"url\((/assets/[^)]+)\)", httpx.get(service + style).text))
    assert len(fonts) == 3
    for path in paths | fonts:
        assert httpx.get(service + path).status_code == 200


def test_the_version_of_a_wheel_names_its_commit(wheel, installed, tmp_path):
    commit = run("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    assert zipfile.ZipFile(wheel).read("bilateral/commit.txt").decode() == f"{commit}\n"
    shown = run(installed("cli") / "bilateral", "--version", cwd=tmp_path)
    assert shown == f"bilateral 0.1.0 (commit {commit[:12]})\n"


def test_a_wheel_says_that_it_is_typed_and_carries_its_licences(wheel):
    files = zipfile.ZipFile(wheel)
    names = set(files.namelist())
    assert {"bilateral/py.typed", "bilateral/deployments/canonical.json"} <= names
    metadata = files.read("bilateral-0.1.0.dist-info/METADATA").decode()
    assert "\nLicense: MIT\n" in metadata
    assert "\nClassifier: Typing :: Typed\n" in metadata
    assert "bilateral-0.1.0.dist-info/licenses/LICENSE" in names
    fonts = {name.rpartition(".")[0] for name in names if name.endswith((".woff2", "sigma.js", "graphology.js"))}
    assert fonts
    assert {f"{name}.LICENSE" for name in fonts} <= names


@pytest.mark.nightly
def test_two_builds_are_equal_byte_for_byte_and_so_is_one_from_the_source_distribution(wheel, tmp_path):
    source = clone(tmp_path / "again")
    again, sources = build(source, tmp_path / "dist", "wheel", "sdist")
    assert again.read_bytes() == wheel.read_bytes()
    shutil.unpack_archive(sources, tmp_path, filter="data")
    (third,) = build(tmp_path / sources.name.removesuffix(".tar.gz"), tmp_path / "third", "wheel")
    assert third.read_bytes() == wheel.read_bytes()


def test_a_build_that_cannot_have_the_fonts_fails_and_says_why(tmp_path):
    source = clone(tmp_path / "clone")
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not shutil.which("npm", path=p))
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
        cwd=source,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    assert "the explorer's fonts and scripts come from npm, which is missing: install Node 20 or newer" in ran.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_wheel_with_all_extras_works_on_another_python(installed, tmp_path, version):
    programs = installed("all", python=python_of(version))
    assert run(programs / "bilateral", "--version", cwd=tmp_path).startswith("bilateral 0.1.0 ")
    rooms = "bilateral.api.app, bilateral.checks, bilateral.index, bilateral.solana, bilateral.trust, bilateral.x402"
    shown = run(programs / "python", "-c", f"import sys, {rooms}; print(sys.version_info[:2])", cwd=tmp_path)
    assert shown == f"({version.replace('.', ', ')})\n"
    run(programs / "bilateral", "deployment", "list", cwd=tmp_path)
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    run(programs / "bilateral", "index", "schema", "--database", database, cwd=tmp_path)


def test_files_of_other_versions_than_the_locks_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(vendor, "TARGET", tmp_path)
    for name in vendor.COPIED:
        (tmp_path / name).write_text("old")
    (tmp_path / "versions.json").write_text(json.dumps({"sigma": {"version": "0.0.1", "integrity": ""}}))
    vendor.provide()
    assert (tmp_path / "sigma.js").read_bytes() == (vendor._MODULES / vendor.COPIED["sigma.js"]).read_bytes()
    (tmp_path / "sigma.js").write_text("kept, because the record says that it is the lock's")
    vendor.provide()
    assert (tmp_path / "sigma.js").read_text().startswith("kept")


def test_a_package_of_another_hash_than_the_locks_is_refused(tmp_path):
    pin = vendor._pinned(ROOT / "package-lock.json")["graphology"]
    with pytest.raises(vendor.MissingAssetsError, match=r"npm has another graphology .* than package-lock\.json"):
        vendor._fetch("graphology", pin["version"], "sha512-AAAA", tmp_path)


def test_pages_render_without_fonts_and_scripts_of_others(tmp_path, monkeypatch):
    static = ROOT / "bilateral" / "explorer" / "static"
    shutil.copytree(static, tmp_path / "static", ignore=shutil.ignore_patterns("vendor"))
    monkeypatch.setattr(explorer_assets, "files", lambda _: tmp_path)
    for cached in (asset, assets):
        cached.cache_clear()
    try:
        kept = {file.name.partition(".")[0] for file in assets().values()}
        assert kept == {"act", "app", "docs", "icon", "live", "network", "signing", "style"}
        assert b".woff2" not in asset("style.css").body
        page = render("problem", Frame("/nowhere"), status=404, detail="Nothing is here.", chains=[])
        assert "preload" not in page
        assert site_picture.__wrapped__().startswith(b"\x89PNG")
    finally:
        for cached in (asset, assets):
            cached.cache_clear()
