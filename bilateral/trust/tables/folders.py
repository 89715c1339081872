"""Folders of Parquet tables, on the local machine or at the URL of an object store or web server."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted


def without_secrets(url: str) -> str:
    """Return a URL without its user, password and query."""
    return re.sub("//.*@", "//", url.partition("?")[0])


@dataclass(frozen=True)
class Folder:
    """A folder of Parquet tables. A table is a file, or a folder of files as written by distributed engines.

    Attributes:
        label: The folder's name in messages, without secrets.
        filesystem: The file system of the folder's store.
        path: The folder's path in that store.
        query: The query in the folder's URL, which is appended to the URL of each file.
    """

    label: str
    filesystem: Any
    path: str
    query: str = ""

    @classmethod
    def at(cls, place: Path | str) -> Self:
        """Open a folder."""
        text = str(place)
        if "://" not in text:
            return cls(text, pafs.LocalFileSystem(), text)
        label = without_secrets(text)
        try:
            return cls(label, *pafs.FileSystem.from_uri(text))
        except pa.ArrowInvalid:  # Arrow does not support the scheme or its options
            return cls(label, *_by_fsspec(text, label))
        except OSError as error:
            raise InvalidArgumentError(f"cannot open a folder at {quoted(label)}: {error}") from None

    def has(self, name: str) -> bool:
        """Return True if the folder has a table."""
        with self._readable(f"cannot check for {name}.parquet in {quoted(self.label)}"):
            if isinstance(self.filesystem, pafs.PyFileSystem):
                return _exists(self.filesystem.handler.fs, self._file(name))
            return bool(self.filesystem.get_file_info(self._file(name)).type != pafs.FileType.NotFound)

    def columns(self, name: str) -> list[str]:
        """Return the names of a table's columns."""
        with self._readable(f"{name}.parquet is not a Parquet table"):
            schema = pq.ParquetDataset(self._file(name), filesystem=self.filesystem, partitioning=None).schema
            return list(schema.names)

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Read columns of a table."""
        with self._readable(f"{name}.parquet is not a Parquet table"):
            return pq.read_table(self._file(name), columns=columns, filesystem=self.filesystem, partitioning=None)

    def _file(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}.parquet{self.query}"

    @contextmanager
    def _readable(self, refused: str) -> Iterator[None]:
        """Raise an error if the folder cannot be read. Messages omit the URL's query, which may contain a signature."""
        refusals: list[type[Exception]] = [pa.ArrowException, OSError, ValueError]
        if "aiohttp" in sys.modules:  # aiohttp is slow to import, and only needed for web servers
            refusals.append(sys.modules["aiohttp"].ClientError)
        try:
            yield
        except tuple(refusals) as error:
            problem = str(error).replace(self.query, "") if self.query else error
            raise InvalidArgumentError(f"{refused}: {problem}") from None


def _exists(files: Any, path: str) -> bool:
    """Return True if an fsspec store has a file. Raise an error if the server does not respond or denies access."""
    try:
        files.info(path)
    except FileNotFoundError as error:
        reason = error.__cause__  # fsspec reports every failure of a web server as a missing file
        if reason is None or getattr(reason, "status", None) == HTTPStatus.NOT_FOUND:
            return False
        raise OSError(str(reason)) from None
    return True


def _by_fsspec(url: str, label: str) -> tuple[Any, str, str]:
    """Return the file system for an fsspec URL, the folder's path in the store, and the URL's query."""
    import fsspec  # noqa: PLC0415  # slow to import, and for this path only

    path, separator, query = url.partition("?")
    try:
        filesystem, root = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError, OSError) as error:
        raise InvalidArgumentError(f"cannot open a folder at {quoted(label)}: {error}") from None
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), root, separator + query
