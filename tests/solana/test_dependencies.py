"""Reading and verifying need no library for Solana, and the pinned one for the tests is new enough."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version

from scripts._build import ROOT

IMPORTS = """
import sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"solders", "solana"}:
            raise ImportError(name)

sys.meta_path.insert(0, Refusal())
import bilateral.x402, bilateral.x402.confirmation, bilateral.x402.server, bilateral.x402.solana
import bilateral.solana.history, bilateral.solana.payments, bilateral.solana.registries
import bilateral.checks.live, bilateral.x402.feedback_elsewhere
"""


def test_readers_need_neither_solders_nor_solana():
    subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, check=True)  # noqa: S603  # our own Python


def test_s42_pinned_solders_knows_groups_of_token_2022():
    assert tuple(map(int, version("solders").split(".")[:2])) >= (0, 27)
    assert "solders>=0.27" in (ROOT / "toolchain/requirements.in").read_text().splitlines()


def test_extra_of_payers_and_sellers_adds_the_half_of_the_sdk_for_solana():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["solana"] == ["bilateral[x402]", "x402[svm]>=2.25,<2.26"]
    assert not any("svm" in requirement for requirement in extras["x402"])
