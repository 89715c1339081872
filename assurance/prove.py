"""`make prove`: proves the statements of `tests/proofs/` by symbolic execution, and that none is vacuous.

halmos runs twice over each contract of proofs. First it must find no input for which a statement is false. Then, with
a false statement at the end of each proof (`REACH`, see `tests/proofs/Proof.sol`), it must find one for each: a proof
whose assumptions contradict each other, or whose calls all revert, states nothing. A time-out, a loop that was not
followed to its end, and a contract without proofs are failures, too.

    assurance/prove.sh                     all proofs
    assurance/prove.sh PackedRatingsProof  those of one contract
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "tests" / "proofs"
BUILD = ".cache/forge/out"

PASSED, REFUTED = 0, 1
"""Exit codes of halmos for one proof: no counterexample was found; one was found."""

SOLVER_LIMIT = "30m"
"""The longest time for one query. Most take less than a second, a few take minutes, more where the machine is busy."""

LOOP_LIMIT = 64
"""The most rounds of a loop: more than any proof has, so that one that reaches it fails."""

HALMOS = [
    *("halmos", "--forge-build-out", BUILD, "--no-status"),
    # Solady's slots are not those of Solidity's own layout, so storage is modelled without regard to it.
    *("--storage-layout", "generic"),
    *("--loop", str(LOOP_LIMIT)),
    # On stored words yices, the default, times out; bitwuzla takes half a second.
    *("--solver-command", shlex.join([sys.executable, str(ROOT / "assurance" / "smt.py")])),
    *("--solver-timeout-assertion", SOLVER_LIMIT),
]

STORAGE = {
    "AgentOf.t.sol": "IdentityRegistry",
    "ObservedIdentityRegistry.sol": "IdentityRegistry",
    "FeedbackStore.t.sol": "OpenFeedbackStore",
    "FeedbackTags.t.sol": "OpenFeedbackStore",
    "Ratings.t.sol": "BidirectionalReputationRegistry",
    "BlindRatings.t.sol": "BidirectionalReputationRegistry",
    "AuthorizedRecords.t.sol": "AuthorizedReputationRegistry",
    "ValidationWords.t.sol": "ValidationRegistry",
    "CompanionDirectory.t.sol": "CompanionDirectory",
    "BuyerRecords.t.sol": "BuyerReputationRegistry",
}
"""The contract whose storage a file reads by constants such as `DOMAINS_SLOT`, the slot of `_domains`."""

VERDICT = re.compile(r"\[(?:PASS|FAIL|ERROR|TIMEOUT)\]\S* (check_\w+)\(")


def contracts_of_proofs() -> dict[str, Path]:
    """Return the files of the contracts whose name ends with `Proof`, in the order of the files."""
    return {
        name: path
        for path in sorted(PROOFS.glob("*.t.sol"))
        for name in re.findall(r"^contract (\w+Proof) is", path.read_text(), re.MULTILINE)
    }


def proofs_of(contract: str) -> list[str]:
    """Return the names of a contract's proofs, from forge's artifact."""
    return [name.split("(")[0] for name in artifact_of(contract)["methodIdentifiers"] if "check_" in name]


def artifact_of(contract: str) -> dict[str, Any]:
    """Return forge's artifact of a contract."""
    (path,) = (ROOT / BUILD).glob(f"*/{contract}.json")
    artifact: dict[str, Any] = json.loads(path.read_text())
    return artifact


def false_slots(files: Iterable[Path]) -> list[str]:
    """Return a line for each slot in some files of proofs that differs from the compiler's layout."""
    stated = {path.name: re.findall(r"constant (\w+)_SLOT = (\d+);", path.read_text()) for path in sorted(files)}
    faults = [
        f"{file}: STORAGE does not say whose slots it states" for file in stated if stated[file] and file not in STORAGE
    ]
    for file, contract in STORAGE.items():
        if file not in stated:
            continue  # forge compiled no more than the contracts to prove
        slots = {
            re.sub(r"(?<=[a-z])(?=[A-Z])", "_", row["label"].lstrip("_")).upper(): row["slot"]
            for row in artifact_of(contract)["storageLayout"]["storage"]
        }
        faults += [f"{file}: {name}_SLOT is not {slot}" for name, slot in stated[file] if slots.get(name) != slot]
    return faults


class Progress:
    """A counter that prints a line for each finished step."""

    def __init__(self, total: int) -> None:
        """Start the clock.

        Args:
            total: The number of steps.
        """
        self.total = total
        self.done = 0
        self.started = self.last = time.monotonic()

    def tell(self, text: str) -> None:
        """Print a finished step and its time."""
        now = time.monotonic()
        self.done += 1
        print(f"prove: {self.done:3}/{self.total}  {now - self.last:6.1f} s  {text}", flush=True)
        self.last = now

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self.started


def run_halmos(contract: str, progress: Progress, *, reach: bool) -> list[str]:
    """Run halmos over one contract.

    Args:
        contract: Its name.
        progress: Prints each finished proof.
        reach: True to end each proof with a false statement, which halmos must refute.

    Returns:
        The faults, one line each.
    """
    outcome, expected = ("reached", REFUTED) if reach else ("proved", PASSED)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [*HALMOS, "--contract", contract, "--json-output", str(result), *(["--early-exit"] if reach else [])]
        output = []
        with subprocess.Popen(  # noqa: S603  # the project's own tool
            command,
            cwd=ROOT,
            env=os.environ | {"REACH": str(reach).lower()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            for line in process.stdout or ():
                output.append(line)
                if match := VERDICT.search(line):
                    progress.tell(f"{outcome}? {contract}.{match[1]}")
        if not result.exists():
            print("".join(output))
            return [f"{contract}: halmos ended with exit code {process.returncode}, and returned no result"]
        verdicts = [test for tests in json.loads(result.read_text())["test_results"].values() for test in tests]

    names = {verdict["name"].split("(")[0] for verdict in verdicts}
    faults += [f"{contract}.{name}: was not looked at" for name in proofs_of(contract) if name not in names]
    for verdict in verdicts:
        name = f"{contract}.{verdict['name'].split('(')[0]}"
        if verdict["exitcode"] != expected:
            faults.append(f"{name}: not {outcome} (halmos says {verdict['exitcode']})")
        if verdict["num_bounded_loops"] and not reach:
            faults.append(f"{name}: a loop was not followed to its end")
    if "not been fully explored" in "".join(output) and not faults and not reach:
        faults.append(f"{contract}: a loop of setUp was not followed to its end")
    if faults:
        print("".join(output))
    return faults


def main() -> int:
    """Prove the contracts that the arguments name, or all.

    Returns:
        0 if all is proved and reached.
    """
    files = contracts_of_proofs()
    contracts = sys.argv[1:] or list(files)
    if unknown := [contract for contract in contracts if contract not in files]:
        sys.exit(f"prove: unknown contracts {', '.join(unknown)}: choose from {', '.join(files)}")
    numbers = {contract: len(proofs_of(contract)) for contract in contracts}
    faults = [f"{contract}: proves nothing" for contract, number in numbers.items() if number == 0]
    faults += false_slots({files[contract] for contract in sys.argv[1:]} or PROOFS.glob("*.sol"))
    total = sum(numbers.values())
    progress = Progress(2 * total)
    for contract in contracts:
        for reach in (False, True):
            faults += run_halmos(contract, progress, reach=reach)

    for fault in faults:
        print(f"prove: FAILED  {fault}")
    verdict = f"{len(faults)} faults in" if faults else "proved, and reached, all"
    print(f"prove: {verdict} {total} statements of {len(contracts)} contracts in {progress.seconds:.0f} s.")
    return 1 if faults or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
