"""`make play`: a local chain with a small running economy, with index, API and explorer beside it."""

from __future__ import annotations

import click

PAUSE = 1.0
"""The seconds between two events."""


@click.command()
@click.option("--port", default=0, help="The port of the service; a free one if left out.")
@click.option("--pause", default=PAUSE, help="The seconds between two events.")
@click.option("--pictures", is_flag=True, help="Write pictures of it into docs/explorer/ after an analysis, and end.")
def cli(port: int, pause: float, *, pictures: bool) -> None:
    """Run the economy and the service until Ctrl-C."""
    # Ape imports every script for each of its commands, and this one imports much of the package.
    from scripts._demo.playing import run  # noqa: PLC0415

    run(port, pause, pictures=pictures)
