"""The proofs leave out no function that changes what they are about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROOFS = Path(__file__).parents[1] / "proofs"

INVARIANTS = [
    ("IdentityRegistry", ["AgentOf.t.sol"], {"keepsInvariants"}),
    (
        "BidirectionalReputationRegistry",
        ["Ratings.t.sol", "BlindRatings.t.sol"],
        {"rates", "authorizes", "leavesWordsAlone", "changesOnlyThePair"},
    ),
    ("AuthorizedReputationRegistry", ["AuthorizedRecords.t.sol"], {"addsToRecord"}),
    ("ValidationRegistry", ["ValidationWords.t.sol"], {"keepsPlaces"}),
    ("CompanionDirectory", ["CompanionDirectory.t.sol"], {"changesOnly"}),
    ("BuyerReputationRegistry", ["BuyerRecords.t.sol"], {"changesAttested", "changesSettled", "changesNoRecord"}),
    ("BuyerTierProofs", ["PrivateTiers.t.sol"], {"reachesItsEnd"}),
    ("PrivateService", ["PrivateTiers.t.sol"], {"reachesItsEnd"}),
]
"""Of each registry: the files of its proofs, and the modifiers that state an invariant."""


def _functions(source):
    """Return the modifiers and the body of a file's functions by name, each as text."""
    matches = re.findall(r"^    function (\w+)\([^)]*\)([^{]*)\{\n(.*?)^    \}$", source, re.DOTALL | re.MULTILINE)
    return {name: (head, body) for name, head, body in matches}


def _arguments(text):
    """Count the arguments of a call; `text` starts behind its opening bracket."""
    depth, count = 0, 0
    for character in re.sub(r'"[^"]*"', "0", text):
        if depth == 0 and character == ")":
            break
        depth += (character in "([") - (character in ")]")
        count += depth == 0 and character == ","
    return 0 if text.startswith(")") else count + 1


def unproved(abi, source, modifiers):
    """Find the functions that write and that no proof is about.

    Args:
        abi: The contract's.
        source: The text of its proofs. A proof of `f` is called `check_f…`, and calls it as `_registry.f(…)`, in its
            own body or in that of a private function.
        modifiers: Those of which a proof must carry one.

    Returns:
        Name and number of arguments of each, which tell overloads apart.
    """
    writing = [
        (entry.name, len(entry.inputs))
        for entry in abi
        if entry.type == "function" and entry.stateMutability in ("nonpayable", "payable")
    ]
    assert len(writing) == len(set(writing))
    functions = _functions(source)
    proved = set()
    for proof, (head, body) in functions.items():
        if not modifiers & set(re.findall(r"\w+", head)):
            continue
        bodies = [body, *(functions[name][1] for name in re.findall(r"\b(_\w+)\(", body) if name in functions)]
        for call in re.finditer(r"_registry\.(\w+)\(", text := "".join(bodies)):
            if proof.startswith(f"check_{call[1]}"):
                proved.add((call[1], _arguments(text[call.end() :])))
    return set(writing) - proved


@pytest.mark.parametrize(("contract", "files", "modifiers"), INVARIANTS)
def test_every_function_that_writes_is_proved_to_keep_the_invariant(project, contract, files, modifiers):
    abi = getattr(project, contract).contract_type.abi
    source = "".join((PROOFS / file).read_text() for file in files)
    assert unproved(abi, source, modifiers) == set()


@pytest.mark.parametrize(
    ("proof", "function"),
    [
        ("check_registerWithMetadata", ("register", 2)),
        ("check_safeTransferFromWithData", ("safeTransferFrom", 4)),
        ("check_unsetAgentWallet", ("unsetAgentWallet", 1)),
    ],
)
def test_proof_that_is_gone_is_noticed(project, proof, function):
    abi = project.IdentityRegistry.contract_type.abi
    source = (PROOFS / "AgentOf.t.sol").read_text()
    assert unproved(abi, source.replace(f"function {proof}(", "function gone("), {"keepsInvariants"}) == {function}


def test_proof_without_the_invariant_does_not_count(project):
    abi = project.ValidationRegistry.contract_type.abi
    source = (PROOFS / "ValidationWords.t.sol").read_text()
    assert unproved(abi, source, {"reachesItsBeginning"}) == {("validationRequest", 4), ("validationResponse", 5)}


def test_every_file_of_proofs_has_a_contract_that_the_prover_finds():
    for path in PROOFS.glob("*.t.sol"):
        assert re.search(r"^contract \w+Proof is", path.read_text(), re.MULTILINE), path.name
