"""`make mutate`: changes the contracts, one change at a time, and sees whether the tests notice.

The changes are universalmutator's (operators, constants, conditions, removed statements and events) and the swap of
two statements that follow each other. A seeded sample of them is tried in a copy of the project. A change that does
not compile, or that compiles to the same bytecode, is not a mutant; every other one must fail a test of those that
touch the contract. Results are kept in `.mutants/`, so a run that is stopped goes on where it was.

    make mutate MUTANTS=200 SEED=1 ONLY=contracts/validation
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from universalmutator.mutator import mutants_regexp

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".mutants"  # not in .cache, where Ape sees no contracts
COPY = HOME / "project"
RESULTS = HOME / "results.jsonl"

TESTS = {
    "contracts/identity": ["tests/identity"],
    "contracts/reputation/Authorized": ["tests/authorized"],
    "contracts/reputation": ["tests/reputation"],
    "contracts/validation": ["tests/validation"],
    "contracts/libraries/Signatures": ["tests/identity", "tests/authorized"],
    "contracts/libraries/IdentityBound": ["tests/authorized", "tests/validation"],
}
"""The tests that touch a contract, by the beginning of its path. The first that fits counts."""

RULES = ["universal.rules", "c_like.rules", "solidity.rules"]

IGNORED = [r"^\s*(//|\*|import |pragma |using |\}|/\*)", r"^\s*(abstract )?(contract|library|interface) "]
"""Lines that no rule may touch, because they say nothing that runs."""

GROSS = {"selfdestruct(msg.sender);", "revert();", "break;", "continue;"}
"""Statements that a rule puts where another was. Any test notices them, which would only flatter the tests."""

SUFFICIENT = 0.95
"""The share of the mutants that the tests must notice."""

PATIENCE = 3
"""How many times as long as without a change the tests may take."""


@dataclass(frozen=True)
class Mutant:
    """A changed contract.

    Attributes:
        path: The source, relative to the project.
        line: The first line that is changed.
        before: What stands there.
        after: What stands there instead.
    """

    path: str
    line: int
    before: str
    after: str

    def identifier(self, source: str) -> str:
        """Name the mutant of a certain version of its source."""
        return hashlib.sha256(f"{source}\0{self.path}\0{self.line}\0{self.after}".encode()).hexdigest()[:16]

    def applied(self, source: str) -> str:
        """Change the source."""
        lines = source.splitlines(keepends=True)
        lines[self.line - 1 : self.line - 1 + self.before.count("\n")] = [self.after]
        return "".join(lines)

    def __str__(self) -> str:
        """Show the change."""
        shown = [f"  - {line.strip()}" for line in self.before.splitlines()]
        shown += [f"  + {line.strip()}" for line in self.after.splitlines()]
        return "\n".join([f"{self.path}:{self.line}", *shown])


def tests_of(path: str) -> list[str]:
    """The folders of tests that touch a source and exist; none if there are none."""
    folders = next((tests for beginning, tests in TESTS.items() if path.startswith(beginning)), [])
    return [folder for folder in folders if (ROOT / folder).is_dir()]


def _swaps(lines: list[str]) -> list[tuple[int, str, str]]:
    """Two statements of one line each, in one block, in the other order."""
    swaps = []
    for number, (first, second) in enumerate(itertools.pairwise(lines), start=1):
        indents = {len(line) - len(line.lstrip()) for line in (first, second)}
        if len(indents) == 1 and all(re.search(r";\s*(//.*)?$", line) for line in (first, second)) and first != second:
            swaps.append((number, first + second, second + first))
    return swaps


def mutants_of(path: str) -> list[Mutant]:
    """All mutants of a source.

    Args:
        path: The source, relative to the project.

    Returns:
        The mutants, none twice.
    """
    lines = (ROOT / path).read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        changes = mutants_regexp(lines, RULES, ignorePatterns=IGNORED)
    found = [
        Mutant(path, line, lines[line - 1], after)
        for line, after, *_ in changes
        if after.strip().rpartition("\n")[2].strip() not in GROSS
    ]
    found += [Mutant(path, *swap) for swap in _swaps(lines)]
    return list(dict.fromkeys(m for m in found if "".join(m.before.split()) != "".join(m.after.split())))


def sample(seed: int, only: str) -> list[Mutant]:
    """All mutants of the contracts that have tests and whose path begins so, in an order that the seed decides."""
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "contracts").rglob("*.sol"))
    mutants = [mutant for path in paths if path.startswith(only) and tests_of(path) for mutant in mutants_of(path)]
    random.Random(seed).shuffle(mutants)  # noqa: S311  # no secret depends on it
    return mutants


def _run(*command: str, timeout: float | None = None) -> int | None:
    """Run a command in the copy; its exit code, or None if it took too long and was ended with all that it started."""
    with subprocess.Popen(  # noqa: S603  # the project's own tools
        command, cwd=COPY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None


def _test(folders: list[str], timeout: float | None = None) -> int | None:
    """Run the tests of some folders until the first that fails; the exit code, None if they took too long."""
    return _run(".venv/bin/ape", "test", "-q", "-x", "-n", "2", *folders, timeout=timeout)


def _copy_project() -> None:
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    for tool in (".venv", "node_modules"):
        (COPY / tool).symlink_to(ROOT / tool)
    (COPY / ".cache").mkdir()


def _is_valid_solidity(path: str) -> bool:
    """Whether a source of the copy passes the compiler's analysis, which takes a tenth of a compilation's time."""
    request = {
        "language": "Solidity",
        "sources": {path: {"content": (COPY / path).read_text()}},
        "settings": {"outputSelection": {"*": {"": ["ast"]}}},
    }
    answer = subprocess.run(
        [".venv/bin/solc", "--standard-json", "--base-path", ".", "--include-path", "node_modules"],
        cwd=COPY,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    return not any(error["severity"] == "error" for error in json.loads(answer.stdout).get("errors", []))


def _bytecode() -> dict[str, str] | None:
    """Compile the copy; the bytecode of each contract without the hash of its sources, None if it does not compile."""
    if _run("./toolchain/compile.sh", timeout=600) != 0:
        return None
    build = json.loads((COPY / ".build/__local__.json").read_text())
    codes = {
        name: contract["runtimeBytecode"].get("bytecode") or "" for name, contract in build["contractTypes"].items()
    }
    return {name: re.sub("a2646970667358221220[0-9a-f]{64}", "", code) for name, code in codes.items()}


def judge(mutant: Mutant, original: dict[str, str], patience: float) -> str:
    """Try a mutant.

    Args:
        mutant: The mutant.
        original: The bytecode of the contracts as they are.
        patience: After how many seconds of tests it counts as noticed, because something runs for ever.

    Returns:
        `killed`, `survived`, or `invalid` if it does not compile or compiles to the same.
    """
    target = COPY / mutant.path
    source = target.read_text()
    try:
        target.write_text(mutant.applied(source))
        if not _is_valid_solidity(mutant.path) or _bytecode() in (None, original):
            return "invalid"
        return "survived" if _test(tests_of(mutant.path), patience) == 0 else "killed"
    finally:
        target.write_text(source)


def _known() -> dict[str, str]:
    if not RESULTS.exists():
        return {}
    records = map(json.loads, RESULTS.read_text().splitlines())
    return {record["id"]: record["verdict"] for record in records}


def main() -> int:
    """Try the sample and print the survivors.

    Returns:
        The exit code: 1 if too many survived.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=200, help="how many valid mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="decides which")
    parser.add_argument("--only", default="contracts/", help="how the paths of the contracts begin that are changed")
    options = parser.parse_args()

    _copy_project()
    original = _bytecode()
    if original is None:
        sys.exit("mutate: the contracts do not compile")
    mutants = sample(options.seed, options.only)
    folders = sorted({folder for mutant in mutants for folder in tests_of(mutant.path)})
    print("mutate: running the tests of the contracts as they are ...", flush=True)
    start = time.monotonic()
    if _test(folders) != 0:
        sys.exit("mutate: the tests fail without any change")
    patience = PATIENCE * (time.monotonic() - start) + 60

    known, verdicts, survivors, start = _known(), [], [], time.monotonic()
    tried = 0
    for mutant in mutants:
        if len(verdicts) == options.mutants:
            break
        identifier = mutant.identifier((ROOT / mutant.path).read_text())
        if identifier not in known:
            tried += 1
            known[identifier] = judge(mutant, original, patience)
            with RESULTS.open("a") as results:
                results.write(
                    json.dumps({"id": identifier, "verdict": known[identifier], "mutant": str(mutant)}) + "\n"
                )
        if known[identifier] == "invalid":
            continue
        verdicts.append(known[identifier])
        if known[identifier] == "survived":
            survivors.append(mutant)
        pace = (time.monotonic() - start) / max(tried, 1)
        print(
            f"mutate: {len(verdicts)} of {options.mutants}, {len(survivors)} survived, {pace:.0f} s each; "
            f"{known[identifier]}: {mutant.path}:{mutant.line}",
            flush=True,
        )

    killed = verdicts.count("killed")
    for mutant in survivors:
        print(f"survived: {mutant}")
    share = killed / max(len(verdicts), 1)
    print(f"mutate: {killed} of {len(verdicts)} mutants killed ({share:.1%}), seed {options.seed}.")
    return 0 if killed >= SUFFICIENT * len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
