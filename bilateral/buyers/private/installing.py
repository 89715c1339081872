"""Install the prover: npm packages by a lock with hashes, and the two files of one depth of the circuit."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bilateral.buyers.private.errors import ArtifactMismatchError, ProverFailedError, ProverMissingError
from bilateral.buyers.private.prover import ARTIFACTS, SOURCES, Prover, default_folder, packaged

PACKAGE: Final = "@zk-kit/semaphore-artifacts@4.13.0"

INTEGRITY: Final = "UgFQkcwI63XT1Xk8fkUYMNfcuR85LiSL3Of9XLsyMLflHkiwXP9D1WC8hnpD8Tp2HoAMJ/mCv7ZMlU7TC0mvdQ=="
"""SHA-512 of the package in base 64, as npm publishes it. The package has all depths, 109 MB; two files are kept."""

_SECONDS: Final = 900
"""The longest installation: npm waits minutes for a slow registry."""


def install_prover(folder: Path | None = None, *, progress: Callable[[str], None] | None = None) -> Prover:
    """Install the prover from the npm registry of the user's configuration. Does nothing if it is there.

    Args:
        folder: The folder; by default `default_folder()`.
        progress: Takes a sentence before each step.

    Raises:
        ProverMissingError: npm is missing.
        ProverFailedError: npm fails.
        ArtifactMismatchError: The package of artifacts is not the pinned one.
    """
    place = (default_folder() if folder is None else folder).resolve()  # npm runs there, and takes paths of it
    try:
        return Prover(place)
    except (ProverMissingError, ArtifactMismatchError):
        pass
    tell = progress or (lambda _: None)
    npm = shutil.which("npm")
    if npm is None:
        raise ProverMissingError("npm is not on the PATH: install Node 20 or newer")
    place.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        (place / name).write_bytes(packaged(name))
    tell("installing Semaphore's packages by npm (90 MB)")
    _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], place)
    tell("fetching the circuit and the proving key by npm (109 MB, 6 MB are kept)")
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        _run([npm, "pack", PACKAGE, "--silent", "--pack-destination", scratch], place)
        (archive,) = Path(scratch).glob("*.tgz")
        with archive.open("rb") as file:
            digest = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
        if digest != INTEGRITY:
            raise ArtifactMismatchError(f"{PACKAGE} has the hash {digest}, not the pinned {INTEGRITY}")
        _extract(archive, place)
    return Prover(place)


def _extract(archive: Path, place: Path) -> None:
    """Write the artifacts of one depth."""
    with tarfile.open(archive) as package:
        for name in ARTIFACTS:
            member = package.extractfile(f"package/{name}")
            if member is None:
                raise ArtifactMismatchError(f"{PACKAGE} has no file {name}")
            (place / name).write_bytes(member.read())


def _run(command: list[str], place: Path) -> None:
    try:
        subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603
    except subprocess.CalledProcessError as failure:
        problem = failure.stderr.decode(errors="replace").strip()[-300:]
        raise ProverFailedError(f"npm fails: {problem}") from None
    except subprocess.TimeoutExpired:
        raise ProverFailedError(f"npm takes longer than {_SECONDS} seconds") from None
