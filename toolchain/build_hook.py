"""Completes what hatchling packs: fonts and scripts of the explorer, and the commit of the sources."""

from __future__ import annotations

import runpy
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMITS = {"sdist": "COMMIT", "wheel": "bilateral/commit.txt"}
"""The file in each distribution that names the commit. A checkout has none: git knows better there."""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling looks for exactly this name
    """The hook that every build of a distribution runs; an editable installation does without."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bring the files that git ignores, and name the commit.

        Args:
            version: The kind of build, as `standard`.
            build_data: The data of the build, which this extends.
        """
        if version == "editable":
            return
        runpy.run_path(str(Path(self.root, "scripts", "explorer_assets.py")))["provide"]()
        unpacked = Path(self.root, COMMITS["sdist"])
        commit = unpacked.read_text().strip() if unpacked.is_file() else self._commit()
        if commit:
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name, "commit.txt")
            file.write_text(f"{commit}\n")
            build_data["force_include"][str(file)] = COMMITS[self.target_name]

    def _commit(self) -> str | None:
        """Return the commit of the checkout, with a mark if files differ from it; None outside of a checkout."""
        top = self._git("rev-parse", "--show-toplevel")
        if top is None or Path(top).resolve() != Path(self.root).resolve():
            return None
        commit = self._git("rev-parse", "HEAD")
        return f"{commit}-dirty" if self._git("status", "--porcelain", "--untracked-files=no") else commit

    def _git(self, *arguments: str) -> str | None:
        """Return what git says; None without git or outside of a repository."""
        try:
            command = ["git", *arguments]
            run = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)  # noqa: S603
        except FileNotFoundError:
            return None
        return run.stdout.strip() if run.returncode == 0 else None
