"""Imports all that an aggregator's process needs, once: tests fork their processes from one that has loaded this."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from bilateral.api import routes

for name in ("bilateral.api.app", "bilateral.api.aggregator.routes"):
    import_module(name)
for module in pkgutil.iter_modules(routes.__path__):
    import_module(f"{routes.__name__}.{module.name}")
