"""The steps of `bilateral index analyse`, and access to the results that `bilateral trust explain` displays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.cli.columns import columns
from bilateral.cli.errors import UsageProblemError, option_with_variable
from bilateral.core.identifiers.caip import checksummed
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log.database import snapshot
from bilateral.index.reading.registries import read_registries
from bilateral.index.standing.analysis import analyse as analyse_registry
from bilateral.index.standing.funding import FundingCollector
from bilateral.index.standing.inputs import read_tables
from bilateral.index.standing.queries import identity_registries
from bilateral.index.standing.results import stored_results
from bilateral.trust.features.reviews import absent_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from bilateral.cli.invocation import Invocation
    from bilateral.cli.options import ReviewOptions
    from bilateral.index.standing.tables import AnalysisKey
    from bilateral.trust.results import Results
    from bilateral.trust.tables.schema import Tables


def analyse(
    invocation: Invocation,
    engines: Sequence[Engine],
    chain_id: int | None,
    rpc_urls: Sequence[str],
    judged: ReviewOptions,
) -> None:
    """Trace accounts' sources of funds if nodes are configured, analyse each identity registry, and show figures."""
    cases, accounts = judged.cases(), [checksummed(address) for address in judged.trusted or ()]
    keys = _keys(engines, chain_id)
    if rpc_urls and len({key.chain_id for _, key in keys}) > 1:
        option = option_with_variable("--rpc-url", "BILATERAL_RPC_URL")
        raise UsageProblemError(f"{option} applies to one chain, but the index has several: add --chain-id")
    summaries = []
    for engine, key in keys:
        if rpc_urls:
            sources = [Source(Endpoint(url), ()) for text in rpc_urls for url in text.split(",")]
            pool = Pool(key.chain_id, sources, lambda host, problem: invocation.output.note(f"{host}: {problem}"))
            FundingCollector(
                engine, key, pool, lambda done, of: invocation.output.note(f"sources of funds: {done} of {of} accounts")
            ).collect()
        summaries.append(analyse_registry(engine, key, cases, accounts))
    unknown = frozenset.intersection(*(frozenset(summary.unknown_cases) for summary in summaries))
    if unknown:
        invocation.output.note(absent_message(unknown))
    names = ("chain_id", "identity_registry", "block", "agents", "opinions", "left_out", "accounts_without_funding")
    invocation.output.results(summaries, columns(*names, "findings", "flagged", "trusted_accounts"))


def results_of_index(engine: Engine, chain_id: int | None) -> Results:
    """Return the stored results of a chain's analysed registry, or of the index's only analysed registry."""
    keys = _keys([engine], chain_id)
    if len(keys) > 1:
        raise UsageProblemError(f"the index contains agents from {len(keys)} registries: pass --chain-id")
    with engine.connect().execution_options(bilateral_reader=True) as connection:
        return stored_results(connection, keys[0][1])


def tables_of_index(engine: Engine) -> dict[int, Tables]:
    """Return the tables of each chain's default registry, to which ids without a registry refer."""
    with snapshot(engine) as connection:
        registries = read_registries(connection)
        tables = {
            chain_id: read_tables(connection, chain_id, registries.identity_of(chain_id)).tables
            for chain_id in registries.chains
        }
    if not tables:
        raise UsageProblemError("the index has no chains yet: start `bilateral index run`")
    return tables


def _keys(engines: Sequence[Engine], chain_id: int | None) -> list[tuple[Engine, AnalysisKey]]:
    keys = []
    for engine in engines:
        with engine.connect().execution_options(bilateral_reader=True) as connection:
            keys += [(engine, key) for key in identity_registries(connection) if chain_id in (None, key.chain_id)]
    if not keys:
        raise UsageProblemError("the index does not contain this chain: list its chains with `bilateral index status`")
    return keys
