"""`bilateral index backfill`: helps the worker of a chain with its past."""

from __future__ import annotations

import typer

from bilateral.cli.index_options import Database, Deployments, RpcUrls, SettingsFile
from bilateral.cli.invocation import Invocation


def backfill(
    invocation: Invocation,
    rpc_urls: RpcUrls = None,
    deployments: Deployments = None,
    settings_file: SettingsFile = None,
    database: Database = None,
) -> None:
    """Read blocks of the past for `index run`, which stores them. Run it on further machines; it ends by itself."""
    from bilateral.cli import index  # noqa: PLC0415  # it imports this module

    stop, signals = index.ended_by_signals()
    index.require_extra()
    from bilateral.index.backfill import fill_chains  # noqa: PLC0415  # slow to import

    settings = index.index_settings(rpc_urls, deployments, settings_file, None)
    index.log_steps()
    with index.open_index(database or settings.database) as engine:
        is_done = fill_chains(engine, settings, stop=stop)
        index.show_status(invocation, engine)
    if not is_done:
        raise typer.Exit(index.SIGNAL_EXIT + signals[0])
