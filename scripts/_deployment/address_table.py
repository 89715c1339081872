"""The README's table of addresses, generated from the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts._deployment.live_chain import LOCAL_CHAIN_IDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scripts._deployment.records import ChainRecord, ContractRecord

BEGIN = "<!-- addresses: written by `make addresses` from deployments/ -->\n"
END = "<!-- end of addresses -->\n"


def with_addresses(page: str, records: Iterable[ChainRecord]) -> str:
    """Renew the table in a page.

    Args:
        page: The page, with both markers.
        records: The records.

    Returns:
        The page with the table that the records give.
    """
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + "".join(_lines(records)) + END + after


def _lines(records: Iterable[ChainRecord]) -> Iterator[str]:
    rows = [
        f"| {record.network} | {record.chain_id} | {name} | {_link(contract)} |\n"
        for record in sorted(records, key=lambda record: record.network)
        if record.chain_id not in LOCAL_CHAIN_IDS
        for name, contract in sorted(record.contracts.items())
    ]
    if rows:
        yield "\n| network | chain id | contract | address |\n| --- | --- | --- | --- |\n"
        yield from rows
        yield "\n"


def _link(contract: ContractRecord) -> str:
    address = f"`{contract.address}`"
    return f"[{address}]({contract.explorer}), verified" if contract.verified else address
