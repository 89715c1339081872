"""`bilateral index …`: events of all registries in SQL."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from bilateral.cli.errors import UsageProblemError, unknown_chain
from bilateral.cli.help import ExampleGroup, flag, option, optional
from bilateral.cli.index_options import (
    SIGNAL_EXIT,
    ChainOptions,
    Database,
    MonitorOptions,
    RunOptions,
    SettingsFile,
    ended_by_signals,
    log_steps,
    open_index,
    require_extra,
    settings_of,
    show_status,
)
from bilateral.cli.index_shards import indexes_with_rows, migrate_all, move, shards, show_all, show_shards, url_of_chain
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import ReviewOptions, command, make_group

_REMOVED: Final = {
    "backfill": "bilateral index backfill is gone: one worker per chain fills its past, bilateral index run",
    "plan": "bilateral index plan is gone: docs/scale.md has the figures to compute a size with",
}
"""The sentence about each command that this group had: it names the new way."""


class IndexGroup(ExampleGroup):
    """The commands of an index. Those that were removed are refused with the new way."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        if args and args[0] in _REMOVED:
            raise UsageProblemError(_REMOVED[args[0]])
        return super().resolve_command(ctx, args)


app = make_group("index", cls=IndexGroup)


@command(app, is_local=True)
def run(
    invocation: Invocation,
    chains: ChainOptions,
    options: RunOptions,
    monitor: MonitorOptions,
    database: Database = None,
) -> None:
    """Follow one or more chains, and write their events, and the files that they name, into the database."""
    stop, signals = ended_by_signals()
    require_extra()
    from bilateral.index.shards.process import follow  # noqa: PLC0415  # slow to import

    settings = options.settings(chains)
    log_steps()
    with open_index(database or settings.database, creates=True) as engine:
        with monitor.answering(engine, settings.shards, needs_analysis=settings.analyses):
            is_done = follow(engine, settings, stop=stop, until_head=options.until_head)
        show_all(invocation, engine, settings, is_strict=is_done)
    if not is_done:
        raise typer.Exit(SIGNAL_EXIT + signals[0])


@command(app, is_local=True)
def status(invocation: Invocation, database: Database = None, settings_file: SettingsFile = None) -> None:
    """Show how far the index is, chain by chain. With shards in the settings, ask each of them."""
    require_extra()
    settings = settings_of(settings_file)
    if settings.shards:
        show_shards(invocation, settings)
        return
    with open_index(database or settings.database) as engine:
        show_status(invocation, engine)


@command(app, is_local=True)
def verify(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    chains: ChainOptions,
    database: Database = None,
    samples: int | None = optional(None, "Compare so many ranges, chosen at random; all if left out.", min=1),
    seed: int = option(None, "The seed of the choice.", default=0),
    owners: int = option(
        None,
        "Compare the owners of so many agents, chosen at random, with ownerOf; the node needs that state.",
        default=0,
        min=0,
    ),
    derived: bool = flag(
        "--derived", "Recompute the derived tables and compare, without a change. Workers wait meanwhile."
    ),
) -> None:
    """Read blocks again, from each node in turn, and compare them with the rows."""
    require_extra()
    from bilateral.cli.index_verification import Choice, verify_index  # noqa: PLC0415  # slow to import
    from bilateral.index.shards.process import chain_of  # noqa: PLC0415

    settings, choice = chains.settings(), Choice(samples, seed, owners, derived)
    verified: dict[str, Any] = {"is_equal": True, "endpoints": [], "derived": []}
    for chain in settings.chains:
        url = database or (url_of_chain(settings, chain_of(chain)) if settings.shards else settings.database)
        with open_index(url) as engine:
            part = verify_index(invocation, engine, chain, choice)
        verified["is_equal"] = verified["is_equal"] and part["is_equal"]
        for name in ("endpoints", "derived"):
            verified[name] += part[name]
    invocation.output.result(verified, title="Equal" if verified["is_equal"] else "Different")
    if not verified["is_equal"]:
        raise typer.Exit(1)


@command(app, is_local=True)
def rebuild(
    invocation: Invocation,
    chain_id: Annotated[int, typer.Option(help="The chain.")],
    database: Database = None,
    settings_file: SettingsFile = None,
) -> None:
    """Recompute the derived tables of a chain from its events."""
    require_extra()
    from bilateral.index.log.store import ChainStore  # noqa: PLC0415
    from bilateral.index.operating.status import chain_statuses  # noqa: PLC0415  # slow to import
    from bilateral.index.projections import PROJECTIONS  # noqa: PLC0415

    with open_index(database or url_of_chain(settings_of(settings_file), chain_id)) as engine:
        if chain_id not in (status.chain_id for status in chain_statuses(engine)):
            raise unknown_chain(chain_id)
        ChainStore(engine, chain_id, PROJECTIONS).rebuild(lambda block: invocation.output.note(f"block {block}"))
        show_status(invocation, engine)


@command(app, is_local=True)
def analyse(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    judged: ReviewOptions,
    database: Database = None,
    chain_id: int | None = optional(None, "The chain; all chains if left out."),
    rpc_urls: list[str] | None = optional(
        "URL",
        "A node that keeps old states: look there for the sources of accounts' first funds. May be repeated.",
        "--rpc-url",
    ),
    settings_file: SettingsFile = None,
) -> None:
    """Look for false ratings in the index, and store findings and scores beside the rows that they rest on."""
    require_extra()
    import_module("bilateral.trust")  # it says what to install if its packages are missing
    from bilateral.cli import analysis  # noqa: PLC0415  # slow to import

    with indexes_with_rows(database, settings_file, chain_id) as engines:
        analysis.analyse(invocation, engines, chain_id, rpc_urls or [], judged)


@command(app, "prove-claims", is_local=True)
def prove(
    invocation: Invocation,
    solana_nodes: Annotated[
        list[str], option("URL", "A node of Solana; may be repeated, one a chain.", "--solana-node")
    ],
    database: Database = None,
    settings_file: SettingsFile = None,
) -> None:
    """Ask nodes of Solana whether agents there name the agents here that claim to be them. Each claim once a day."""
    require_extra()
    from bilateral.checks.solana_claims import prove_claims  # noqa: PLC0415  # slow to import
    from bilateral.documents import Loader  # noqa: PLC0415

    outcomes: Counter[str] = Counter()
    with indexes_with_rows(database, settings_file) as engines:
        for engine in engines:
            proven = prove_claims(engine, Loader(), solana_nodes, progress=invocation.output.note)
            outcomes.update(asdict(proven))
    invocation.output.result(outcomes, title="Claims")


@command(app, "schema", is_local=True)
def migrate(invocation: Invocation, database: Database = None, settings_file: SettingsFile = None) -> None:
    """Bring the tables to the version that this package knows. Workers do not do that by themselves."""
    require_extra()
    from bilateral.index.log.database import named_database_errors, upgrade  # noqa: PLC0415  # slow to import

    settings = settings_of(settings_file)
    with named_database_errors():
        if settings.shards:
            migrate_all(invocation, settings)
            return
        before, after = upgrade(database or settings.database)
    invocation.output.result({"before": before, "version": after}, title="Schema")


for function in (shards, move):
    command(app, is_local=True)(function)
