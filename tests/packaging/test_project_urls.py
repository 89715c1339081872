"""Distributions name the repository that a workflow builds, and none otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from scripts._build import ROOT
from scripts.npm_package import REPOSITORY, SOURCE, with_repository

ADDRESS = "https://forge.example/people/bilateral"


def metadata(address):
    """Return the metadata that hatchling makes of the checkout, by name."""
    environment = {name: value for name, value in os.environ.items() if name != REPOSITORY}
    command = [sys.executable, "-m", "hatchling", "metadata"]
    shown = subprocess.run(  # noqa: S603  # the command under test
        command,
        cwd=ROOT,
        env=environment | ({REPOSITORY: address} if address else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else shown.stderr


def test_build_for_a_repository_names_its_pages():
    first = metadata(ADDRESS)
    assert first["urls"] == {
        "Changelog": f"{ADDRESS}/blob/main/CHANGELOG.md",
        "Documentation": f"{ADDRESS}/tree/main/docs",
        "Issues": f"{ADDRESS}/issues",
        "Source": ADDRESS,
    }
    assert metadata(ADDRESS) == first


def test_build_without_a_repository_names_no_address():
    assert not metadata("").get("urls")
    manifest = (SOURCE / "package.json").read_text()
    assert with_repository(manifest, "") == manifest
    assert not {"repository", "homepage", "bugs"} & json.loads(manifest).keys()


@pytest.mark.parametrize("address", ["http://forge.example/a/b", "https://forge.example", "https://a.example/b c", "x"])
def test_address_that_is_not_a_repository_is_refused(address):
    assert f"{REPOSITORY} is {address!r}: it must be the https URL of a repository" in metadata(address)


def test_npm_package_names_the_repository():
    manifest = json.loads(with_repository((SOURCE / "package.json").read_text(), ADDRESS))
    assert manifest["repository"] == {"type": "git", "url": f"git+{ADDRESS}.git", "directory": "npm"}
    assert manifest["bugs"] == f"{ADDRESS}/issues"


def test_release_workflow_names_its_own_repository():
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert f"{REPOSITORY}: ${{{{ github.server_url }}}}/${{{{ github.repository }}}}" in workflow
