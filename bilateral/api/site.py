"""The documentation site, from the archives of releases: one version each."""

from __future__ import annotations

import re
import zipfile
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from bilateral.core.errors import InvalidArgumentError

_ARCHIVE: Final = re.compile(r"bilateral-docs-([0-9A-Za-z][0-9A-Za-z.+-]{0,63})\.zip")
_TEXT: Final = ("application/javascript", "application/json", "image/svg+xml")
_PLAIN: Final = "text/plain; charset=utf-8"
"""The type of a file without a known one: browsers show it, and never run it."""


class Site:
    """The versions of the documentation. Files are looked up by their names in an archive, so no path leads out of it.

    Args:
        folder: The folder of the archives; None for no documentation.

    Attributes:
        versions: The versions, the newest first.

    Raises:
        InvalidArgumentError: The folder has no archive, or one cannot be read.
    """

    def __init__(self, folder: str | None) -> None:
        self._archives: dict[str, zipfile.ZipFile] = {}
        if folder is not None:
            for path in sorted(Path(folder).glob("*.zip")):
                if named := _ARCHIVE.fullmatch(path.name):
                    self._archives[named[1]] = _opened(path)
            if not self._archives:
                raise InvalidArgumentError(f"api.docs: {folder!r} has no bilateral-docs-<version>.zip")
        self.versions = tuple(sorted(self._archives, key=_order, reverse=True))

    def read(self, version: str, path: str) -> tuple[bytes, str] | None:
        """Return a file and its media type; None if there is none.

        Args:
            path: The path of the file; an empty one is the first page.
        """
        archive = self._archives.get(version)
        name = path or "index.html"
        if archive is None or name not in archive.NameToInfo or name.endswith("/"):
            return None
        kind = guess_type(name)[0] or _PLAIN
        has_charset = "charset" in kind or not (kind.startswith("text/") or kind in _TEXT)
        return archive.read(name), kind if has_charset else f"{kind}; charset=utf-8"


def _opened(path: Path) -> zipfile.ZipFile:
    """Open an archive."""
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as problem:
        raise InvalidArgumentError(f"api.docs: {str(path)!r} cannot be read: {problem}") from None


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return the place of a version: numbers by size, and a release behind its candidates."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return (*((1, int(part), "") if part.isdigit() else (-1, 0, part) for part in parts), (0, 0, ""))
