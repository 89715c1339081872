"""`make demo`: plays one whole story on a local chain of its own, with real transactions."""

from __future__ import annotations

import logging
import sys

import click
from ape.logging import get_rich_console, logger
from rich.console import Console

from bilateral.dev.anvil import Interrupted

SIGNAL_EXIT = 128
"""The exit code of a process that a signal ended, minus the signal's number."""


def new_console() -> Console:
    """Return a console as wide as the widest table of the story."""
    return Console(width=110, highlight=False)


@click.command()
def cli() -> None:
    """Play the story. The exit code is 0 only if every step did what it says."""
    # Ape imports every script for each of its commands, and this one needs nearly all of the package.
    from scripts._demo.stage import Stage  # noqa: PLC0415

    logger.set_level(logging.CRITICAL)
    get_rich_console(sys.stdout).quiet = True  # Ape would print the trace of each refusal
    console = new_console()
    console.print("The story starts a chain and deploys the registries. It usually takes half a minute.")
    try:
        with Stage.opened(console) as stage:
            from scripts._demo.story import CHAPTERS  # noqa: PLC0415

            for play in CHAPTERS:
                play(stage)
            done = stage.close()
    except Interrupted as interruption:
        # The signal may have come within a print, and a console whose print broke off writes nothing more.
        new_console().print(f"\n[red]The demo was {interruption}; its chain is stopped.[/]")
        sys.exit(SIGNAL_EXIT + interruption.signal)
    sys.exit(0 if done else 1)
