"""`bilateral index …`: events from all registries in SQL, on one server or several."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli import index_options
from bilateral.cli.columns import columns
from bilateral.cli.errors import UsageProblemError, unknown_chain
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import ExampleGroup, ReviewOptions, command, flag, make_group, option, optional
from bilateral.core.interpreter import tuned_interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Engine

    from bilateral.index.log.places import Placed
    from bilateral.index.operating.settings import IndexSettings


_REMOVED: Final = {
    "backfill": "`bilateral index backfill` has been removed: `bilateral index run` also indexes each chain's past",
    "plan": "`bilateral index plan` has been removed: use the figures in docs/scale.md to estimate sizes",
}
"""The message for each command that was removed from this group, which names the replacement."""


class IndexGroup(ExampleGroup):
    """The index commands. A removed command raises an error that points to its replacement."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments specify."""
        if args and args[0] in _REMOVED:
            raise UsageProblemError(_REMOVED[args[0]])
        return super().resolve_command(ctx, args)


app = make_group("index", cls=IndexGroup)


@command(app, is_local=True, needs=index_options.require_extra)
def run(
    invocation: Invocation,
    chains: index_options.ChainOptions,
    options: index_options.RunOptions,
    monitor: index_options.MonitorOptions,
    database: index_options.Database = None,
) -> None:
    """Follow one or more chains, and store their events and the files they refer to."""
    stop, signals = index_options.ended_by_signals()
    with tuned_interpreter():  # imported modules live until the end, so collecting them would be in vain
        from bilateral.index.operating.worker import follow_chains  # noqa: PLC0415  # slow to import

        gc.freeze()

    settings, look, follow = options.settings(chains), None, follow_chains
    index_options.log_steps()
    if settings.shards:
        from bilateral.index.shards.process import follow, statuses_of_shards  # noqa: PLC0415  # slow to import

        look = partial(statuses_of_shards, settings.shards)
    with index_options.open_index(database or settings.database, creates=True) as engine:
        with monitor.answering(engine, look, needs_analysis=settings.analyses):
            is_done = follow(engine, settings, stop=stop, until_head=options.until_head)
        if settings.shards:
            show_shards(invocation, settings, is_strict=is_done)
        else:
            index_options.show_status(invocation, engine)
    if not is_done:
        raise typer.Exit(index_options.SIGNAL_EXIT + signals[0])


@command(app, is_local=True, needs=index_options.require_extra)
def status(
    invocation: Invocation, database: index_options.Database = None, settings_file: index_options.SettingsFile = None
) -> None:
    """Show the index's progress on each chain. If the settings list shards, query each of them."""
    settings = index_options.settings_of(settings_file)
    if settings.shards:
        show_shards(invocation, settings)
        return
    with index_options.open_index(database or settings.database) as engine:
        index_options.show_status(invocation, engine)


@command(app, is_local=True, needs=index_options.require_extra)
def verify(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    chains: index_options.ChainOptions,
    database: index_options.Database = None,
    samples: int | None = optional(None, "Compare only this many randomly chosen block ranges; all by default.", min=1),
    seed: int = option(None, "The seed for random choices.", default=0),
    owners: int = option(
        None,
        "Compare the owners of this many random agents with `ownerOf`; requires the state at the last indexed block.",
        default=0,
        min=0,
    ),
    derived: bool = flag(
        "--derived",
        "Recompute the derived tables, and compare them with the stored ones, which stay unchanged. Workers wait.",
    ),
) -> None:
    """Read blocks from each node again, and compare them with the stored rows."""
    from bilateral.cli.index_verification import Choice, verify_index  # noqa: PLC0415  # slow to import
    from bilateral.index.shards.process import chain_of  # noqa: PLC0415

    settings, choice = chains.settings(), Choice(samples, seed, owners, derived)
    verified: dict[str, Any] = {"is_equal": True, "endpoints": [], "derived": []}
    for chain in settings.chains:
        url = database or (url_of_chain(settings, chain_of(chain)) if settings.shards else settings.database)
        with index_options.open_index(url) as engine:
            part = verify_index(invocation, engine, chain, choice)
        verified["is_equal"] = verified["is_equal"] and part["is_equal"]
        for name in ("endpoints", "derived"):
            verified[name] += part[name]
    invocation.output.result(verified, title="Equal" if verified["is_equal"] else "Different")
    if not verified["is_equal"]:
        raise typer.Exit(1)


@command(app, is_local=True, needs=index_options.require_extra)
def rebuild(
    invocation: Invocation,
    chain_id: Annotated[int, typer.Option(help="The chain to rebuild, such as 8453.")],
    database: index_options.Database = None,
    settings_file: index_options.SettingsFile = None,
) -> None:
    """Recompute a chain's derived tables from its events."""
    from bilateral.index.log.store import ChainStore  # noqa: PLC0415
    from bilateral.index.operating.status import chain_statuses  # noqa: PLC0415  # slow to import
    from bilateral.index.projections import PROJECTIONS  # noqa: PLC0415

    with index_options.open_index(
        database or url_of_chain(index_options.settings_of(settings_file), chain_id)
    ) as engine:
        if chain_id not in (status.chain_id for status in chain_statuses(engine)):
            raise unknown_chain(chain_id)
        ChainStore(engine, chain_id, PROJECTIONS).rebuild(lambda block: invocation.output.note(f"block {block}"))
        index_options.show_status(invocation, engine)


@command(app, is_local=True, needs=index_options.require_extra)
def analyse(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    judged: ReviewOptions,
    database: index_options.Database = None,
    chain_id: int | None = optional(None, "The chain to analyse; all chains by default."),
    rpc_urls: list[str] | None = optional(
        "URL",
        "An archive node, used to find where accounts' first funds came from; may be repeated.",
        "--rpc-url",
    ),
    settings_file: index_options.SettingsFile = None,
) -> None:
    """Look for false ratings in the index, and store findings and scores with their evidence."""
    import_module("bilateral.trust")  # its error states what to install if packages are missing
    from bilateral.cli import analysis  # noqa: PLC0415  # slow to import

    with indexes_with_rows(database, settings_file, chain_id) as engines:
        analysis.analyse(invocation, engines, chain_id, rpc_urls or [], judged)


@command(app, "prove-claims", is_local=True, needs=index_options.require_extra)
def prove(
    invocation: Invocation,
    solana_nodes: Annotated[
        list[str], option("URL", "The URL of a Solana node; may be repeated, once per chain.", "--solana-node")
    ],
    database: index_options.Database = None,
    settings_file: index_options.SettingsFile = None,
) -> None:
    """Check once a day whether agents on Solana confirm the EVM agents that claim to be the same agent."""
    from bilateral.checks.solana_claims import prove_claims  # noqa: PLC0415  # slow to import
    from bilateral.documents import Loader  # noqa: PLC0415

    outcomes: Counter[str] = Counter()
    with indexes_with_rows(database, settings_file) as engines:
        for engine in engines:
            outcomes.update(asdict(prove_claims(engine, Loader(), solana_nodes, progress=invocation.output.note)))
    invocation.output.result(outcomes, title="Claims")


@command(app, "schema", is_local=True, needs=index_options.require_extra)
def migrate(
    invocation: Invocation, database: index_options.Database = None, settings_file: index_options.SettingsFile = None
) -> None:
    """Migrate the tables to this package's version. Workers never migrate the tables on their own."""
    from bilateral.index.log.database import named_database_errors, upgrade  # noqa: PLC0415  # slow to import

    settings = index_options.settings_of(settings_file)
    with named_database_errors():
        if settings.shards:
            migrate_all(invocation, settings)
            return
        before, after = upgrade(database or settings.database)
    invocation.output.result({"before": before, "version": after}, title="Schema")


_Settings = Annotated[Path, option("FILE", "The TOML file that contains the table database.shards.", "--settings")]


@command(app, is_local=True, needs=index_options.require_extra)
def shards(
    invocation: Invocation,
    settings_file: _Settings,
    adopt: bool = flag("--adopt", "Take over the shards of a coordinator that no longer exists."),
) -> None:
    """Make the coordinator read all chains from the shards in the settings, and show the shard of each chain."""
    from bilateral.index.log.database import named_database_errors  # noqa: PLC0415
    from bilateral.index.shards.coordinator import update_shards  # noqa: PLC0415  # slow to import

    settings = sharded_settings(settings_file)
    with named_database_errors():
        placed = update_shards(settings.database, settings.shards, adopts=adopt)
    _show(invocation, placed)


@command(app, is_local=True, needs=index_options.require_extra)
def move(
    invocation: Invocation, settings_file: _Settings, chain_id: Annotated[int, typer.Option(help="The chain to move.")]
) -> None:
    """Move a chain to the shard that the settings assign it to. Readers can continue; the chain's worker pauses."""
    from bilateral.index.log.database import named_database_errors  # noqa: PLC0415
    from bilateral.index.shards.moving import move_chain  # noqa: PLC0415  # slow to import

    settings = sharded_settings(settings_file)
    with named_database_errors():
        placed = move_chain(settings.database, settings.shards, chain_id, invocation.output.note)
    _show(invocation, placed)


def migrate_all(invocation: Invocation, settings: IndexSettings) -> None:
    """Migrate the tables on all servers to this package's version, and show the versions."""
    from bilateral.index.shards.moving import upgrade_shards  # noqa: PLC0415  # slow to import

    migrated = upgrade_shards(settings.database, settings.shards)
    invocation.output.results(migrated, columns("server", "before", "version"))


def url_of_chain(settings: IndexSettings, chain_id: int) -> str | None:
    """Return the URL of a chain's database, which is the database of its shard if shards are configured."""
    if not settings.shards:
        return settings.database
    from bilateral.index.shards.process import shard_of  # noqa: PLC0415  # slow to import

    return settings.shards[shard_of(settings.shards, chain_id)].url


@contextmanager
def indexes_with_rows(
    database: str | None, settings_file: Path | None, chain_id: int | None = None
) -> Iterator[list[Engine]]:
    """Open the databases that contain chains' rows: the shards if configured, or else the index."""
    from bilateral.index.shards.process import require_rows  # noqa: PLC0415  # slow to import

    settings = index_options.settings_of(settings_file)
    by_url = {shard.url: shard.chains for shard in settings.shards.values()}
    urls = [database or settings.database]
    if by_url and database is None:
        urls = [url for url, chains in by_url.items() if (chain_id in chains if chain_id is not None else chains)]
    with ExitStack() as stack:
        engines = [stack.enter_context(index_options.open_index(url)) for url in urls]
        for engine in engines:
            require_rows(engine)
        yield engines


def show_shards(invocation: Invocation, settings: IndexSettings, *, is_strict: bool = True) -> None:
    """Show the status of each shard's chains."""
    from bilateral.index.errors import DatabaseUnavailableError  # noqa: PLC0415  # slow to import
    from bilateral.index.shards.process import statuses_of_shards  # noqa: PLC0415

    statuses = statuses_of_shards(settings.shards)
    index_options.show_statuses(invocation, statuses.chains)
    if not is_strict:
        return
    if statuses.problems[1:]:
        raise DatabaseUnavailableError("; ".join(map(str, statuses.problems)))
    if statuses.problems:
        raise statuses.problems[0]


def sharded_settings(settings_file: Path) -> IndexSettings:
    """Return the settings from a file that lists shards."""
    from bilateral.index.operating.settings import read_settings  # noqa: PLC0415  # slow to import

    settings = read_settings(settings_file)
    if not settings.shards:
        raise UsageProblemError(f"{settings_file} defines no shards: add database.shards.NAME tables")
    return settings


def _show(invocation: Invocation, placed: Sequence[Placed]) -> None:
    invocation.output.results(placed, columns("chain_id", "shard"))
