"""Packs the built documentation site for the service, which serves archives as they are.

python -m scripts.site_archive FOLDER    write bilateral-docs-<version>.zip into FOLDER

The same sources give the same archive, byte for byte.
"""

from __future__ import annotations

import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

from scripts._build import ROOT

SITE: Final = ROOT / ".cache" / "site-html"

_LEFT_OUT: Final = (".map", "sitemap.xml", "sitemap.xml.gz", "objects.inv")
"""Files that no reader's browser needs. The site maps have the day of the build."""


def pack(site: Path, folder: Path) -> Path:
    """Write the archive.

    Args:
        site: The built site.
        folder: The folder of the archive.

    Returns:
        The archive.
    """
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"bilateral-docs-{version}.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(file for file in site.rglob("*") if file.is_file() and not file.name.endswith(_LEFT_OUT)):
            entry = zipfile.ZipInfo(file.relative_to(site).as_posix())  # with the first day of the format as its time
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return archive


if __name__ == "__main__":
    print(f"docs: {pack(SITE, Path(sys.argv[1]))}")
