"""A copy of the project, in which tests run on mutants of the contracts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mutants import ROOT, Mutant

TESTS = {
    "contracts/buyers": ["tests/buyers"],
    "contracts/identity/CompanionDirectory": ["tests/companion"],
    "contracts/identity": ["tests/identity"],
    "contracts/reputation/Authorized": ["tests/authorized"],
    "contracts/reputation/Bidirectional": ["tests/ratings"],
    "contracts/reputation/Blind": ["tests/ratings/blind"],
    "contracts/reputation/ReputationGated": ["tests/ratings"],
    "contracts/reputation": ["tests/reputation"],
    "contracts/validation": ["tests/validation"],
    "contracts/libraries/AttestedPayment": ["tests/buyers"],
    "contracts/libraries/BuyerScore": ["tests/buyers"],
    "contracts/libraries/ClientLedger": ["tests/reputation"],
    "contracts/libraries/FeedbackWord": ["tests/reputation"],
    "contracts/base/IdentityBound": ["tests/authorized", "tests/validation"],
    "contracts/examples/GatedService": ["tests/ratings"],
    "contracts/libraries/PackedRatings": ["tests/ratings"],
    "contracts/libraries/PaymentTally": ["tests/buyers"],
    "contracts/libraries/Signatures": ["tests/identity", "tests/reputation", "tests/authorized"],
    "contracts/libraries/TagDictionary": ["tests/reputation"],
    "contracts/libraries/Tally": ["tests/reputation", "tests/authorized"],
}
"""The tests that touch a contract, by the beginning of its path. The first that fits counts."""

REGISTRIES = {
    "tests/authorized": "AuthorizedReputationRegistry",
    "tests/buyers": "BuyerReputationRegistry",
    "tests/companion": "CompanionDirectory",
    "tests/identity": "IdentityRegistry",
    "tests/ratings": "BidirectionalReputationRegistry",
    "tests/ratings/blind": "BidirectionalReputationRegistry",
    "tests/reputation": "ReputationRegistry",
    "tests/validation": "ValidationRegistry",
}
"""The registry that the tests of a folder are about, and deploy."""

UNTOUCHED = "tests/buyers/service"
"""Tests of the service, in one of the folders. They are slow, and the tests beside them are those of the contracts."""

ATTEMPTS = 3
"""Attempts if the tests do not run, or if a test fails once and passes alone."""

LONGEST_REASON = 500
"""Characters of a reason that are shown: the end of a test run names its fault."""


@dataclass(frozen=True)
class Failure:
    """The first failed test of a mutant.

    Attributes:
        test: The test that failed.
        is_sure: True if the mutant is the cause: an assertion failed, or the tests timed out.
    """

    test: str
    is_sure: bool


class NoVerdictError(Exception):
    """The tests say nothing about a mutant."""


class ProjectCopy:
    """A copy of the project, in which contracts can be changed safely.

    Tests of a change run on the sources as they are, but on changed bytecode: Ape takes what it finds in its build. So
    only those contracts are compiled that the change reaches.

    Attributes:
        path: Its folder.
        build: Ape's manifest of the compiled contracts.
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
        (path / ".cache/ape").mkdir(parents=True)  # Ape makes it too late for the first contract that it cannot name
        self._codes: dict[str, dict[str, tuple[str, str]] | None] = {}
        self._manifest = path / ".build/__local__.json"
        self.build = json.loads(self._manifest.read_text())
        # Pytest cuts the reason of a failure to the width of the terminal, and `failure` reads it.
        self._environment = {**os.environ, "APE_DATA_FOLDER": str(path / ".cache/ape"), "COLUMNS": "1000"}

    def reached(self, path: str) -> list[str]:
        """Return the sources that import a source, except registries that its tests do not deploy."""
        others = set(REGISTRIES.values()) - {REGISTRIES[folder] for folder in tests_of(path)}
        return [name for name in self.build["sources"] if path in _imports(name) and Path(name).stem not in others]

    def compile(self, names: list[str], mutant: Mutant | None = None) -> dict[str, tuple[str, str]] | None:
        """Compile the contracts of some sources.

        Args:
            names: The sources.
            mutant: The change to apply first.

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
        """Replace the bytecode of some contracts in Ape's manifest."""
        contracts = dict(self.build["contractTypes"])
        for name, (creation, runtime) in codes.items():
            contracts[name] = {
                **contracts[name],
                "deploymentBytecode": {"bytecode": f"0x{creation}"},
                "runtimeBytecode": {"bytecode": f"0x{runtime}"},
            }
        self._manifest.write_text(json.dumps({**self.build, "contractTypes": contracts}))
        (self.path / ".build/.fingerprint").touch()  # or the tests would compile the sources again

    def version(self, folder: str) -> str:
        """Return a hash of the contracts and of a folder of tests."""
        folders = (self.path / "contracts", self.path / folder)
        files = sorted(file for folder in folders for file in folder.rglob("*.*") if file.is_file())
        sources = (file.read_bytes() for file in files if file.suffix in (".py", ".sol"))
        return hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]

    def failure(self, tests: list[str], timeout: float | None = None) -> Failure | None:
        """Run tests until the first that fails, those first that failed before.

        Args:
            tests: Tests, or folders of tests.
            timeout: The seconds after which the run ends.

        Returns:
            The first failure, or None if all passed.

        Raises:
            NoVerdictError: The tests did not run.
        """
        command = [".venv/bin/ape", "test", "--quiet", "--exitfirst", "--failed-first", "--hypothesis-profile=mutation"]
        command.append(f"--ignore={UNTOUCHED}")
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
        reasons = []
        for _ in range(ATTEMPTS):
            try:
                failed = self.failure(tests_of(mutant.path), patience)
                if failed is None:
                    return "survived"
                if failed.is_sure or self.failure([failed.test], patience):
                    return "killed"
                reasons.append(f"{failed.test} fails now and then")
            except NoVerdictError as error:
                reasons.append(f"no test ran: {str(error)[-LONGEST_REASON:]}")
        raise NoVerdictError("\n".join([str(mutant), *reasons]))


def tests_of(path: str) -> list[str]:
    """Return the folders of tests that touch a source."""
    return next((tests for beginning, tests in TESTS.items() if path.startswith(beginning)), [])


def _imports(path: str) -> set[str]:
    """Return a source and all sources that it imports, directly or not."""
    imports, waiting = set(), [path]
    while waiting:
        path = waiting.pop()
        if path in imports:
            continue
        imports.add(path)
        names = re.findall(r'^import [^"]*"(\.[^"]+)";', (ROOT / path).read_text(), re.MULTILINE)
        waiting += [os.path.normpath(Path(path).parent / name) for name in names]
    return imports
