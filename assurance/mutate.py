"""`make mutate`: changes the contracts, one change at a time, and counts the changes that tests notice.

Each removal of an event and a seeded sample of all other changes are tried in copies of the project. A change that does
not compile, or that compiles to the same bytecode, is not a mutant; every other one must fail a test of those that
touch the contract: by an assertion, or else twice, because what else fails may be the machine's doing. Results are kept
in `.mutants/`, so a run that is stopped goes on where it was, for as long as contracts and tests are the same.

    make mutate MUTANTS=200 SEED=1 ONLY=contracts/validation
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from mutants import ROOT, Mutant, sample
from project_copy import NoVerdictError, ProjectCopy, tests_of

HOME = ROOT / ".mutants"  # not in .cache, where Ape sees no contracts
RESULTS = HOME / "results.jsonl"
BASELINE = HOME / "baseline.json"
"""Seconds to wait for tests, by the version of the tests and contracts."""

SUFFICIENT = 0.95
"""The share of the mutants that the tests must notice."""

PATIENCE = 10
"""The factor by which tests of a mutant may take longer than without a change."""


def tested_contracts(beginning: str) -> list[str]:
    """Return the paths of contracts with tests that start with a prefix."""
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "contracts").rglob("*.sol"))
    return [path for path in paths if path.startswith(beginning) and tests_of(path)]


class Trial:
    """A run of `make mutate`.

    Attributes:
        wanted: The number of valid mutants to try.
        verdicts: `killed`, `survived` or `undecided`, by the mutants tried or known.
    """

    def __init__(self, wanted: int, projects: list[ProjectCopy]) -> None:
        """Load the results of earlier runs."""
        self.wanted = wanted
        self.verdicts: dict[Mutant, str] = {}
        self._projects: queue.SimpleQueue[ProjectCopy] = queue.SimpleQueue()
        for project in projects:
            self._projects.put(project)
        self._jobs = len(projects)
        lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
        self._known = {(record["id"], record["version"]): record["verdict"] for record in map(json.loads, lines)}
        self._versions: dict[str, str] = {}
        self._patience: dict[str, float] = {}
        self._start = time.monotonic()
        self._tried = 0

    def measure(self, project: ProjectCopy, folders: list[str]) -> None:
        """Run tests on the unchanged contracts: they must pass, and their time sets the limit."""
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
        """Try mutants until the wanted number of valid ones is reached."""
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
        """Return an identifier of the contracts and the tests that judge a mutant."""
        return "-".join(self._versions[folder] for folder in tests_of(mutant.path))

    def _try(self, mutant: Mutant) -> tuple[Mutant, str]:
        """Try a mutant in a free copy of the project. One without a verdict does not end the run."""
        project = self._projects.get()
        try:
            return mutant, project.judge(mutant, sum(self._patience[folder] for folder in tests_of(mutant.path)))
        except NoVerdictError as error:
            print(f"mutate: no verdict: {error}", flush=True)
            return mutant, "undecided"
        finally:
            self._projects.put(project)

    def _record(self, mutant: Mutant, verdict: str) -> None:
        """Store and print the verdict on a mutant. The next run tries an undecided one again."""
        record = {"id": mutant.identifier, "version": self._version(mutant), "verdict": verdict, "mutant": str(mutant)}
        if verdict != "undecided":
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
    parser.add_argument("--mutants", type=int, default=200, help="the number of valid mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample")
    parser.add_argument("--only", default="contracts/", help="the prefix of the paths of the contracts to change")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="the number of mutants to try at a time")
    options = parser.parse_args()

    mutants = sample(tested_contracts(options.only), options.seed)
    if not mutants:
        sys.exit(f"mutate: no contract with tests has a path that begins with {options.only}")
    projects = [ProjectCopy(HOME / f"project{number}") for number in range(options.jobs)]
    trial = Trial(options.mutants, projects)
    trial.measure(projects[0], sorted({folder for mutant in mutants for folder in tests_of(mutant.path)}))
    trial.run(mutants)

    for mutant, verdict in trial.verdicts.items():
        if verdict != "killed":
            print(f"{verdict}: {mutant}")
    killed = list(trial.verdicts.values()).count("killed")
    share = killed / max(len(trial.verdicts), 1)
    print(f"mutate: {killed} of {len(trial.verdicts)} mutants killed ({share:.1%}), seed {options.seed}.")
    return 0 if killed >= SUFFICIENT * len(trial.verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
