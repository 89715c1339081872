"""Processes of tests, forked from one that has imported what they need: each would take seconds to import it."""

from __future__ import annotations

import multiprocessing

CONTEXT = multiprocessing.get_context("forkserver")
"""Starts processes that share nothing with the one that asks for them."""

CONTEXT.set_forkserver_preload(["tests.x402.aggregator.process", "tests.x402.aggregator.preload", "tests.index.chaos"])
