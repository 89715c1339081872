"""Processes of tests, forked from one that has imported all they need: to import it takes each of them seconds."""

from __future__ import annotations

import multiprocessing

CONTEXT = multiprocessing.get_context("forkserver")
"""Starts processes that share nothing with the process of the tests."""

CONTEXT.set_forkserver_preload(["tests.x402.aggregator.process", "tests.x402.aggregator.preload", "tests.index.chaos"])
