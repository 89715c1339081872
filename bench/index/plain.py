"""The plain loop that the index is compared with: web3.py decodes, SQLAlchemy's ORM stores. It has no state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, BigInteger, Integer, LargeBinary, String, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from web3 import HTTPProvider, Web3

from bilateral.core.contracts import abi
from simulation.events import ADDRESSES

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Base(DeclarativeBase):
    """The tables of the loop."""


class _EventRow(_Base):
    """A row of an event."""

    __tablename__ = "plain_event"

    block_number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    log_index: Mapped[int] = mapped_column(Integer, primary_key=True)
    block_hash: Mapped[bytes] = mapped_column(LargeBinary)
    transaction_hash: Mapped[bytes] = mapped_column(LargeBinary)
    address: Mapped[str] = mapped_column(String(42))
    event: Mapped[str] = mapped_column(String(40))
    arguments: Mapped[Any] = mapped_column(JSON)


def index_plainly(database: str, url: str, first_block: int) -> int:
    """Index a chain's events by the plain loop, from a block to the head.

    Args:
        database: The SQLAlchemy URL of an empty database.
        url: The URL of the chain's JSON-RPC.
        first_block: The first block.

    Returns:
        The number of stored events. It leaves out those that web3.py cannot decode.
    """
    engine = create_engine(database)
    _Base.metadata.create_all(engine)
    web3 = Web3(HTTPProvider(url))
    decoders = {}
    for registry, address in ADDRESSES.items():
        contract = web3.eth.contract(address=Web3.to_checksum_address(address), abi=abi(registry))
        events: Any = contract.events  # web3.py's annotation lacks its iterator
        for event in events:
            decoders[address, bytes(event.build_filter().topics[0], "ascii")] = event
    stored, last_block = 0, web3.eth.block_number
    for first in range(first_block, last_block + 1, 50):
        query: Any = {"address": list(ADDRESSES.values()), "fromBlock": first, "toBlock": min(first + 49, last_block)}
        with Session(engine) as session:
            for log in web3.eth.get_logs(query):
                row = _row(decoders, log)
                if row is not None:
                    session.add(row)
                    stored += 1
            session.commit()
    engine.dispose()
    return stored


def _row(decoders: Mapping[Any, Any], log: Any) -> _EventRow | None:
    """Decode a log to a row; None for one that web3.py cannot decode."""
    topic = log["topics"][0].to_0x_hex().encode() if log["topics"] else b""
    event = decoders.get((log["address"], topic))
    if event is None:
        return None
    try:
        decoded = event().process_log(log)
    except Exception:  # noqa: BLE001  # text that is not UTF-8, and data that are not the event's
        return None
    arguments = {
        name: value.hex() if isinstance(value, bytes) else str(value).replace("\0", "")
        for name, value in decoded["args"].items()
    }
    return _EventRow(
        block_number=decoded["blockNumber"],
        log_index=decoded["logIndex"],
        block_hash=bytes(decoded["blockHash"]),
        transaction_hash=bytes(decoded["transactionHash"]),
        address=decoded["address"],
        event=decoded["event"],
        arguments=arguments,
    )
