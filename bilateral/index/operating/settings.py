"""The settings of an index: the chains to follow, the endpoints to use, and the database for the chains."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import URL

from bilateral.core.contracts import Deployment
from bilateral.core.contracts.records import is_book
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.index.changes.worker import FeedLimits
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import parsed_url
from bilateral.index.payments.terms import PaymentTerms


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Shard(_Table):
    """A table `[database.shards.NAME]` in a settings file.

    Attributes:
        url: The SQLAlchemy URL of a PostgreSQL database.
        chains: The chains whose tables the database contains.
    """

    url: str
    chains: list[Annotated[int, Field(ge=1)]] = []


class Databases(_Table):
    """The table `[database]` in a settings file.

    Attributes:
        url: The SQLAlchemy URL of the database that workers write to; None for the default database.
        readers: The URLs of the database's PostgreSQL replicas, from which the service reads.
        max_delay: The number of seconds by which a replica may lag before the service reads from another server.
        shards: The databases with the chains' tables, keyed by name. If there are any, `url` is the coordinator.
    """

    url: str | None = None
    readers: list[str] = []
    max_delay: Annotated[float, Field(gt=0)] = 60.0
    shards: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")], Shard] = {}


def databases_of(value: Any) -> Databases:
    """Return the databases that the `database` entry of a settings file describes."""
    if value is None or isinstance(value, str):
        return Databases(url=value)
    try:
        databases = Databases.model_validate(value)
    except ValidationError as problem:
        raise InvalidArgumentError(first_problem(problem, "database")) from None
    require_replicas(databases.url, databases.readers)
    _require_shards(databases)
    return databases


def _require_shards(databases: Databases) -> None:
    """Reject shards that are not on PostgreSQL, two shards in one database, and a chain on two shards."""
    places = {"database.url": databases.url} if databases.shards else {}
    places |= {f"database.shards.{name}.url": shard.url for name, shard in databases.shards.items()}
    places_by_url: dict[URL, str] = {}
    for place, url in places.items():
        if (parsed := parsed_url(url)).get_backend_name() != "postgresql":
            raise InvalidArgumentError(f"{place} is not PostgreSQL, but only PostgreSQL supports shards")
        if (other := places_by_url.setdefault(parsed, place)) != place:
            raise InvalidArgumentError(f"{place} is also the database of {other}: each shard needs its own")
    holders: dict[int, str] = {}
    for name, shard in databases.shards.items():
        for chain_id in shard.chains:
            if (holder := holders.setdefault(chain_id, name)) != name:
                raise InvalidArgumentError(f"database.shards.{name}.chains: chain {chain_id} is also on shard {holder}")


def require_replicas(url: str | None, readers: list[str] | tuple[str, ...]) -> None:
    """Check that a database with replicas, and each replica, runs on PostgreSQL, because SQLite has no replicas."""
    for place, reader in enumerate(readers):
        for name, address in (("database.url", url), (f"database.readers[{place}]", reader)):
            if parsed_url(address).get_backend_name() != "postgresql":
                raise InvalidArgumentError(f"{name} is not PostgreSQL, but only PostgreSQL supports replicas")


@dataclass(frozen=True)
class ChainSettings:
    """One chain's settings.

    Attributes:
        rpc_urls: The JSON-RPC URLs of the chain's nodes, with the preferred one first.
        deployments: The chain's registries; if empty, the packaged deployments for the nodes' chain are used.
        from_block: The first block to index; None to start at the block in which the first registry was deployed.
        payments: The terms under which transfers to agents count as payments; None to index no payments.
        books: Address books (files that list deployments by chain id). Each must contain the chain of the nodes.
        trusts_reorganisation: True to remove finalized blocks on the evidence of a single endpoint. This cannot be set
            in a file, because it should not remain enabled.
        adds_registries: True to add registries that the database lacks. Blocks that may contain their events are read
            again. This cannot be set in a file.
    """

    rpc_urls: tuple[str, ...]
    deployments: tuple[Deployment, ...] = ()
    from_block: int | None = None
    payments: PaymentTerms | None = None
    books: tuple[Mapping[int, Deployment], ...] = ()
    trusts_reorganisation: bool = False
    adds_registries: bool = False

    def __post_init__(self) -> None:
        """Reject settings without a chain."""
        if not self.rpc_urls:
            raise InvalidArgumentError("rpc_urls is empty: list the URL of at least one node")
        if len({deployment.chain_id for deployment in self.deployments}) > 1:
            raise InvalidArgumentError("the deployments of one chain have different chain ids")


@dataclass(frozen=True)
class IndexSettings:
    """One process's settings.

    Attributes:
        chains: The chains to follow.
        database: The SQLAlchemy URL of the database; None for the default database.
        poll_seconds: The number of seconds between checks for a new block.
        files: The settings of the queue that fetches files.
        max_wait: The number of seconds without success after which a run to the chain's head fails. The default leaves
            a node or database time to restart.
        analyses: True to run trust analyses in a separate process. The analyses keep standings current, which ranking
            and checks require.
        feed: The limits of the change feed.
        shards: The databases with the chains' tables, keyed by name; empty if `database` itself contains them.
    """

    chains: tuple[ChainSettings, ...]
    database: str | None = None
    poll_seconds: float = 1.0
    files: FileSettings = field(default_factory=FileSettings)
    max_wait: float = 120.0
    analyses: bool = True
    feed: FeedLimits = field(default_factory=FeedLimits)
    shards: Mapping[str, Shard] = field(default_factory=dict)


class _PaymentsTable(_Table):
    """A chain's table `[chain.payments]` in a settings file."""

    tokens: dict[str, int]
    confirmations: int = PaymentTerms.confirmations
    counts_plain: bool = PaymentTerms.counts_plain
    traces: bool = PaymentTerms.traces


class _ChainTable(_Table):
    """A table `[[chain]]` in a settings file."""

    rpc_urls: Annotated[list[str], Field(min_length=1)]
    deployments: list[str] = []
    from_block: Annotated[int | None, Field(ge=0)] = None
    payments: _PaymentsTable | None = None


class _FilesTable(_Table):
    """The table `[files]` in a settings file."""

    workers: Annotated[int, Field(ge=0, le=64)] = FileSettings.workers
    gateways: list[str] = []
    max_bytes: Annotated[int, Field(ge=1024, le=16 * 1024 * 1024)] = FileSettings.max_bytes
    seconds: Annotated[float, Field(gt=0, le=300)] = FileSettings.seconds
    allow_private: bool = FileSettings.allow_private


class _FeedTable(_Table):
    """The table `[feed]` in a settings file."""

    days: Annotated[float, Field(gt=0)] = FeedLimits.days
    steps: Annotated[int, Field(ge=1_000)] = FeedLimits.steps


class _File(_Table):
    """The entire settings file."""

    chain: Annotated[list[_ChainTable], Field(min_length=1)]
    database: Any = None
    """A URL or the table `[database]` (see `databases_of`)."""
    poll_seconds: Annotated[float, Field(gt=0, le=3600)] = 1.0
    files: _FilesTable = _FilesTable()
    feed: _FeedTable = _FeedTable()
    api: dict[str, Any] = {}
    """The service's settings, which `bilateral.api` reads."""


def read_settings(path: Path) -> IndexSettings:
    """Read settings from a TOML file."""
    try:
        content = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidArgumentError(f"{path} cannot be read: {problem}") from None
    except ValidationError as problem:
        raise InvalidArgumentError(f"{path}: {first_problem(problem)}") from None
    databases = databases_of(content.database)
    chains = tuple(_chain_settings(table, path.parent) for table in content.chain)
    files = FileSettings(**{**dict(content.files), "gateways": tuple(content.files.gateways)})
    feed = FeedLimits(**dict(content.feed))
    return IndexSettings(chains, databases.url, content.poll_seconds, files, feed=feed, shards=databases.shards)


def read_deployments(paths: Sequence[Path]) -> tuple[tuple[Deployment, ...], tuple[Mapping[int, Deployment], ...]]:
    """Read deployment records and address books."""
    deployments: list[Deployment] = []
    books: list[Mapping[int, Deployment]] = []
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as problem:
            raise InvalidArgumentError(f"the deployment record {path} cannot be read: {problem.strerror}") from None
        if is_book(content):
            books.append(Deployment.from_book(content))
        else:
            deployments.append(Deployment.from_record(content))
    return tuple(deployments), tuple(books)


def _chain_settings(table: _ChainTable, folder: Path) -> ChainSettings:
    deployments, books = read_deployments([folder / name for name in table.deployments])
    payments = None if table.payments is None else PaymentTerms(**dict(table.payments))
    return ChainSettings(tuple(table.rpc_urls), deployments, table.from_block, payments, books)
