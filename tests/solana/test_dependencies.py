"""The pinned library for the tests is new enough. Reading and verifying need none.

tests/packaging/test_extras.py imports `bilateral.x402` and `bilateral.checks` without it.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import version

from scripts._build import ROOT


def test_s42_pinned_solders_knows_groups_of_token_2022():
    assert tuple(map(int, version("solders").split(".")[:2])) >= (0, 27)
    assert "solders>=0.27" in (ROOT / "toolchain/requirements.in").read_text().splitlines()


def test_extra_of_payers_and_sellers_adds_the_half_of_the_sdk_for_solana():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["solana"] == ["bilateral[x402]", "x402[svm]>=2.25,<2.26"]
    assert not any("svm" in requirement for requirement in extras["x402"])
