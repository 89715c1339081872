"""Brings fonts and scripts of the explorer from npm into the package, in the versions that package-lock.json pins.

Set-up and every build of a wheel or a source distribution run it. It needs nothing but Python, because it runs before
anything else is set up. It copies from node_modules if the packages there are those of the lock, and else has npm fetch
them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
_MODULES: Final = _ROOT / "node_modules"
TARGET: Final = _ROOT / "bilateral" / "explorer" / "static" / "vendor"
"""The folder of the copies. Git ignores it."""

_VERSIONS: Final = "versions.json"
"""The file beside the copies that says of which packages they are."""

COPIED: Final = {
    "sans.woff2": "@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2",
    "mono.woff2": "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
    "serif.woff2": "@fontsource/instrument-serif/files/instrument-serif-latin-400-normal.woff2",
    "sigma.js": "sigma/dist/sigma.min.js",
    "swagger-ui-bundle.js": "swagger-ui-dist/swagger-ui-bundle.js",
    "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
    "graphology.js": "graphology/dist/graphology.umd.min.js",
    "sha3.js": "js-sha3/build/sha3.min.js",
    "sans.LICENSE": "@fontsource-variable/instrument-sans/LICENSE",
    "mono.LICENSE": "@fontsource-variable/jetbrains-mono/LICENSE",
    "serif.LICENSE": "@fontsource/instrument-serif/LICENSE",
    "sigma.LICENSE": "sigma/LICENSE.txt",
    "swagger-ui.LICENSE": "swagger-ui-dist/LICENSE",
    "swagger-ui.NOTICE": "swagger-ui-dist/NOTICE",
    "graphology.LICENSE": "graphology/LICENSE.txt",
    "sha3.LICENSE": "js-sha3/LICENSE.txt",
}
"""The source of each copy: a package, and a path in it. Licences go with what they allow to copy."""


class MissingAssetsError(Exception):
    """The fonts and scripts are missing, and npm cannot fetch them."""


def provide() -> None:
    """Bring all files, and remove what a former version brought. Do nothing if they are those of the lock.

    Raises:
        MissingAssetsError: npm is missing, or cannot fetch a package, or fetches another one than the lock names.
    """
    wanted = _pinned(_ROOT / "package-lock.json")
    record = TARGET / _VERSIONS
    if (
        record.is_file()
        and json.loads(record.read_bytes()) == wanted
        and all((TARGET / name).is_file() for name in COPIED)
    ):
        return
    installed = _MODULES / ".package-lock.json"
    if installed.is_file() and _pinned(installed) == wanted:
        _copy(_MODULES, wanted)
        return
    with tempfile.TemporaryDirectory() as folder:
        for package, pin in wanted.items():
            _fetch(package, pin["version"], pin["integrity"], Path(folder))
        _copy(Path(folder), wanted)


def _pinned(lock: Path) -> dict[str, dict[str, str]]:
    """Return the version and the hash of each package of which files are copied, as a lock file of npm has them."""
    entries = json.loads(lock.read_bytes())["packages"]
    names = sorted({source.rsplit("/", source.count("/") - source.startswith("@"))[0] for source in COPIED.values()})
    pinned = {name: entries.get(f"node_modules/{name}", {}) for name in names}
    return {name: {key: entry.get(key, "") for key in ("version", "integrity")} for name, entry in pinned.items()}


def _copy(modules: Path, versions: dict[str, dict[str, str]]) -> None:
    """Copy all files from a folder of packages."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for name, source in COPIED.items():
        shutil.copyfile(modules / source, TARGET / name)
    (TARGET / _VERSIONS).write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n")


def _fetch(package: str, version: str, integrity: str, folder: Path) -> None:
    """Have npm fetch a package, compare its hash with the lock, and unpack it."""
    with tempfile.TemporaryDirectory() as archives:
        options = ["--silent", "--ignore-scripts", "--prefer-offline", "--pack-destination", archives]
        try:
            command = ["npm", "pack", *options, f"{package}@{version}"]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        except FileNotFoundError:
            raise MissingAssetsError(
                "the explorer's fonts and scripts come from npm, which is missing: install Node 20 or newer, or build "
                "from a source distribution, which has them"
            ) from None
        archive = next(Path(archives).glob("*.tgz"), None)
        if run.returncode or archive is None:
            told = run.stderr.strip() or run.stdout.strip()
            raise MissingAssetsError(f"npm cannot fetch {package} {version}: {told}")
        algorithm, _, digest = integrity.partition("-")
        if base64.b64encode(hashlib.new(algorithm, archive.read_bytes()).digest()).decode() != digest:
            raise MissingAssetsError(f"npm has another {package} {version} than package-lock.json, of hash {integrity}")
        with tarfile.open(archive) as content:
            members = [member for member in content.getmembers() if member.isfile()]
            for member in members:
                if _is_wanted(package, member.name):
                    path = folder / package / member.name.partition("/")[2]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with path.open("wb") as file:
                        shutil.copyfileobj(content.extractfile(member), file)  # type: ignore[arg-type]  # a file


def _is_wanted(package: str, member: str) -> bool:
    """Return True for a file of an archive that is copied."""
    return f"{package}/{member.partition('/')[2]}" in COPIED.values()


if __name__ == "__main__":
    provide()
