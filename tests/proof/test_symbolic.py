"""The proofs leave out no function that changes what they are about."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

PROOFS = Path(__file__).parents[1] / "symbolic"


@pytest.mark.parametrize(
    ("contract", "file"),
    [("IdentityRegistry", "AgentOf.t.sol"), ("BidirectionalReputationRegistry", "Ratings.t.sol")],
)
def test_every_function_that_writes_is_proved_to_keep_the_invariant(project, contract, file):
    abi = getattr(project, contract).contract_type.abi
    writing = Counter(
        entry.name for entry in abi if entry.type == "function" and entry.stateMutability in ("nonpayable", "payable")
    )
    calls = set(re.findall(r"^ {8}_registry\.(\w+)\((.*?)\);$", (PROOFS / file).read_text(), re.DOTALL | re.MULTILINE))
    assert not writing - Counter(name for name, _ in calls)


def test_every_file_of_proofs_has_a_contract_that_the_prover_finds():
    for path in PROOFS.glob("*.t.sol"):
        assert re.search(r"^contract \w+Proof is", path.read_text(), re.MULTILINE), path.name
