"""Check a block's logs against its header, its receipts, and other endpoints. docs/index.md lists all checks."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from bilateral.core.contracts import Registry
from bilateral.core.errors import NODE_FAILURES
from bilateral.index import errors
from bilateral.index.chain.headers import Announcements, Header, is_sparse
from bilateral.index.chain.logs import BlockLogs, bytes_of, optional_quantity
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.receipts import EMPTY_ROOT, blocks_unlike_receipts, read_receipts
from bilateral.index.chain.source import Source

ENDPOINT_FAILURES: Final = (
    *NODE_FAILURES,
    errors.EndpointRefusesError,
    errors.EndpointLiesError,
    errors.FinalizedBlockError,
    errors.MissingLogsError,
)
"""The errors after which another endpoint is worth trying."""

_RECEIPTS_EVERY: Final = 600.0
"""Seconds to wait before requesting receipts again from an endpoint without them, as each try wastes two calls."""


class Checks:
    """Checks the responses from one chain's endpoints.

    Args:
        pool: The endpoints.
        registries: The registries, by checksummed address.
    """

    def __init__(self, pool: Pool, registries: Mapping[str, Registry]) -> None:
        self._pool = pool
        self._registries = registries
        self._announcements = Announcements(registries)
        self._without_receipts: dict[Source, float] = {}

    def disagreeing(self, source: Source, blocks: Sequence[BlockLogs]) -> Collection[int]:
        """Return the blocks whose logs differ from their transactions' receipts, if the endpoint returns receipts."""
        if self._without_receipts.get(source, 0.0) > time.monotonic():
            return ()
        numbers = blocks_unlike_receipts(source.endpoint, blocks, self._registries)
        if numbers is None:
            self._without_receipts[source] = time.monotonic() + _RECEIPTS_EVERY
        return numbers or ()

    def check_block(
        self,
        source: Source,
        header: Header,
        logs: BlockLogs | None,
        *,
        is_thorough: bool = False,
        is_proof_due: bool = False,
    ) -> BlockLogs | None:
        """Check a block's logs against its header. If they disagree, read the logs again, and return any correction."""
        number = header.block.number
        if logs is not None and logs.hash != header.block.hash:
            raise of_another_block(source, number)
        if self._announcements.are_missing(header.bloom, logs, is_thorough=is_thorough):
            if header.receipts_root == EMPTY_ROOT and logs is None:
                return None
            self.look_twice(source, [logs] if logs else [], number, number)
            is_proof_due |= is_sparse(header.bloom)
        if is_proof_due or (logs is not None and self.is_doubtful(header, logs, is_thorough=True)):
            return self._by_receipts(source, header, logs)
        return None

    def is_doubtful(self, header: Header, logs: BlockLogs, *, is_thorough: bool) -> bool:
        """Check whether a header's Bloom filter, receipts root or transaction list contradicts the logs."""
        has_no_receipts = header.receipts_root == EMPTY_ROOT
        if has_no_receipts or not any(header.bloom or b"1"):
            is_contradicted = has_no_receipts or header.is_sealed()
        else:
            is_contradicted = self._announcements.are_hidden(header.bloom, logs, is_thorough=is_thorough)
        return is_contradicted or _has_foreign_transaction(header, logs)

    def _by_receipts(self, source: Source, header: Header, logs: BlockLogs | None) -> BlockLogs | None:
        """Return the logs from a block's receipts if the endpoint returned different logs. See `check_block`."""
        for entry in logs.entries if logs else ():
            bytes_of(entry.data)  # malformed bytes raise an error and are not repaired
        number = header.block.number
        witnesses = dict.fromkeys((source, self._pool.second(source, number)))
        complete = [
            receipts for witness in witnesses if (receipts := read_receipts(witness.endpoint, header)) is not None
        ]
        receipts = next((proven for proven in complete if proven.is_proven), complete[0] if complete else None)
        if receipts is None:
            if self._announcements.are_proven(header.bloom, logs):
                raise errors.MissingLogsError(source.name, number)
            self._require_plausible(source, header, logs)
            return None
        whole = receipts.of(self._registries)
        true, stated = set(whole.contents()), set(logs.contents() if logs else ())
        if true == stated:
            return None
        source.distrust()
        if not receipts.is_proven and not stated < true:
            raise errors.EndpointLiesError(source.name, f"the receipts for block {number} contain different logs")
        return whole

    def _require_plausible(self, source: Source, header: Header, logs: BlockLogs | None) -> None:
        """Reject logs that contradict their header if there are no receipts to show which of the two is right."""
        # Only a filter that the header's hash proves counts. Otherwise, the node may have filled it with anything.
        if logs is None:
            return
        is_hidden = self._announcements.are_hidden(header.bloom, logs, is_thorough=True)
        if source.is_disputed:
            problem = f"another endpoint returned different logs for block {logs.number}, and no receipts prove either"
            raise errors.EndpointLiesError(source.name, problem)
        if _has_foreign_transaction(header, logs) or (is_hidden and header.is_sealed()):
            problem = f"the header of block {header.block.number} lacks a log's transaction, or does not announce a log"
            raise errors.EndpointLiesError(source.name, problem)

    def look_twice(self, source: Source, logs: Sequence[BlockLogs], first: int, last: int) -> bool:
        """Compare logs with a second read, if possible from another endpoint. Return True if others confirm them."""
        is_confirmed = True
        while first <= last:
            second = self._pool.second(source, last)
            try:
                again, end = second.logs(first, last)
                self._compare(source, second, [block for block in logs if first <= block.number <= end], again)
            except ENDPOINT_FAILURES as problem:
                if second is source or (
                    isinstance(problem, errors.EndpointLiesError) and problem.endpoint == source.name
                ):
                    raise
                self._pool.bench(second, problem)
            else:
                is_confirmed &= second is not source
                first = end + 1
        return is_confirmed

    def _compare(self, source: Source, second: Source, logs: Sequence[BlockLogs], again: Sequence[BlockLogs]) -> None:
        before, after = ({log for block in blocks for log in block.contents()} for blocks in (logs, again))
        if before == after:
            return
        for liar, lost in ((source, after - before), (second, before - after)):
            if lost and (before < after or after < before):
                liar.distrust()
                numbers = sorted(entry[0] for entry in lost)
                problem = f"it omitted {len(lost)} logs of blocks {numbers[0]} to {numbers[-1]}"
                raise errors.EndpointLiesError(liar.name, problem)
        hashes = {block.number: block.hash for block in logs}
        if any(block.hash != hashes.get(block.number, block.hash) for block in again):
            raise errors.ChainChangedError(source.name, f"{second.name} returned different logs")
        raise self._liar_of(source, second, min(log[0] for log in before ^ after), before)

    def _liar_of(self, source: Source, second: Source, number: int, before: set[Any]) -> errors.EndpointLiesError:
        """Distrust an endpoint whose receipts for a block contradict its logs, and return the error to raise."""
        # Without such receipts, both endpoints are distrusted, because a retry would succeed by chance.
        header = source.headers_of([number])[0]
        for witness in dict.fromkeys((source, second)):
            receipts = read_receipts(witness.endpoint, header)
            if receipts is not None and receipts.is_proven:
                is_right = set(receipts.of(self._registries).contents()) == {log for log in before if log[0] == number}
                liar = second if is_right else source
                liar.distrust()
                return errors.EndpointLiesError(
                    liar.name, f"the logs for block {number} do not match the block's receipts"
                )
        for disputed in (source, second):
            disputed.distrust()
            disputed.is_disputed = True
        return errors.EndpointLiesError(source.name, f"the logs for block {number} differ from those of {second.name}")


def of_another_block(source: Source, number: int) -> errors.EndpointLiesError:
    """Return the error for an endpoint that returns a block's header and logs with different block hashes."""
    return errors.EndpointLiesError(source.name, f"the logs for block {number} belong to a different block")


def take_time(source: Source, header: Header, logs: BlockLogs) -> None:
    """Set the logs' time from the block's header. Raise an error if only the logs' own time matches the hash."""
    hint, logs.time = logs.time, header.block.time
    if hint not in (None, logs.time) and not header.is_sealed() and header.is_sealed(hint):
        raise errors.EndpointLiesError(
            source.name, f"the header of block {logs.number} has a time that does not match its hash"
        )


def _has_foreign_transaction(header: Header, logs: BlockLogs) -> bool:
    listed = header.transactions
    places = {(entry.transactionHash.lower(), optional_quantity(entry.transactionIndex)) for entry in logs.entries}
    return bool(listed) and any(
        hash_ not in (listed if index is None else listed[index : index + 1]) for hash_, index in places
    )
