"""A chain's registries and first block, as recorded in a database."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Engine, delete, select

from bilateral.core.contracts import Deployment, Registry, attribute_of
from bilateral.index.errors import OtherFirstBlockError, OtherRegistriesError
from bilateral.index.log import tables as schema
from bilateral.index.log.places import require_place
from bilateral.index.log.rows import rows_of


def registries_of(deployments: Iterable[Deployment]) -> dict[str, Registry]:
    """Return the registries in the given deployments, keyed by checksummed address."""
    return {
        address: registry
        for deployment in deployments
        for registry in Registry  # if one contract is two registries, the one with ratings has all events of the other
        if (address := getattr(deployment, attribute_of(registry))) is not None
    }


def stored_first_block(engine: Engine, chain_id: int, requested: int | None) -> int | None:
    """Return a chain's first block in the database; None before the chain's first run."""
    with engine.connect() as connection:
        require_place(connection, chain_id)
        query = select(schema.chain.c.first_block).where(schema.chain.c.chain_id == chain_id)
        stored = connection.execute(query).scalar_one_or_none()
    if stored is not None and requested is not None and stored != requested:
        raise OtherFirstBlockError(chain_id, stored, requested)
    return stored


def added_registries(engine: Engine, chain_id: int, requested: Iterable[str], *, may_add: bool) -> set[str]:
    """Return the addresses of the requested registries that the database lacks for an indexed chain."""
    table = schema.registry
    with engine.connect() as connection:
        stored = set(connection.execute(select(table.c.address).where(table.c.chain_id == chain_id)).scalars())
    added, left_out = set(requested) - stored, stored - set(requested)
    if left_out or (added and not may_add):
        raise OtherRegistriesError(chain_id, sorted(added), sorted(left_out))
    return added


def record_registries(engine: Engine, chain_id: int, deployments: Sequence[Deployment], first_block: int) -> None:
    """Record which registries are indexed, and which identity registry each belongs to."""
    new: Mapping[str, tuple[object, ...]] = {
        address: (
            deployment.chain_id,
            address,
            registry.value,
            deployment.identity,
            deployment.first_block or first_block,
        )
        for deployment in deployments
        for address, registry in registries_of([deployment]).items()
    }
    table = schema.registry
    with engine.begin() as connection:
        connection.execute(delete(table).where(table.c.chain_id == chain_id))
        rows_of(connection).replace(table, list(new.values()))
