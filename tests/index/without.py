"""A pytest plugin that takes parts of the index away.

`BILATERAL_WITHOUT=search python -m pytest -p tests.index.without …`: the folders leave the import path, and their
lines leave `bilateral/index/projections.py`.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

PARTS = tuple(os.environ["BILATERAL_WITHOUT"].split())
LIST = "bilateral.index.projections"


class _WithoutParts(SourceFileLoader):
    """Reads the list of projections without the lines of some parts, and without the names that these import."""

    def get_data(self, path: str) -> bytes:
        if not path.endswith(".py"):
            raise OSError(path)  # bytecode is of the whole list
        source = super().get_data(path).decode()
        for part in PARTS:
            line = re.compile(rf"^from bilateral\.index\.{part}\.\w+ import (\w+)\n", re.MULTILINE)
            for name in line.findall(source):
                source = re.sub(rf"(, )?\b{name}\(\),?", "", line.sub("", source))
        return source.encode()

    def set_data(self, *_: object, **__: object) -> None:
        """Store no bytecode: others would find it."""


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: object = None, _: object = None) -> ModuleSpec | None:
        if any(f"{name}.".startswith(f"bilateral.index.{part}.") for part in PARTS):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name != LIST:
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = _WithoutParts(name, spec.origin)
        return spec


sys.meta_path.insert(0, _Finder())
