"""Lets all engines of a run share the statements that SQLAlchemy compiled: each test opens an engine of its own.

To compile statements took a fifth of the time of tests with a database.
"""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.util import LRUCache

STATEMENTS = 2_000
"""The statements that are kept: twice as many as one folder of tests has, without those that it makes up."""


class _Shared(LRUCache):
    """Compiled statements by the kind of database, where SQLAlchemy's keys have the dialect of one engine."""

    def get(self, key, default=None):
        return super().get(_of_kind(key), default)

    def __setitem__(self, key, value):
        super().__setitem__(_of_kind(key), value)


def _of_kind(key):
    dialect, *rest = key
    return type(dialect), getattr(dialect, "server_version_info", None), *rest


def share_statements():
    """Give all engines one cache, in place of one for each."""
    shared = _Shared(STATEMENTS)
    Engine._compiled_cache = property(lambda _: shared, lambda *_: None)
