"""Copies fonts and scripts of the explorer from node_modules into the package. Set-up runs it after npm.

It needs nothing but Python, because it runs before anything else is set up. Wheels contain the copies.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
_MODULES: Final = _ROOT / "node_modules"
TARGET: Final = _ROOT / "bilateral" / "explorer" / "static" / "vendor"
"""The folder of the copies. Git ignores it."""

COPIED: Final = {
    "sans.woff2": "@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2",
    "mono.woff2": "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
    "serif.woff2": "@fontsource/instrument-serif/files/instrument-serif-latin-400-normal.woff2",
    "sigma.js": "sigma/dist/sigma.min.js",
    "graphology.js": "graphology/dist/graphology.umd.min.js",
    "sans.LICENSE": "@fontsource-variable/instrument-sans/LICENSE",
    "mono.LICENSE": "@fontsource-variable/jetbrains-mono/LICENSE",
    "serif.LICENSE": "@fontsource/instrument-serif/LICENSE",
    "sigma.LICENSE": "sigma/LICENSE.txt",
    "graphology.LICENSE": "graphology/LICENSE.txt",
}
"""The source of each copy, in node_modules. Licences go with what they allow to copy."""


def copy() -> None:
    """Copy all files, and remove what a former version copied."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for name, source in COPIED.items():
        shutil.copyfile(_MODULES / source, TARGET / name)


if __name__ == "__main__":
    copy()
