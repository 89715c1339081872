"""The tools that prove the contracts must look at what gets deployed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_slither_and_halmos_see_the_bytecode_that_gets_deployed():
    deployed = yaml.safe_load((ROOT / "ape-config.yaml").read_text())["solidity"]
    proved = tomllib.loads((ROOT / "assurance/foundry.toml").read_text())["profile"]["default"]
    assert proved["evm_version"] == deployed["evm_version"]
    assert proved["via_ir"] == deployed["via_ir"]
    assert proved["optimizer"]
    assert proved["optimizer_runs"] == deployed["optimization_runs"]
    assert proved["solc"] == ".venv/bin/solc"
