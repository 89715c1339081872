"""The steps of `bilateral index verify`, which compares rows with the nodes' logs, and owners with the registries.

The modules that this module uses require the `index` extra.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bilateral.cli.errors import unknown_chain
from bilateral.index.chain.checks import ENDPOINT_FAILURES
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.source import Source
from bilateral.index.errors import NoEndpointError
from bilateral.index.log.registries import registries_of
from bilateral.index.operating.status import chain_statuses
from bilateral.index.operating.verification import Verifier, compare_derived, compare_owners
from bilateral.index.operating.worker import deployments_of

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from bilateral.cli.invocation import Invocation
    from bilateral.index.operating.settings import ChainSettings


@dataclass(frozen=True)
class Choice:
    """The parts of a verification to run.

    Attributes:
        samples: The number of block ranges to compare; None for all.
        seed: The seed for random choices.
        owners: The number of agents whose owners are compared.
        derived: True to compare the derived tables.
    """

    samples: int | None
    seed: int
    owners: int
    derived: bool


def verify_index(invocation: Invocation, engine: Engine, settings: ChainSettings, choice: Choice) -> dict[str, Any]:
    """Compare a chain's rows with each of its nodes, and the derived tables with the events."""
    compared = []
    for endpoint in map(Endpoint, settings.rpc_urls):
        try:
            compared.append(_compare(invocation, engine, settings, endpoint, choice))
        except ENDPOINT_FAILURES as problem:
            raise NoEndpointError(None, f"{endpoint.name}: {problem}") from None
    derived = []
    for chain_id in sorted({part["chain_id"] for part in compared}) if choice.derived else ():
        derived += compare_derived(engine, chain_id, lambda block: invocation.output.note(f"block {block}, derived"))
    is_equal = not any(part["missing"] or part["stale"] or part["owners"] for part in compared)
    return {
        "is_equal": is_equal and all(table.is_equal for table in derived),
        "endpoints": compared,
        "derived": [asdict(table) for table in derived],
    }


def _compare(
    invocation: Invocation, engine: Engine, settings: ChainSettings, endpoint: Endpoint, choice: Choice
) -> dict[str, Any]:
    rows = 0
    missing: list[str] = []
    stale: list[str] = []
    chain_id = Source(endpoint, ()).chain_id()
    progress = next((status for status in chain_statuses(engine) if status.chain_id == chain_id), None)
    if progress is None:
        raise unknown_chain(chain_id)
    registries = registries_of(deployments_of(settings, chain_id))
    verifier = Verifier(engine, Source(endpoint, list(registries)), registries)
    for part in verifier.compare(progress.first_block, progress.block, samples=choice.samples, seed=choice.seed):
        invocation.output.note(f"{endpoint.name}, blocks {part.first} to {part.last}: {part.rows} rows")
        rows += part.rows
        missing += part.missing
        stale += part.stale
    owners = compare_owners(engine, endpoint, chain_id, samples=choice.owners, seed=choice.seed)
    return {
        "chain_id": chain_id,
        "endpoint": endpoint.name,
        "rows": rows,
        "missing": missing,
        "stale": stale,
        "owners_compared": owners.compared,
        "owners": owners.different,
    }
