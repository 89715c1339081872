"""Sealed pairs: ratings of a client and a server that were fixed before either was shown, and their openings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Row, Text, column, or_, select, table

from bilateral.core.events import RatingsOpened, RatingsSealed
from bilateral.index.log import tables as schema
from bilateral.index.reading.pages import Page, newest_page
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import Wide


class SealState(StrEnum):
    """The states of a sealed pair."""

    SEALED = "sealed"
    """Neither rating was opened."""

    WITHHELD = "withheld"
    """One rating was opened, and the other one was not. The latter counts nowhere."""

    OPENED = "opened"
    """Both ratings were opened."""


_SEALED: Final = schema.EVENT_TABLES[RatingsSealed].c
_OPENED: Final = schema.EVENT_TABLES[RatingsOpened].c

_VIEW: Final = table(
    "sealed_pair",
    *(column(field.name, field.type) for field in _SEALED if field.name != "block_hash"),
    column("client_address", Text),
    column("feedback_index", _OPENED.feedback_index.type),
    column("feedback_opened_at", BigInteger),
    column("rating_opened_at", BigInteger),
    column("state", Text),
)


@dataclass(frozen=True, slots=True)
class SealedPair:
    """A client and a server that sealed their ratings of each other.

    Attributes:
        client: The client's short id.
        client_id: The id of its token.
        server: The server's short id.
        server_id: The id of its token.
        state: `sealed`, `withheld` or `opened`.
        missing: The sides that have not opened their ratings: `client`, `server`.
        feedback: The textual id of the client's feedback; None while it is sealed.
        feedback_opened_at: The time of its opening, Unix seconds.
        rating_opened_at: The time at which the server's rating was opened, Unix seconds; None while it is sealed.
        block: The block of the seal.
        log_index: Its place in the block.
        time: The time of the seal, Unix seconds.
        transaction: The transaction of the seal.
    """

    client: str
    client_id: Wide
    server: str
    server_id: Wide
    registry: str
    interaction: str
    state: str
    missing: tuple[str, ...]
    feedback: str | None
    feedback_opened_at: int | None
    rating_opened_at: int | None
    block: int
    log_index: int
    time: int
    transaction: str


def sealed_pairs_of(
    connection: Connection, key: AgentKey, state: SealState | None = None, *, limit: int = 20, cursor: str | None = None
) -> Page[SealedPair]:
    """Return the pairs that an agent sealed, as client or as server, the newest first.

    An exchange seals and opens its ratings at once, and makes no sealed pair.
    """
    pair = _VIEW.c
    statement = select(
        *(pair.chain_id, pair.client_id, pair.server_id, pair.registry, pair.interaction, pair.state),
        *(pair.client_address, pair.feedback_index, pair.feedback_opened_at, pair.rating_opened_at),
        *(pair.block_number, pair.log_index, pair.block_time, pair.transaction_hash),
    ).where(
        pair.chain_id == key.chain_id,
        pair.registry.in_(key.registries),
        or_(pair.client_id == key.agent_id, pair.server_id == key.agent_id),
    )
    if state is not None:
        statement = statement.where(pair.state == state.value)
    kind = f"sealed pairs of {key.global_id} {state}"
    place = (pair.block_number, pair.log_index)
    return newest_page(connection, statement, place, _pair, kind=kind, limit=limit, cursor=cursor)


def _pair(row: Row[*tuple[Any, ...]]) -> SealedPair:
    chain_id, client_id, server_id, registry, interaction, state, account, index, *rest = row
    feedback_at, rating_at, block, log_index, time, transaction = rest
    server = f"{chain_id}:{server_id}"
    missing = tuple(side for side, opened_at in (("client", feedback_at), ("server", rating_at)) if opened_at is None)
    values: tuple[Any, ...] = (
        *(f"{chain_id}:{client_id}", client_id, server, server_id, registry, f"0x{interaction.hex()}"),
        *(state, missing, None if feedback_at is None else f"{server}:{account}:{index - 1}"),
        *(feedback_at, rating_at, block, log_index, time, f"0x{transaction.hex()}"),
    )
    return SealedPair(*values)
