"""Runs Semaphore's own packages in a Node process, to create identities, trees and proofs.

Two of the packages (`snarkjs`, `ffjavascript`) are licensed under the GPL. They run only in that process, and are
installed by the user with `install_prover`. Secrets are passed through standard input.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from bilateral.buyers.errors import ArtifactMismatchError, ProverFailedError, ProverMissingError
from bilateral.buyers.private.tiers import DEPTH, EMPTY_ROOT, signal_of

FOLDER_VARIABLE: Final = "BILATERAL_PROVER"
"""The environment variable with the path of the prover's folder."""

SOURCES: Final = ("package.json", "package-lock.json", "prover.mjs")
"""The prover's files in this package. The lock file pins every npm package by its hash."""

ARTIFACTS: Final = {
    "semaphore-20.wasm": "6f71e55586929e520e76027ebe067daac8b41e2f4b8057313a5fd0304e1e44ee",
    "semaphore-20.zkey": "33f9a067a80c7daf90e085449073613a9559a1904dd40aeb6d603afb7988c2cc",
}
"""SHA-256 hashes of the depth-20 circuit and proving key from the npm package `@zk-kit/semaphore-artifacts` 4.13.0."""

_CLAIMS_AT_ONCE: Final = 1_000
"""The maximum number of identities to check per process. Each takes about 0.05 seconds of CPU time."""

_ADVICE: Final = "run `bilateral buyer install-prover`"
_SECONDS: Final = 300
"""The timeout for one run. A proof takes about 3 seconds of CPU time; a tree with a million members takes minutes."""


def default_folder() -> Path:
    """Return the prover's folder: from the environment or, if not set there, in the user's cache."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else Path.home() / ".cache" / "bilateral" / "prover"


def packaged(name: str) -> bytes:
    """Return one of the prover's files from this package."""
    return (files("bilateral.buyers") / "private" / name).read_bytes()


class Prover:
    """Runs Semaphore's packages, in a separate process for each call.

    Args:
        folder: The folder that `install_prover` filled; by default `default_folder()`.

    Raises:
        ProverMissingError: Node or the folder's packages are missing.
        ArtifactMismatchError: A file does not match its pinned hash.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = default_folder() if folder is None else folder
        self._node = shutil.which("node") or ""
        if not self._node:
            raise ProverMissingError("node is not on the PATH: install Node 20 or newer")
        if not (self._folder / "node_modules" / "snarkjs").is_dir():
            raise ProverMissingError(f"the prover's packages are not in {self._folder}: {_ADVICE}")
        for name in SOURCES:
            self._require(name, hashlib.sha256(packaged(name)).hexdigest())
        for name, digest in ARTIFACTS.items():
            self._require(name, digest)

    def commitment(self, secret: bytes) -> int:
        """Return an identity's public commitment."""
        return int(self._run({"operation": "commitment", "secret": secret.hex()})["commitment"])

    def sign(self, secret: bytes, message: bytes) -> bytes:
        """Sign with the identity's EdDSA key. This proves that the commitment is not the root of an identity tree."""
        request = {"operation": "sign", "secret": secret.hex(), "message": str(signal_of(message))}
        return bytes.fromhex(self._run(request)["identity"])

    def are_proven(self, claims: Sequence[tuple[int, bytes, bytes]]) -> list[bool]:
        """Return, for each claim, whether the digest was signed by the key behind the commitment."""
        proven: list[bool] = []
        for start in range(0, len(claims), _CLAIMS_AT_ONCE):
            part = [
                {"commitment": str(commitment), "identity": identity.hex(), "message": str(signal_of(digest))}
                for commitment, identity, digest in claims[start : start + _CLAIMS_AT_ONCE]
            ]
            proven += self._run({"operation": "proven", "claims": part})["proven"]
        return proven

    def roots(self, groups: Sequence[Sequence[int]]) -> list[int]:
        """Return the roots of the groups' trees, padded to the depth `DEPTH`; `EMPTY_ROOT` for an empty group."""
        filled = [[str(member) for member in group] for group in groups if group]
        request = {"operation": "roots", "groups": filled, "depth": DEPTH}
        roots = iter(self._run(request)["roots"] if filled else ())
        return [int(next(roots)) if group else EMPTY_ROOT for group in groups]

    def prove(
        self, secret: bytes, members: Sequence[int], scope: int, message: int
    ) -> tuple[int, int, tuple[int, ...]]:
        """Prove that an identity is a member of a group, without revealing which member it is."""
        request = {
            "operation": "prove",
            "secret": secret.hex(),
            "members": [str(member) for member in members],
            "scope": str(scope),
            "message": str(message),
            "depth": DEPTH,
            **dict(zip(("circuit", "key"), map(str, map(self._folder.resolve().joinpath, ARTIFACTS)), strict=True)),
        }
        answer = self._run(request)
        return int(answer["root"]), int(answer["nullifier"]), tuple(map(int, answer["points"]))

    def _require(self, name: str, digest: str) -> None:
        try:
            with (self._folder / name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise ProverMissingError(f"{name} is not in {self._folder}: {_ADVICE}") from None
        if actual != digest:
            place = self._folder / name
            raise ArtifactMismatchError(f"{place} has the hash {actual}, not the pinned {digest}: {_ADVICE} again")

    def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            ran = subprocess.run(  # noqa: S603  # the pinned script
                [self._node, "prover.mjs"],
                cwd=self._folder,
                input=json.dumps(request).encode(),
                capture_output=True,
                check=True,
                timeout=_SECONDS,
            )
            answer: dict[str, Any] = json.loads(ran.stdout)
        except subprocess.CalledProcessError as failure:
            lines = failure.stderr.decode(errors="replace").strip().splitlines()
            problems = [line for line in lines if "Error" in line] or lines[-1:]
            raise ProverFailedError(f"the prover failed: {problems[0][:300] if problems else 'no reason'}") from None
        except (subprocess.TimeoutExpired, ValueError) as failure:
            raise ProverFailedError(f"the prover returned no result: {type(failure).__name__}") from None
        return answer


PACKAGE: Final = "@zk-kit/semaphore-artifacts@4.13.0"

INTEGRITY: Final = "UgFQkcwI63XT1Xk8fkUYMNfcuR85LiSL3Of9XLsyMLflHkiwXP9D1WC8hnpD8Tp2HoAMJ/mCv7ZMlU7TC0mvdQ=="
"""The artifact package's SHA-512 hash in base64, as published by npm. Only two of the package's files are kept."""

_NPM_SECONDS: Final = 900
"""The timeout for the installation. With a slow registry, npm waits for minutes."""


def install_prover(folder: Path | None = None, *, progress: Callable[[str], None] | None = None) -> Prover:
    """Install the prover from the npm registry that the user has configured, unless it is already installed."""
    place = (default_folder() if folder is None else folder).resolve()  # npm runs there, so all paths must be absolute
    try:
        return Prover(place)
    except (ProverMissingError, ArtifactMismatchError):
        pass
    report = progress or (lambda _: None)
    npm = shutil.which("npm")
    if npm is None:
        raise ProverMissingError("npm is not on the PATH: install Node 20 or newer")
    place.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        (place / name).write_bytes(packaged(name))
    report("installing Semaphore's packages with npm (90 MB)")
    _run_npm([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], place)
    report("downloading the circuit and the proving key with npm (109 MB, of which 6 MB are kept)")
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        _run_npm([npm, "pack", PACKAGE, "--silent", "--pack-destination", scratch], place)
        (archive,) = Path(scratch).glob("*.tgz")
        with archive.open("rb") as file:
            digest = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
        if digest != INTEGRITY:
            raise ArtifactMismatchError(f"{PACKAGE} has the hash {digest}, not the pinned {INTEGRITY}")
        _extract(archive, place)
    return Prover(place)


def _extract(archive: Path, place: Path) -> None:
    with tarfile.open(archive) as package:
        for name in ARTIFACTS:
            member = package.extractfile(f"package/{name}")
            if member is None:
                raise ArtifactMismatchError(f"{PACKAGE} has no file {name}")
            (place / name).write_bytes(member.read())


def _run_npm(command: list[str], place: Path) -> None:
    try:
        subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=_NPM_SECONDS)  # noqa: S603
    except subprocess.CalledProcessError as failure:
        problem = failure.stderr.decode(errors="replace").strip()[-300:]
        raise ProverFailedError(f"npm failed: {problem}") from None
    except subprocess.TimeoutExpired:
        raise ProverFailedError(f"npm took longer than {_NPM_SECONDS} seconds") from None
