"""Processes of tests, forked from one that has imported all they need: to import it takes each of them seconds."""

from __future__ import annotations

import multiprocessing
import os
from importlib import import_module
from multiprocessing import forkserver, util

CONTEXT = multiprocessing.get_context("forkserver")
"""Starts processes that share nothing with the process of the tests."""

_PRELOADED = ["tests.x402.aggregator.process", "tests.x402.aggregator.preload", "tests.index.chaos"]
CONTEXT.set_forkserver_preload(_PRELOADED)


def preload():
    """Import what these processes need."""
    for name in _PRELOADED:
        import_module(name)


def fork_server():
    """Fork the server of these processes from this one, which has preloaded and has one thread."""
    usual = util.spawnv_passfds
    util.spawnv_passfds = _fork
    try:
        forkserver.ensure_running()
    finally:
        util.spawnv_passfds = usual


def _fork(_, command, passed):
    """Run `python -c` as a fork, with no more open files than it would have."""
    process = os.fork()
    if process:
        return process
    last = 2
    for descriptor in [*sorted(passed), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(last + 1, descriptor)
        last = descriptor
    try:
        exec(command[-1])  # noqa: S102  # multiprocessing's own words
    finally:
        os._exit(1)
