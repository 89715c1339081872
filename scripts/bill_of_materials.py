"""`make bill-of-materials`: lists all packages of the locks, with versions, hashes and licences.

python -m scripts.bill_of_materials FOLDER    write python.cdx.json, npm.cdx.json and npm-package.cdx.json (CycloneDX)
python -m scripts.bill_of_materials --check   fail if a package has a licence that docs/licences.md does not allow

The same locks give the same files, byte for byte.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from scripts._build import ROOT

PAGE: Final = ROOT / "docs" / "licences.md"
"""The page that lists the allowed licences, and the packages that do not name one."""

_COPY: Final = ("package.json", "package-lock.json")
_VARYING: Final = ("serialNumber", "timestamp")
"""The fields that npm fills anew each time."""

_DEVELOPMENT: Final = {"name": "cdx:npm:package:development", "value": "true"}
"""What npm says of a package of development. Its --omit=dev leaves out packages that both need."""


class LicenceError(Exception):
    """Packages whose licence docs/licences.md does not allow."""


def python_bom() -> dict[str, Any]:
    """Return the packages of the virtual environment, which are those of toolchain/requirements.lock."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "python.cdx.json")
        subprocess.run([ROOT / "assurance" / "provenance.sh", "bom", file], check=True)  # noqa: S603  # ours
        bom: dict[str, Any] = json.loads(file.read_bytes())
    bom["components"] = [part for part in bom["components"] if part["name"] != "bilateral"]
    return bom


def npm_bom(source: Path = ROOT, *, development: bool = True) -> dict[str, Any]:
    """Return the packages of a package-lock.json.

    npm lists nothing without a version of the project itself, so it reads a copy that has one.

    Args:
        source: The folder of the lock.
        development: False to leave out the packages of development.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "bilateral")  # npm names the root by its folder
        folder.mkdir()
        for name in _COPY:
            content = json.loads((source / name).read_text())
            (folder / name).write_text(json.dumps({**content, "version": "0.0.0"}))
        command = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603  # ours
    bom: dict[str, Any] = json.loads(run.stdout)
    bom.pop(_VARYING[0], None)
    bom["metadata"].pop(_VARYING[1], None)
    if not development:
        bom["components"] = [part for part in bom["components"] if _DEVELOPMENT not in part.get("properties", [])]
    return bom


def licences(component: dict[str, Any]) -> set[str]:
    """Return the licences that a package names: identifiers of SPDX, expressions of them, or its own words."""
    names = set()
    for entry in component.get("licenses", []):
        licence = entry.get("license", {})
        name = entry.get("expression") or licence.get("id") or licence.get("name")
        if name:
            names.add(name)
    return names


def check(components: list[dict[str, Any]], page: str) -> None:
    """Compare the licences of packages with the page.

    Args:
        components: Packages, as CycloneDX has them.
        page: The text of docs/licences.md: a table of allowed licences, and one of reviewed packages.

    Raises:
        LicenceError: A package names a licence that is not allowed, or none, and was not reviewed; or a reviewed
            package is in no lock.
    """
    allowed = _first_cells(page, "Allowed licences")
    reviewed = _first_cells(page, "Reviewed packages")
    unknown = []
    for component in components:
        names = licences(component)
        if component["name"] not in reviewed and not (names and all(_is_allowed(name, allowed) for name in names)):
            unknown.append(f"{component['name']} {component['version']}: {', '.join(sorted(names)) or 'none named'}")
    stale = reviewed - {component["name"] for component in components}
    if unknown or stale:
        lines = [*unknown, *(f"{name}: in no lock" for name in sorted(stale))]
        raise LicenceError("docs/licences.md does not allow the licences of:\n" + "\n".join(sorted(lines)))


def _is_allowed(name: str, allowed: set[str]) -> bool:
    """Check one licence, or an expression: all parts of AND, any part of OR."""
    if name in allowed:
        return True
    text = name.replace("(", "").replace(")", "")
    if " OR " in text:
        return any(_is_allowed(part, allowed) for part in text.split(" OR "))
    return " AND " in text and all(_is_allowed(part, allowed) for part in text.split(" AND "))


def _first_cells(page: str, heading: str) -> set[str]:
    """Return the first cell of each row of the table below a heading, without its backticks."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    return set(rows)


def main() -> None:
    """Write both lists, or check their licences."""
    boms = {"python.cdx.json": python_bom(), "npm.cdx.json": npm_bom()}
    boms["npm-package.cdx.json"] = npm_bom(ROOT / "npm", development=False)
    if "--check" in sys.argv:
        components = [component for bom in boms.values() for component in bom["components"]]
        try:
            check(components, PAGE.read_text(encoding="utf-8"))
        except LicenceError as error:
            sys.exit(str(error))
        print(f"licences: all {len(components)} packages have licences that docs/licences.md allows.")
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, bom in boms.items():
        (folder / name).write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{folder / name}: {len(bom['components'])} packages")


if __name__ == "__main__":
    main()
