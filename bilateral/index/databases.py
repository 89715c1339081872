"""The databases of an index as the settings name them: one is written, and its replicas are read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bilateral.errors import InvalidArgumentError
from bilateral.errors.invalid_fields import first_problem
from bilateral.index.store.database import parsed_url


class Databases(BaseModel):
    """The table `[database]` of a settings file.

    Attributes:
        url: The SQLAlchemy URL of the database that workers write; None for the default one.
        readers: The URLs of its replicas in PostgreSQL. The service reads there.
        max_delay: The seconds that a replica may be behind before the service reads elsewhere.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: str | None = None
    readers: list[str] = []
    max_delay: Annotated[float, Field(gt=0)] = 60.0


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
    return databases


def require_replicas(url: str | None, readers: list[str] | tuple[str, ...]) -> None:
    """Refuse replicas of a database that has none.

    Args:
        url: The URL of the database; None for the default one.
        readers: The URLs of its replicas.

    Raises:
        InvalidArgumentError: A URL is malformed or is not of PostgreSQL.
    """
    for place, reader in enumerate(readers):
        for name, named in (("database.url", url), (f"database.readers[{place}]", reader)):
            if parsed_url(named).get_backend_name() != "postgresql":
                raise InvalidArgumentError(f"{name} is not of PostgreSQL, and only PostgreSQL has replicas")
