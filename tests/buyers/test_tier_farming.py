"""One commitment is one member: no tree of identities hides below it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from scripts._build import ROOT

FARMER = (Path(__file__).parent / "farmer.mjs").read_text(encoding="utf-8")
HASH = """
import { poseidon2 } from 'poseidon-lite/poseidon2';
console.log(String(poseidon2(JSON.parse(process.argv[1]))));
"""
FOLDER = ROOT / ".cache" / "prover"
SECRETS = [bytes([number]) * 32 for number in (1, 2)]
DIGEST = bytes(range(32))


def run(script, argument):
    """Run a script in the folder of the prover."""
    command = ["node", "--input-type=module", "-e", script, json.dumps(argument)]
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, check=True, timeout=120)  # noqa: S603  # ours
    return json.loads(ran.stdout)


def farmed_commitment(prover):
    """Return the root of a tree of two identities."""
    return run(HASH, [str(prover.commitment(secret)) for secret in SECRETS])


def served(members, place, secrets, root):
    """Return how many holders at one seller the identities below a commitment can serve."""
    options = {"secrets": [secret.hex() for secret in secrets], "circuit": str(FOLDER / "semaphore-20.wasm")}
    return len(run(FARMER, {"members": list(map(str, members)), "farmer": place, "root": root, **options}))


def test_commitment_serves_at_most_one_holder(prover):
    """In Semaphore's own trees, the root of a tree of identities serves as many holders as the tree has."""
    honest = bytes([3]) * 32
    members = [*range(1_000, 1_023), prover.commitment(honest), farmed_commitment(prover)]
    (root,) = prover.roots([members])
    assert served(members, 24, SECRETS, None) == 2
    assert served(members, 24, SECRETS, str(root)) == 0
    assert served(members, 23, [honest], str(root)) == 1


def test_identity_proves_its_own_commitment_for_one_message_alone(prover):
    commitments, identities = zip(*((prover.commitment(s), prover.sign(s, DIGEST)) for s in SECRETS), strict=True)
    changed = identities[0][:-1] + bytes([identities[0][-1] ^ 1])
    claims = [
        (commitments[0], identities[0], DIGEST),
        (commitments[1], identities[0], DIGEST),
        (commitments[0], identities[0], bytes(32)),
        (commitments[0], changed, DIGEST),
        (farmed_commitment(prover), identities[0], DIGEST),
        (commitments[0], bytes(160), DIGEST),
        (commitments[0], b"\xff" * 160, DIGEST),
    ]
    assert prover.are_proven(claims) == [True, False, False, False, False, False, False]
    assert prover.are_proven([]) == []
