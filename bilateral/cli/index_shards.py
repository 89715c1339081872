"""`bilateral index shards` and `bilateral index move`: chains on several servers."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bilateral.cli.columns import columns
from bilateral.cli.errors import UsageProblemError
from bilateral.cli.help import flag, option
from bilateral.cli.index_options import open_index, require_extra, settings_of, show_status, show_statuses
from bilateral.cli.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Engine

    from bilateral.index.log.places import Placed
    from bilateral.index.operating.settings import IndexSettings

_Settings = Annotated[Path, option("FILE", "The TOML file with the table database.shards.", "--settings")]


def shards(
    invocation: Invocation,
    settings_file: _Settings,
    adopt: bool = flag("--adopt", "Take shards over from another coordinator, which is gone."),
) -> None:
    """Let the coordinator read the chains of the settings on their shards. Show the place of each chain."""
    require_extra()
    from bilateral.index.log.database import named_database_errors  # noqa: PLC0415
    from bilateral.index.shards.servers import update_shards  # noqa: PLC0415  # slow to import

    settings = sharded_settings(settings_file)
    with named_database_errors():
        placed = update_shards(settings.database, settings.shards, adopts=adopt)
    _show(invocation, placed)


def move(
    invocation: Invocation,
    settings_file: _Settings,
    chain_id: Annotated[int, typer.Option(help="The chain.")],
) -> None:
    """Move a chain to the shard that the settings name. Readers continue, and its worker waits meanwhile."""
    require_extra()
    from bilateral.index.log.database import named_database_errors  # noqa: PLC0415
    from bilateral.index.shards.moving import move_chain  # noqa: PLC0415  # slow to import

    settings = sharded_settings(settings_file)
    with named_database_errors():
        placed = move_chain(settings.database, settings.shards, chain_id, invocation.output.note)
    _show(invocation, placed)


def migrate_all(invocation: Invocation, settings: IndexSettings) -> None:
    """Bring the tables of all servers to the version of this package, and show the versions."""
    from bilateral.index.shards.moving import upgrade_shards  # noqa: PLC0415  # slow to import

    migrated = upgrade_shards(settings.database, settings.shards)
    invocation.output.results(migrated, columns("server", "before", "version"))


def url_of_chain(settings: IndexSettings, chain_id: int) -> str | None:
    """Return the URL of the database that holds a chain: of its shard, if the settings name shards."""
    if not settings.shards:
        return settings.database
    from bilateral.index.shards.process import shard_of  # noqa: PLC0415  # slow to import

    return settings.shards[shard_of(settings.shards, chain_id)].url


@contextmanager
def indexes_with_rows(
    database: str | None, settings_file: Path | None, chain_id: int | None = None
) -> Iterator[list[Engine]]:
    """Open the databases that hold the rows of chains: the shards, if the settings name some."""
    from bilateral.index.shards.process import require_rows  # noqa: PLC0415  # slow to import

    settings = settings_of(settings_file)
    held = {shard.url: shard.chains for shard in settings.shards.values()}
    urls = [database or settings.database]
    if held and database is None:
        urls = [url for url, chains in held.items() if (chain_id in chains if chain_id is not None else chains)]
    with ExitStack() as stack:
        engines = [stack.enter_context(open_index(url)) for url in urls]
        for engine in engines:
            require_rows(engine)
        yield engines


def show_all(invocation: Invocation, engine: Engine, settings: IndexSettings, *, is_strict: bool = True) -> None:
    """Show the status of all chains: of the database, or of each shard that the settings name."""
    if settings.shards:
        show_shards(invocation, settings, is_strict=is_strict)
    else:
        show_status(invocation, engine)


def show_shards(invocation: Invocation, settings: IndexSettings, *, is_strict: bool = True) -> None:
    """Show the status of each shard's chains."""
    from bilateral.index.errors import DatabaseUnavailableError  # noqa: PLC0415  # slow to import
    from bilateral.index.shards.process import statuses_of_shards  # noqa: PLC0415

    statuses = statuses_of_shards(settings.shards)
    show_statuses(invocation, statuses.chains)
    if not is_strict:
        return
    if statuses.problems[1:]:
        raise DatabaseUnavailableError("; ".join(map(str, statuses.problems)))
    if statuses.problems:
        raise statuses.problems[0]


def sharded_settings(settings_file: Path) -> IndexSettings:
    """Return the settings of a file that names shards."""
    from bilateral.index.operating.settings import read_settings  # noqa: PLC0415  # slow to import

    settings = read_settings(settings_file)
    if not settings.shards:
        raise UsageProblemError(f"{settings_file} names no shards: add tables database.shards.NAME")
    return settings


def _show(invocation: Invocation, placed: Sequence[Placed]) -> None:
    """Show the place of each chain."""
    invocation.output.results(placed, columns("chain_id", "shard"))
