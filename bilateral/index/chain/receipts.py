"""The logs of one block from its receipts: a node stores these apart from the tables that it searches for logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bilateral.errors.client import NODE_FAILURES
from bilateral.index.chain.bloom import bloom_of
from bilateral.index.chain.logs import BlockLogs, LogEntry, address_of, bytes_of, grouped
from bilateral.index.errors import EndpointLiesError

if TYPE_CHECKING:
    from collections.abc import Collection

    from bilateral.index.chain.source import Header, Source


class ReceiptEntry(msgspec.Struct, gc=False):
    """A receipt in the form of JSON-RPC, as far as it is about logs."""

    logs: list[LogEntry]


def logs_by_receipts(source: Source, header: Header, wanted: Collection[str]) -> BlockLogs | None:
    """Read the wanted logs of a block from its receipts.

    Args:
        source: The endpoint.
        header: The block's header. Its filter tells that the receipts are complete.
        wanted: The contracts whose logs are wanted, in checksum form.

    Returns:
        The logs; None if the endpoint does not give receipts, or not all of them.
    """
    block = header.block
    try:
        receipts: list[ReceiptEntry] | None = source.endpoint.request(
            "eth_getBlockReceipts",
            (hex(block.number),),
            list[ReceiptEntry] | None,  # type: ignore[arg-type]
        )
        entries = [entry for receipt in receipts or () for entry in receipt.logs]
        items = [bytes_of(text) for entry in entries for text in (entry.address, *entry.topics)]
        if receipts is None or bloom_of(items) != header.bloom:
            return None
        of_registries = [entry for entry in entries if address_of(entry.address) in wanted]
        blocks = grouped(source.name, of_registries, wanted, block.number, block.number)
    except (*NODE_FAILURES, EndpointLiesError, ValueError):
        return None
    logs = blocks[0] if blocks else BlockLogs(block.number, block.hash, block.time)
    logs.time = block.time
    return logs if logs.hash == block.hash else None
