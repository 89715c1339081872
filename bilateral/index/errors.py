"""Errors of the index."""

from __future__ import annotations

from bilateral.core.errors import BilateralError


class CursorMovedError(BilateralError):
    """Another worker indexes the same chain and was faster. Nothing was lost; read the cursor again.

    Attributes:
        block: The block at which the cursor was expected.
    """

    reason = "cursor_moved"

    def __init__(self, chain_id: int, block: int) -> None:
        super().__init__(f"another worker moved the cursor of chain {chain_id} away from block {block}")
        self.chain_id = chain_id
        self.block = block


class AnalysisOutdatedError(BilateralError):
    """Reorganisations replaced the analysed blocks while the analysis ran, several times. Run it again."""

    reason = "analysis_outdated"

    def __init__(self, chain_id: int) -> None:
        super().__init__(f"chain {chain_id} was reorganised during each analysis: run it again. Nothing was stored.")
        self.chain_id = chain_id


class EndpointRefusesError(BilateralError):
    """An endpoint refuses to give logs, and asking differently does not help.

    Attributes:
        endpoint: The endpoint's host.
        first_block: The first block that was asked for.
        last_block: The last block that was asked for.
        wait_seconds: The seconds that the endpoint asks to wait; None if it does not say.
        is_final: True if waiting does not help either.
    """

    reason = "endpoint_refuses"

    def __init__(  # noqa: PLR0913  # the words of the endpoint beside the question
        self,
        endpoint: str,
        first_block: int,
        last_block: int,
        text: str,
        advice: str,
        *,
        wait_seconds: float | None = None,
        is_final: bool = True,
    ) -> None:
        super().__init__(f"{endpoint} refuses the logs of blocks {first_block} to {last_block}: {text}. {advice}.")
        self.endpoint = endpoint
        self.first_block = first_block
        self.last_block = last_block
        self.wait_seconds = wait_seconds
        self.is_final = is_final


class EndpointLiesError(BilateralError):
    """An endpoint contradicts itself, another endpoint, or the question.

    Attributes:
        endpoint: The endpoint's host.
        may_pass: True if a reorganisation, or a node that lags behind others of its host, may be the cause.
    """

    reason = "endpoint_lies"

    def __init__(self, endpoint: str, contradiction: str, *, may_pass: bool = False) -> None:
        super().__init__(f"{endpoint} cannot be trusted: {contradiction}")
        self.endpoint = endpoint
        self.may_pass = may_pass


class EndpointLagsError(BilateralError):
    """An endpoint lacks blocks that another one of its chain has had for some time.

    Attributes:
        endpoint: The endpoint's host.
        head: Its last block.
    """

    reason = "endpoint_lags"

    def __init__(self, endpoint: str, head: int, other: str, other_head: int) -> None:
        super().__init__(f"{endpoint} lags: its last block is {head}, and {other} has block {other_head}")
        self.endpoint = endpoint
        self.head = head


class FinalizedBlockError(BilateralError):
    """An endpoint lacks indexed blocks that were finalized, and no second one does. Nothing was removed.

    Attributes:
        endpoint: The endpoint's host.
        block: The last of the indexed blocks that it has.
        finalized: The last finalized block.
    """

    reason = "finalized_block_missing"

    def __init__(self, endpoint: str, block: int, finalized: int) -> None:
        super().__init__(
            f"{endpoint} lacks blocks {block + 1} to {finalized}, which are indexed and finalized. They stay until a "
            "second endpoint lacks them too: add another --rpc-url. If you know that the chain was reorganised so "
            "deeply, run with --trust-reorganisation"
        )
        self.endpoint = endpoint
        self.block = block
        self.finalized = finalized


class MissingLogsError(BilateralError):
    """A block's filter announces logs of a registry that nobody gives. Nothing was stored of it.

    Attributes:
        endpoint: The endpoint's host.
        block: The number of the block.
    """

    reason = "missing_logs"

    def __init__(self, endpoint: str, block: int) -> None:
        super().__init__(
            f"{endpoint} gives no log of block {block}, whose header announces logs of a registry, and no complete "
            "receipts: add another --rpc-url. The index stays before this block"
        )
        self.endpoint = endpoint
        self.block = block


class ChainChangedError(BilateralError):
    """The chain changed while blocks were read, as a reorganisation changes it. Nothing was stored; read again.

    Attributes:
        endpoint: The endpoint's host.
    """

    reason = "chain_changed"

    def __init__(self, endpoint: str, change: str) -> None:
        super().__init__(f"{endpoint} shows another chain than a moment ago: {change}")
        self.endpoint = endpoint


class NoEndpointError(BilateralError):
    """No endpoint of a chain is usable now.

    Attributes:
        chain_id: The chain; None if no endpoint said which it is of.
        is_final: True if waiting does not help: each endpoint refuses for good.
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
    """The database has a chain with other registries than those that are to be indexed now.

    Attributes:
        added: The addresses that the database lacks.
        left_out: The addresses that only the database has.
    """

    reason = "other_registries"

    def __init__(self, chain_id: int, added: list[str], left_out: list[str]) -> None:
        changes = [f"it lacks {', '.join(added)}"] if added else []
        changes += [f"it has {', '.join(left_out)} too"] if left_out else []
        way = "" if left_out else "run with --add-registries to read them too, "
        super().__init__(
            f"the database has chain {chain_id} with other registries: {' and '.join(changes)}. Their earlier or later "
            f"events would be missing: {way}name the same --deployment as before, or another --database"
        )
        self.chain_id = chain_id
        self.added = added
        self.left_out = left_out


class EarlierRegistryError(BilateralError):
    """A registry to add may have events before the first block that the database has. Its arguments: both blocks."""

    reason = "earlier_registry"

    def __init__(self, chain_id: int, first: int, begun: int) -> None:
        super().__init__(
            f"a registry to add appeared in block {first}, or its block is unknown, and the database has chain "
            f"{chain_id} from block {begun} on: name --from-block {begun} to leave earlier events out, or another "
            "--database"
        )


class OtherFirstBlockError(BilateralError):
    """The database has a chain from another first block on than the settings name.

    Attributes:
        begun: The first block that the database has.
        wanted: The first block of the settings.
    """

    reason = "other_first_block"

    def __init__(self, chain_id: int, begun: int, wanted: int) -> None:
        first, last = min(begun, wanted), max(begun, wanted) - 1
        change = "would be missing" if wanted < begun else "would stay"
        super().__init__(
            f"the database has chain {chain_id} from block {begun} on, and the first block is to be {wanted}: blocks "
            f"{first} to {last} {change}. Leave --from-block (from_block in a file) out to go on with this database, "
            "or name another --database"
        )
        self.chain_id = chain_id
        self.begun = begun
        self.wanted = wanted


class FirstBlockAheadError(BilateralError):
    """A chain does not reach the first block to index yet.

    Attributes:
        first_block: The first block to index.
        head: The number of the chain's last block.
    """

    reason = "first_block_ahead"

    def __init__(self, chain_id: int, first_block: int, head: int) -> None:
        super().__init__(
            f"the last block of chain {chain_id} is {head}, and the first block to index is {first_block}: name an "
            "earlier --from-block, or run without --until-head to wait for it"
        )
        self.chain_id = chain_id
        self.first_block = first_block
        self.head = head


class NewerSchemaError(BilateralError):
    """A newer version of this package made the tables.

    Attributes:
        found: The version of the tables.
        known: The newest version that this package knows.
    """

    reason = "newer_schema"

    def __init__(self, stored: str, known: str) -> None:
        super().__init__(f"the tables have version {stored}, and this package knows {known}: upgrade the package")
        self.found = stored
        self.known = known


class OlderSchemaError(BilateralError):
    """An older version of this package made the tables.

    Attributes:
        found: The version of the tables.
        known: The version that this package needs.
    """

    reason = "older_schema"

    def __init__(self, stored: str, known: str, remedy: str = "run bilateral index schema") -> None:
        super().__init__(f"the tables have version {stored}, and this package needs {known}: {remedy}")
        self.found = stored
        self.known = known


class DatabaseUnavailableError(BilateralError):
    """The database cannot be opened or written: it is locked, its disk is full, or its server does not answer."""

    reason = "database_unavailable"


class ShardFailedError(DatabaseUnavailableError):
    """A shard failed during a visit of its coordinator. The next visit does without it."""


class MissingChainError(DatabaseUnavailableError):
    """The shard of a chain does not answer, so an answer about the chain would lack rows. Others get theirs."""

    def __init__(self, chain_id: int) -> None:
        super().__init__(
            f"the database of chain {chain_id} does not answer: try again later, or ask about other chains"
        )
        self.chain_id = chain_id


class NotIndexedError(BilateralError):
    """The index does not have what a query is about.

    Attributes:
        kind: The kind of thing, such as `chain`.
    """

    reason = "not_indexed"

    def __init__(self, kind: str, name: object) -> None:
        ends = kind in ("finding", "cluster")
        why = ": a new analysis replaces it once its accounts or evidence change, so look among those of today"
        super().__init__(f"the index has no {kind} {name}{why if ends else ''}")
        self.kind = kind
        self.name = name


class ShardError(BilateralError):
    """A server of a sharded index is not what the settings say. Nothing was changed.

    Attributes:
        shard: The name of the shard, or `coordinator`.
    """

    reason = "wrong_shard"

    def __init__(self, shard: str, problem: str) -> None:
        super().__init__(f"shard {shard}: {problem}" if shard else f"the coordinator: {problem}")
        self.shard = shard or "coordinator"


class MisplacedChainError(BilateralError):
    """A worker would write a chain into a database that does not hold it. Nothing was changed."""

    reason = "misplaced_chain"

    def __init__(self, chain_id: int, problem: str) -> None:
        super().__init__(f"chain {chain_id} {problem}")
        self.chain_id = chain_id
