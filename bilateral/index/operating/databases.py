"""The databases of an index in its settings: that of its workers, its shards, and its replicas."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import URL

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.index.log.database import parsed_url


class Shard(BaseModel):
    """A table `[database.shards.NAME]` of a settings file.

    Attributes:
        url: The SQLAlchemy URL of a database in PostgreSQL.
        chains: The chains whose tables it holds.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: str
    chains: list[Annotated[int, Field(ge=1)]] = []


class Databases(BaseModel):
    """The table `[database]` of a settings file.

    Attributes:
        url: The SQLAlchemy URL of the database that workers write; None for the default one.
        readers: The URLs of its replicas in PostgreSQL. The service reads there.
        max_delay: The seconds that a replica may be behind before the service reads elsewhere.
        shards: The databases that hold the tables of chains, by their names. Then `url` is the coordinator.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: str | None = None
    readers: list[str] = []
    max_delay: Annotated[float, Field(gt=0)] = 60.0
    shards: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")], Shard] = {}


def databases_of(value: Any) -> Databases:
    """Return the databases that the entry `database` of a settings file names.

    Args:
        value: A URL, a table, or None for a file without the entry.

    Raises:
        InvalidArgumentError: A setting is unknown or invalid, or replicas are named for SQLite.
    """
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
    """Refuse shards that are not in PostgreSQL, two on one database, and a chain on two shards."""
    places = {"database.url": databases.url} if databases.shards else {}
    places |= {f"database.shards.{name}.url": shard.url for name, shard in databases.shards.items()}
    named: dict[URL, str] = {}
    for place, url in places.items():
        if (parsed := parsed_url(url)).get_backend_name() != "postgresql":
            raise InvalidArgumentError(f"{place} is not of PostgreSQL, and only PostgreSQL has shards")
        if (other := named.setdefault(parsed, place)) != place:
            raise InvalidArgumentError(f"{place} is the database of {other}: each shard needs one of its own")
    holders: dict[int, str] = {}
    for name, shard in databases.shards.items():
        for chain_id in shard.chains:
            if (holder := holders.setdefault(chain_id, name)) != name:
                raise InvalidArgumentError(f"database.shards.{name}.chains: chain {chain_id} is on shard {holder}")


def require_replicas(url: str | None, readers: list[str] | tuple[str, ...]) -> None:
    """Check that a database with replicas, and each replica, is in PostgreSQL. SQLite has no replicas.

    Args:
        url: The URL of the database; None for the default one.

    Raises:
        InvalidArgumentError: A URL is malformed or is not of PostgreSQL.
    """
    for place, reader in enumerate(readers):
        for name, named in (("database.url", url), (f"database.readers[{place}]", reader)):
            if parsed_url(named).get_backend_name() != "postgresql":
                raise InvalidArgumentError(f"{name} is not of PostgreSQL, and only PostgreSQL has replicas")
