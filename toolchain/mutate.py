"""`make mutate`: changes the contracts, one change at a time, and sees whether the tests notice.

Each removal of an event and a seeded sample of all other changes are tried in copies of the project. A change that does
not compile, or that compiles to the same bytecode, is not a mutant; every other one must fail a test of those that
touch the contract: by an assertion, or else twice, because what else fails may be the machine's doing. Results are kept
in `.mutants/`, so a run that is stopped goes on where it was, for as long as contracts and tests are the same.

    make mutate MUTANTS=200 SEED=1 ONLY=contracts/validation
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from mutants import ROOT, Mutant, sample

HOME = ROOT / ".mutants"  # not in .cache, where Ape sees no contracts
RESULTS = HOME / "results.jsonl"
BASELINE = HOME / "baseline.json"
"""For how many seconds to wait for tests, by the version of them and of the contracts with which they passed."""

TESTS = {
    "contracts/identity": ["tests/identity"],
    "contracts/reputation/Authorized": ["tests/authorized"],
    "contracts/reputation/Bidirectional": ["tests/ratings"],
    "contracts/reputation/ReputationGated": ["tests/ratings"],
    "contracts/reputation": ["tests/reputation"],
    "contracts/validation": ["tests/validation"],
    "contracts/libraries/ClientLedger": ["tests/reputation"],
    "contracts/libraries/FeedbackWord": ["tests/reputation"],
    "contracts/libraries/IdentityBound": ["tests/authorized", "tests/validation"],
    "contracts/libraries/PackedRatings": ["tests/ratings"],
    "contracts/libraries/Signatures": ["tests/identity", "tests/reputation", "tests/authorized"],
    "contracts/libraries/TagDictionary": ["tests/reputation"],
    "contracts/libraries/Tally": ["tests/reputation", "tests/authorized"],
}
"""The tests that touch a contract, by the beginning of its path. The first that fits counts."""

REGISTRIES = {
    "tests/authorized": "AuthorizedReputationRegistry",
    "tests/identity": "IdentityRegistry",
    "tests/ratings": "BidirectionalReputationRegistry",
    "tests/reputation": "ReputationRegistry",
    "tests/validation": "ValidationRegistry",
}
"""The registry that the tests of a folder are about, and deploy."""

SUFFICIENT = 0.95
"""The share of the mutants that the tests must notice."""

PATIENCE = 10
"""How many times as long as without a change the tests may take."""

ATTEMPTS = 3
"""How often to try when the tests do not run, or when a test fails and then, alone, does not."""


@dataclass(frozen=True)
class Failure:
    """What tests say of a mutant.

    Attributes:
        test: The test that failed.
        is_sure: Whether it did by the mutant's doing: an assertion failed, or something ran for ever.
    """

    test: str
    is_sure: bool


class NoVerdictError(Exception):
    """The tests say nothing about a mutant."""


class Project:
    """A copy of the project, whose contracts can be changed without anybody seeing it.

    Tests of a change run on the sources as they are, but on changed bytecode: Ape takes what it finds in its build. So
    only those contracts are compiled that the change reaches.

    Attributes:
        path: Where it is.
        build: What Ape compiled.
    """

    def __init__(self, path: Path) -> None:
        """Make the copy."""
        self.path = path
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
        for name in files.stdout.splitlines():
            if (ROOT / name).is_file():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, path / name)
        for tool in (".venv", "node_modules"):
            (path / tool).symlink_to(ROOT / tool)
        shutil.copytree(ROOT / ".build", path / ".build")
        self._codes: dict[str, dict[str, tuple[str, str]] | None] = {}
        self._manifest = path / ".build/__local__.json"
        self.build = json.loads(self._manifest.read_text())
        self._environment = {**os.environ, "APE_DATA_FOLDER": str(path / ".cache/ape")}

    def reached(self, path: str) -> list[str]:
        """The sources that a change of one reaches, without the registries that its tests do not deploy."""
        others = set(REGISTRIES.values()) - {REGISTRIES[folder] for folder in tests_of(path)}
        return [name for name in self.build["sources"] if path in _imports(name) and Path(name).stem not in others]

    def compile(self, names: list[str], mutant: Mutant | None = None) -> dict[str, tuple[str, str]] | None:
        """Compile the contracts of some sources.

        Args:
            names: The sources.
            mutant: What to change before.

        Returns:
            The code for creation and the code at run time of each contract by its name; None if it does not compile.
        """
        sources = {name: (ROOT / name).read_text() for name in sorted(names)}
        if mutant:
            sources[mutant.path] = mutant.changed
        request = {
            "language": "Solidity",
            "sources": {name: {"content": source} for name, source in sources.items()},
            "settings": {
                **{key: self.build["compilers"][0]["settings"][key] for key in ("evmVersion", "optimizer", "viaIR")},
                "remappings": ["@openzeppelin/=node_modules/@openzeppelin/", "solady/=node_modules/solady/"],
                "metadata": {"bytecodeHash": "none"},
                "outputSelection": {
                    name: {"*": ["evm.bytecode.object", "evm.deployedBytecode.object"]} for name in sources
                },
            },
        }
        answer = subprocess.run(
            [".venv/bin/solc", "--standard-json", "--base-path", ".", "--include-path", "node_modules"],
            cwd=self.path,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=True,
        )
        output = json.loads(answer.stdout)
        if any(error["severity"] == "error" for error in output.get("errors", [])):
            return None
        codes = {}
        for contracts in output["contracts"].values():
            for name, contract in contracts.items():
                code = (contract["evm"]["bytecode"]["object"], contract["evm"]["deployedBytecode"]["object"])
                if code[0] and name in self.build["contractTypes"]:
                    codes[name] = code
        return codes

    def install(self, codes: dict[str, tuple[str, str]]) -> None:
        """Have the tests run on other bytecode, and on that of the build for all other contracts."""
        contracts = dict(self.build["contractTypes"])
        for name, (creation, runtime) in codes.items():
            contracts[name] = {
                **contracts[name],
                "deploymentBytecode": {"bytecode": f"0x{creation}"},
                "runtimeBytecode": {"bytecode": f"0x{runtime}"},
            }
        self._manifest.write_text(json.dumps({**self.build, "contractTypes": contracts}))

    def version(self, folder: str) -> str:
        """What names the present content of the contracts and of a folder of tests."""
        folders = (self.path / "contracts", self.path / folder)
        files = sorted(file for folder in folders for file in folder.rglob("*.*") if file.is_file())
        sources = (file.read_bytes() for file in files if file.suffix in (".py", ".sol"))
        return hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]

    def failure(self, tests: list[str], timeout: float | None = None) -> Failure | None:
        """Run tests until the first that fails, those first that failed before.

        Args:
            tests: Which, or the folders where they are.
            timeout: After how many seconds they are ended.

        Returns:
            The first failure, or None if all passed.

        Raises:
            NoVerdictError: They did not run.
        """
        command = [".venv/bin/ape", "test", "--quiet", "--exitfirst", "--failed-first", "--hypothesis-profile=mutation"]
        with subprocess.Popen(  # noqa: S603  # the project's own tools
            [*command, "-rfE", *tests],
            cwd=self.path,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with all that they started
                return Failure("the tests took too long", is_sure=True)
        if process.returncode == 0:
            return None
        failed = re.search(r"^(FAILED|ERROR) (tests/\S+?::.+?)(?: - (.*))?$", output, re.MULTILINE)
        if process.returncode != 1 or not failed:
            raise NoVerdictError(output)
        asserted = failed[1] == "FAILED" and re.match("Assertion|assert|Failed: DID NOT", failed[3] or "")
        return Failure(failed[2], is_sure=bool(asserted))

    def judge(self, mutant: Mutant, patience: float) -> str:
        """Try a mutant.

        Args:
            mutant: The mutant.
            patience: After how many seconds of tests it counts as noticed, because something runs for ever.

        Returns:
            `killed`, `survived`, or `invalid` if it does not compile or compiles to the same.

        Raises:
            NoVerdictError: The tests did not run, or a test fails now and then.
        """
        if mutant.path not in self._codes:
            self._codes[mutant.path] = self.compile(self.reached(mutant.path))
        codes = self.compile(self.reached(mutant.path), mutant)
        if codes in (None, self._codes[mutant.path]):
            return "invalid"
        self.install(codes)
        for _ in range(ATTEMPTS):
            with contextlib.suppress(NoVerdictError):
                failed = self.failure(tests_of(mutant.path), patience)
                if failed is None:
                    return "survived"
                if failed.is_sure or self.failure([failed.test], patience):
                    return "killed"
        raise NoVerdictError(str(mutant))


def tests_of(path: str) -> list[str]:
    """The folders of tests that touch a source; none if there are none."""
    return next((tests for beginning, tests in TESTS.items() if path.startswith(beginning)), [])


def _imports(path: str) -> set[str]:
    """A source of the project and all that it imports from the project, at whatever remove."""
    found, waiting = set(), [path]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        names = re.findall(r'^import [^"]*"(\.[^"]+)";', (ROOT / path).read_text(), re.MULTILINE)
        waiting += [os.path.normpath(Path(path).parent / name) for name in names]
    return found


def tested_contracts(beginning: str) -> list[str]:
    """The contracts that have tests and whose path begins so."""
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "contracts").rglob("*.sol"))
    return [path for path in paths if path.startswith(beginning) and tests_of(path)]


class Trial:
    """A run of `make mutate`.

    Attributes:
        wanted: How many valid mutants to try.
        verdicts: `killed` or `survived`, by the mutants tried or known.
    """

    def __init__(self, wanted: int, projects: list[Project]) -> None:
        """Take up the results of earlier runs."""
        self.wanted = wanted
        self.verdicts: dict[Mutant, str] = {}
        self._projects: queue.SimpleQueue[Project] = queue.SimpleQueue()
        for project in projects:
            self._projects.put(project)
        self._jobs = len(projects)
        lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
        self._known = {(record["id"], record["version"]): record["verdict"] for record in map(json.loads, lines)}
        self._versions: dict[str, str] = {}
        self._patience: dict[str, float] = {}
        self._start = time.monotonic()
        self._tried = 0

    def measure(self, project: Project, folders: list[str]) -> None:
        """Run tests on the contracts as they are, to know that they pass and how long that takes."""
        codes = project.compile(list(project.build["sources"]))
        if codes is None:
            sys.exit("mutate: the contracts do not compile")
        project.install(codes)
        known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
        for folder in folders:
            version = self._versions[folder] = project.version(folder)
            self._patience[folder] = known.get(version, 0)
            if version in known:
                continue
            print(f"mutate: running {folder} as it is ...", flush=True)
            start = time.monotonic()
            if failed := project.failure([folder]):
                sys.exit(f"mutate: {failed.test} fails without any change")
            self._patience[folder] = known[version] = PATIENCE * self._jobs * (time.monotonic() - start) + 60
            BASELINE.write_text(json.dumps(known))
        self._start = time.monotonic()

    def run(self, mutants: list[Mutant]) -> None:
        """Try mutants until there are as many valid ones as wanted."""
        ahead = iter(mutants)
        running: set[Future[tuple[Mutant, str]]] = set()
        with ThreadPoolExecutor(self._jobs) as pool:
            while True:
                while len(running) < self._jobs and len(self.verdicts) + len(running) < self.wanted:
                    mutant = next(ahead, None)
                    if mutant is None:
                        break
                    if known := self._known.get((mutant.identifier, self._version(mutant))):
                        self._count(mutant, known)
                    else:
                        running.add(pool.submit(self._try, mutant))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    self._record(*future.result())

    def _version(self, mutant: Mutant) -> str:
        """What names the contracts and the tests with which a mutant is tried."""
        return "-".join(self._versions[folder] for folder in tests_of(mutant.path))

    def _try(self, mutant: Mutant) -> tuple[Mutant, str]:
        """Try a mutant in a copy that nobody else uses."""
        project = self._projects.get()
        try:
            return mutant, project.judge(mutant, sum(self._patience[folder] for folder in tests_of(mutant.path)))
        finally:
            self._projects.put(project)

    def _record(self, mutant: Mutant, verdict: str) -> None:
        """Keep what came of a mutant, and tell."""
        record = {"id": mutant.identifier, "version": self._version(mutant), "verdict": verdict, "mutant": str(mutant)}
        with RESULTS.open("a") as results:
            results.write(json.dumps(record) + "\n")
        self._count(mutant, verdict)
        if verdict == "invalid":
            return
        self._tried += 1
        survived = list(self.verdicts.values()).count("survived")
        pace = (time.monotonic() - self._start) / self._tried
        left = pace * (self.wanted - len(self.verdicts)) / 60
        progress = f"{len(self.verdicts)} of {self.wanted}, {survived} survived, {left:.0f} min left"
        print(f"mutate: {progress}; {verdict}: {mutant.place}", flush=True)

    def _count(self, mutant: Mutant, verdict: str) -> None:
        """Count a valid mutant."""
        if verdict != "invalid":
            self.verdicts[mutant] = verdict


def main() -> int:
    """Try the sample and print the survivors.

    Returns:
        The exit code: 1 if too many survived.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=200, help="how many valid mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="decides which")
    parser.add_argument("--only", default="contracts/", help="how the paths of the contracts begin that are changed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many to try at a time")
    options = parser.parse_args()

    mutants = sample(tested_contracts(options.only), options.seed)
    if not mutants:
        sys.exit(f"mutate: no contract with tests has a path that begins with {options.only}")
    projects = [Project(HOME / f"project{number}") for number in range(options.jobs)]
    trial = Trial(options.mutants, projects)
    trial.measure(projects[0], sorted({folder for mutant in mutants for folder in tests_of(mutant.path)}))
    trial.run(mutants)

    for mutant, verdict in trial.verdicts.items():
        if verdict == "survived":
            print(f"survived: {mutant}")
    killed = list(trial.verdicts.values()).count("killed")
    share = killed / max(len(trial.verdicts), 1)
    print(f"mutate: {killed} of {len(trial.verdicts)} mutants killed ({share:.1%}), seed {options.seed}.")
    return 0 if killed >= SUFFICIENT * len(trial.verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
