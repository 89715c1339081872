"""`make audit` fails on serious findings in the deployed contracts, and writes nothing into the home folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from scripts._build import ROOT

AUDIT = ROOT / "assurance" / "audit.py"


@pytest.fixture
def audit(tmp_path):
    """Judge a report with one finding; return the exit code and the output."""

    def run(impact, *paths, success=True):
        elements = [{"source_mapping": {"filename_relative": path}} for path in paths]
        finding = {"impact": impact, "check": "some-check", "description": "what it is\n", "elements": elements}
        report = {"success": success, "error": None if success else "no compiler", "results": {"detectors": [finding]}}
        path = tmp_path / "report.json"
        path.write_text(json.dumps(report))
        ran = subprocess.run(  # noqa: S603  # the project's own tool
            [sys.executable, AUDIT, path], capture_output=True, text=True, check=False
        )
        return ran.returncode, ran.stdout + ran.stderr

    return run


@pytest.mark.parametrize("impact", ["High", "Medium"])
@pytest.mark.parametrize("others", [[], ["node_modules/solady/src/x.sol"], ["contracts/mocks/Mock.sol"]])
def test_serious_finding_that_touches_a_contract_fails_the_audit(audit, impact, others):
    assert audit(impact, *others, "contracts/identity/IdentityRegistry.sol") == (
        1,
        f"{impact}: some-check: what it is\naudit: 1 findings of high or medium impact in the contracts.\n",
    )


@pytest.mark.parametrize(
    ("impact", "path"),
    [
        ("Low", "contracts/identity/IdentityRegistry.sol"),
        ("High", "node_modules/solady/src/x.sol"),
        ("High", "contracts/mocks/Mock.sol"),
    ],
)
def test_finding_of_low_impact_or_elsewhere_does_not(audit, impact, path):
    assert audit(impact, path) == (0, "audit: 0 findings of high or medium impact in the contracts.\n")


def test_analysis_that_failed_fails_the_audit(audit):
    assert audit("Low", success=False) == (1, "audit: slither failed: no compiler\n")


def test_slither_and_forge_get_a_home_folder_in_the_cache(tmp_path):
    (tmp_path / "assurance").mkdir()
    for file in ("audit.sh", "foundry.toml"):
        shutil.copy(ROOT / "assurance" / file, tmp_path / "assurance")
    for command in (".cache/assurance/bin/slither", ".venv/bin/python"):
        (tmp_path / command).parent.mkdir(parents=True)
        (tmp_path / command).write_text('#!/bin/sh\necho "$HOME"\n')
        (tmp_path / command).chmod(0o755)
    subprocess.run([tmp_path / "assurance" / "audit.sh"], capture_output=True, check=True)  # noqa: S603  # ours
    assert (tmp_path / ".cache" / "slither.log").read_text() == f"{tmp_path / '.cache'}\n"
