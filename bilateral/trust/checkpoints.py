"""Checkpoints: the answers of an analysis's finished steps, in files, so that a later run continues where one was lost.

Each answer is one file of arrays without pickles, so that a checkpoint of somebody else runs no code. It is written
under a temporary name, and renamed when it is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import fields
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.trust.findings import Basis, Finding, Part
from bilateral.trust.propagation import EigenTrust
from bilateral.trust.scores import Scores
from bilateral.trust.signs import Told
from bilateral.trust.steps import Cells, Degrees, First
from bilateral.trust.suspicion import Suspicion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

    from bilateral.trust.tables import Tables

_ANSWERS: Final = (Cells, Degrees, EigenTrust, Finding, First, Scores, Suspicion, Told)
_CLASSES: Final = {kind.__name__: kind for kind in _ANSWERS}
_WORDS: Final = {kind.__name__: kind for kind in (Basis, Part)}
"""The classes and the enumerations of answers. Files that name others are not read."""

_SERIES: Final = {"list": list, "tuple": tuple, "frozenset": frozenset}

_LIBRARIES: Final = ("numpy", "scipy", "pyarrow")
"""Libraries whose version may change the last digits of an answer."""

_PARTIAL: Final = ".part"
_VALUES: Final = "values"


class Checkpoints:
    """The finished steps of one analysis: of the same tables, options and code.

    Attributes:
        folder: The folder of this analysis; others may have theirs beside it.
    """

    def __init__(self, folder: Path, tables: Tables, options: str) -> None:
        if folder.exists() and not folder.is_dir():
            raise InvalidArgumentError(f"{quoted(str(folder))} is not a folder: name one for checkpoints")
        self.folder = folder / _digest(tables, options)
        for partial in self.folder.glob(f"*{_PARTIAL}"):
            partial.unlink(missing_ok=True)

    def read(self, step: str) -> list[Any]:
        """Return a list with the answer of a step. It is empty without a file, or if the file is damaged.

        Args:
            step: The name of the step.
        """
        try:
            with np.load(self._file(step), allow_pickle=False) as stored:
                return [_decoded(json.loads(str(stored[_VALUES])), stored)]
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
            return []

    def write(self, step: str, answer: object) -> None:
        """Keep the answer of a step.

        Args:
            step: The name of the step.
            answer: A number, text, array or class of answers, or lists and dictionaries of these.

        Raises:
            InvalidArgumentError: The folder does not take the file.
        """
        arrays: dict[str, np.ndarray] = {}
        values = json.dumps(_encoded(answer, arrays))
        partial = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=_PARTIAL, delete=False) as file:
                partial = Path(file.name)
                np.savez(file, **cast("dict[str, Any]", {_VALUES: np.array(values), **arrays}))
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._file(step))
        except OSError as error:
            raise InvalidArgumentError(f"no checkpoint can be kept in {quoted(str(self.folder))}: {error}") from None
        finally:
            if partial is not None:
                partial.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the checkpoints of this analysis, and the folder of all if it is empty."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # other analyses have theirs there
            self.folder.parent.rmdir()

    def _file(self, step: str) -> Path:
        return self.folder / f"{step.replace(' ', '-')}.npz"


def _encoded(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON takes it. Its arrays are put beside it, and named in it."""
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value.astype(str) if value.dtype == object else value
        return {"texts" if value.dtype == object else "array": name}
    if isinstance(value, tuple(_WORDS.values())):
        return {"word": [type(value).__name__, str(value)]}
    if isinstance(value, (list, tuple, frozenset)):
        return {type(value).__name__: [_encoded(entry, arrays) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key, arrays), _encoded(entry, arrays)] for key, entry in value.items()]}
    if type(value).__name__ in _CLASSES:
        return {"class": [type(value).__name__, _encoded(vars(value), arrays)]}
    return value.item() if isinstance(value, np.generic) else value


def _decoded(value: Any, arrays: Any) -> Any:
    """Return a value that `_encoded` made into JSON."""
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind in {"array", "texts"}:
        return arrays[held] if kind == "array" else arrays[held].astype(object)
    if kind == "word":
        return _WORDS[held[0]](held[1])
    if kind == "class":
        made = object.__new__(_CLASSES[held[0]])
        vars(made).update(_decoded(held[1], arrays))  # a frozen class takes no attributes
        return made
    if kind == "dict":
        return {_decoded(key, arrays): _decoded(entry, arrays) for key, entry in held}
    return _SERIES[kind](_decoded(entry, arrays) for entry in held)


def _digest(tables: Tables, options: str) -> str:
    """Return a digest of all that the answers of an analysis depend on."""
    digest = blake2b(digest_size=16)
    digest.update("\n".join([options, *(f"{name} {version(name)}" for name in _LIBRARIES)]).encode())
    for file in sorted(_sources(files("bilateral") / "trust"), key=str):
        digest.update(file.read_bytes())
    for field in fields(tables):
        _add(digest, getattr(tables, field.name))
    return digest.hexdigest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    """Yield the files of a package that decide its answers."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith((".py", ".json")):
            yield entry


def _add(digest: Any, table: pa.Table) -> None:
    """Add the rows of a table to a digest."""

    class Sink:
        closed = False
        write = staticmethod(digest.update)

        def flush(self) -> None: ...

    plain = pa.table({name: _without_holes(table[name]) for name in table.column_names})
    holes = pa.table({name: pc.is_null(table[name]) for name in table.column_names if table[name].null_count})
    for part in (plain, holes):
        with pa.ipc.new_stream(Sink(), part.schema) as stream:
            stream.write_table(part)


def _without_holes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with a value in place of null. The memory behind a null may hold anything."""
    if not column.null_count or pa.types.is_nested(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    return pc.fill_null(column, "" if pa.types.is_string(column.type) else pa.scalar(0).cast(column.type))
