"""`bilateral index backfill`: helps the worker of a chain with its past."""

from __future__ import annotations

import typer

from bilateral.cli.index_options import (
    SIGNAL_EXIT,
    ChainOptions,
    Database,
    ended_by_signals,
    log_steps,
    open_index,
    require_extra,
)
from bilateral.cli.index_shards import show_all
from bilateral.cli.invocation import Invocation


def backfill(
    invocation: Invocation,
    chains: ChainOptions,
    database: Database = None,
) -> None:
    """Read blocks of the past for `index run`, which stores them. Run it on further machines; it ends by itself."""
    stop, signals = ended_by_signals()
    require_extra()
    from bilateral.index.backfill import fill_chains  # noqa: PLC0415  # slow to import
    from bilateral.index.shards.process import on_each_shard  # noqa: PLC0415

    settings = chains.settings()
    log_steps()
    with open_index(database or settings.database) as engine:
        if settings.shards:
            is_done = on_each_shard(settings, stop, fill_chains)
        else:
            is_done = fill_chains(engine, settings, stop=stop)
        show_all(invocation, engine, settings, is_strict=is_done)
    if not is_done:
        raise typer.Exit(SIGNAL_EXIT + signals[0])
