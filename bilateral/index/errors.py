"""Errors that the index raises."""

from collections.abc import Iterable
from dataclasses import InitVar

from bilateral.core.errors import BilateralError, FormattedError, InvalidArgumentError
from bilateral.core.text import quoted


class CursorMovedError(FormattedError):
    """Another worker moved the cursor (last indexed block) first. No data was lost; read the cursor again.

    Attributes:
        block: The block at which the cursor was expected.
    """

    reason = "cursor_moved"
    template = "another worker moved the cursor for chain {chain_id} away from block {block}"
    chain_id: int
    block: int


class AnalysisOutdatedError(FormattedError):
    """Reorganisations repeatedly replaced the analysed blocks while the analysis ran. Run the analysis again."""

    reason = "analysis_outdated"
    template = "chain {chain_id} was reorganised during every analysis attempt: run it again. Nothing was stored."
    chain_id: int


class EndpointRefusesError(FormattedError):
    """An endpoint rejects every request for logs, and changing the request does not help.

    Attributes:
        endpoint: The endpoint's host.
        first_block: The first block that was requested.
        last_block: The last block that was requested.
        wait_seconds: The wait in seconds that the endpoint's response demands; None if it states none.
        is_final: True if waiting and retrying will not help.
    """

    reason = "endpoint_refuses"
    template = "{endpoint} refused to return the logs of blocks {first_block} to {last_block}: {text}. {advice}."
    endpoint: str
    first_block: int
    last_block: int
    text: InitVar[str]
    advice: InitVar[str]
    wait_seconds: float | None = None
    is_final: bool = True


class EndpointLiesError(FormattedError):
    """An endpoint's response contradicts the request, an earlier response, or another endpoint.

    Attributes:
        endpoint: The endpoint's host.
        may_pass: True if the cause may be temporary: a reorganisation, or a node that lags behind others on its host.
    """

    reason = "endpoint_lies"
    template = "{endpoint} cannot be trusted: {contradiction}"
    endpoint: str
    contradiction: InitVar[str]
    may_pass: bool = False


class EndpointLagsError(FormattedError):
    """An endpoint lacks blocks that another endpoint of the chain has had for some time.

    Attributes:
        endpoint: The endpoint's host.
        head: The endpoint's last block.
    """

    reason = "endpoint_lags"
    template = "{endpoint} lags: its last block is {head}, but {other} has block {other_head}"
    endpoint: str
    head: int
    other: InitVar[str]
    other_head: InitVar[int]


class FinalizedBlockError(BilateralError):
    """An endpoint lacks finalized blocks that are indexed, and no other endpoint confirms this. Nothing was removed.

    Attributes:
        endpoint: The endpoint's host.
        block: The last indexed block that the endpoint has.
        finalized: The last finalized block.
    """

    reason = "finalized_block_missing"

    def __init__(self, endpoint: str, block: int, finalized: int) -> None:
        super().__init__(
            f"{endpoint} lacks blocks {block + 1} to {finalized}, which are indexed and finalized. They will not be "
            "removed unless a second endpoint lacks them as well: add another --rpc-url. If you know that the chain "
            "was reorganised this deeply, run with --trust-reorganisation"
        )
        self.endpoint = endpoint
        self.block = block
        self.finalized = finalized


class MissingLogsError(FormattedError):
    """A block's Bloom filter indicates registry logs that no endpoint returns. Nothing from the block was stored.

    Attributes:
        endpoint: The endpoint's host.
        block: The number of the block.
    """

    reason = "missing_logs"
    template = (
        "{endpoint} returned no log for block {block}, whose header announces registry logs, and no complete "
        "receipts: add another --rpc-url. The index stops before this block"
    )
    endpoint: str
    block: int


class ChainChangedError(FormattedError):
    """The chain changed while blocks were read, for example in a reorganisation. Nothing was stored; retry the read.

    Attributes:
        endpoint: The endpoint's host.
    """

    reason = "chain_changed"
    template = "{endpoint} serves a different chain than before: {change}"
    endpoint: str
    change: InitVar[str]


class NoEndpointError(BilateralError):
    """No endpoint of a chain is currently usable.

    Attributes:
        chain_id: The chain's id; None if no endpoint reported one.
        is_final: True if waiting does not help, because every endpoint rejects requests permanently.
    """

    reason = "no_endpoint"

    def __init__(self, chain_id: int | None, problems: str, *, is_final: bool = False) -> None:
        of = "" if chain_id is None else f" of chain {chain_id}"
        super().__init__(
            f"no endpoint{of} is usable: {problems.removesuffix('.')}. Check --rpc-url, or add another one."
        )
        self.chain_id = chain_id
        self.is_final = is_final


class OtherRegistriesError(BilateralError):
    """The database indexes the chain with different registries than those requested."""

    reason = "other_registries"

    def __init__(self, chain_id: int, added: list[str], left_out: list[str]) -> None:
        changes = [f"it lacks {', '.join(added)}"] if added else []
        changes += [f"it also has {', '.join(left_out)}"] if left_out else []
        way = "" if left_out else "run with --add-registries to read them as well, "
        super().__init__(
            f"the database has other registries for chain {chain_id}: {' and '.join(changes)}. Their earlier or later "
            f"events would be missing: {way}use the same --deployment as before, or a different --database"
        )


class EarlierRegistryError(FormattedError):
    """A registry to be added may have events before the chain's first indexed block."""

    reason = "earlier_registry"
    template = (
        "a registry to add was deployed in block {first} or in an unknown block, but the database has chain "
        "{chain_id} only from block {stored}: pass --from-block {stored} to omit earlier events, or a different "
        "--database"
    )
    chain_id: InitVar[int]
    first: InitVar[int]
    stored: InitVar[int]


class OtherFirstBlockError(BilateralError):
    """The chain's first block in the database differs from the first block in the settings."""

    reason = "other_first_block"

    def __init__(self, chain_id: int, stored: int, requested: int) -> None:
        first, last = min(stored, requested), max(stored, requested) - 1
        change = "would be missing" if requested < stored else "would remain"
        super().__init__(
            f"the database stores chain {chain_id} from block {stored}, but the first block was set to {requested}: "
            f"blocks {first} to {last} {change}. Omit --from-block (from_block in a file) to continue with this "
            "database, or choose a different --database"
        )


class FirstBlockAheadError(FormattedError):
    """A chain has not yet reached the first block to index.

    Attributes:
        first_block: The first block to index.
        head: The number of the chain's last block.
    """

    reason = "first_block_ahead"
    template = (
        "the last block of chain {chain_id} is {head}, but the first block to index is {first_block}: pass an "
        "earlier --from-block, or run without --until-head to wait for it"
    )
    chain_id: int
    first_block: int
    head: int


class NewerSchemaError(FormattedError):
    """The tables were created by a newer version of this package.

    Attributes:
        stored: The version of the tables.
        supported: The newest version that this package supports.
    """

    reason = "newer_schema"
    template = "the tables have version {stored}, but this package only supports versions up to {supported}: upgrade it"
    stored: str
    supported: str


class OlderSchemaError(FormattedError):
    """The tables were created by an older version of this package.

    Attributes:
        stored: The version of the tables.
        supported: The version of the tables that this package needs.
    """

    reason = "older_schema"
    template = "the tables have version {stored}, but this package needs {supported}: {remedy}"
    stored: str
    supported: str
    remedy: InitVar[str] = "run `bilateral index schema`"


class DatabaseUnavailableError(BilateralError):
    """The database cannot be opened or written: it is locked, its disk is full, or its server is not responding."""

    reason = "database_unavailable"


class ChainServerFailedError(DatabaseUnavailableError):
    """A shard (a server for some of the chains) failed while its coordinator was queried. The next query skips it."""


class MissingChainError(FormattedError, DatabaseUnavailableError):
    """A chain's shard is not responding, so results for the chain would be incomplete. Other chains can be queried."""

    template = "the database of chain {chain_id} is not responding: try again later, or query other chains"
    chain_id: int


class NotIndexedError(BilateralError):
    """The index does not contain the requested object.

    Attributes:
        kind: The kind of object that was not found, such as `chain`.
    """

    reason = "not_indexed"

    def __init__(self, kind: str, name: object) -> None:
        ends = kind in ("finding", "cluster")
        why = ": analyses replace entries whose accounts or evidence changed, so look in the current list"
        super().__init__(f"the index has no {kind} {name}{why if ends else ''}")
        self.kind = kind
        self.name = name


class ShardError(BilateralError):
    """A server in a sharded index does not match the index's settings. Nothing was changed.

    Attributes:
        shard: The name of the shard, or `coordinator`.
    """

    reason = "wrong_shard"

    def __init__(self, shard: str, problem: str) -> None:
        super().__init__(f"shard {shard}: {problem}" if shard else f"the coordinator: {problem}")
        self.shard = shard or "coordinator"


class MisplacedChainError(FormattedError):
    """A worker tried to write a chain to a database that is not assigned this chain. Nothing was changed."""

    reason = "misplaced_chain"
    template = "chain {chain_id} {problem}"
    chain_id: int
    problem: InitVar[str]


class ChainNotIndexedError(NotIndexedError):
    """The index does not include the chain, or includes no identity registry on it.

    Attributes:
        kind: `chain`.
        name: The id of the chain, or the name that the caller passed.
    """

    reason = "chain_not_indexed"

    def __init__(self, chain: int | str, indexed: Iterable[int]) -> None:
        listed = ", ".join(map(str, indexed)) or "none"
        super().__init__("chain", chain)
        label = quoted(chain) if isinstance(chain, str) else chain
        self.args = (f"chain {label} is not indexed: choose one of the indexed chains ({listed})",)


class LargeAnswerError(FormattedError, InvalidArgumentError):
    """A query's result is too large."""

    reason = "answer_too_large"
    template = "the response exceeds {most} bytes: request fewer entries or text fields"
    most: InitVar[int]


class QueryTimeoutError(FormattedError):
    """A query took too long and was cancelled. The database is unaffected.

    Attributes:
        seconds: The time limit in seconds.
    """

    reason = "query_timeout"
    template = "the query took longer than {seconds:g} seconds: request less, or add filters"
    seconds: float


class StarvedError(QueryTimeoutError):
    """A query got too little processor time, because the machine is busy. Try again."""

    reason = "busy"
    template = "the server is busy: the query did not finish within {seconds:g} seconds; try again in a second"


class ReadersBusyError(FormattedError):
    """Every connection to the database is in use. Try again."""

    reason = "busy"
    template = "all connections to the database are in use: try again in a second"
