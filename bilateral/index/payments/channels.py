"""Payments through prefunded channels. Claims are payments to the extent that they spend the payer's own money.

Anyone can open a channel in any payer's name, with their own money and voucher key, and claims on this channel look
like any others. Each deposit is therefore attributed to the account whose transfer funded it. Money that leaves a
channel is taken first from the payer's share, then from other funders' shares, and last from money of unknown origin.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, ScalarSelect, literal, select

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PaymentKind
from bilateral.core.payments.contracts import (
    BATCH,
    CANONICAL,
    CHANNEL_CREATED,
    CLAIMED,
    DEPOSITED,
    EIP3009_COLLECTOR,
    REFUNDED,
    WITHDRAWN,
)
from bilateral.core.payments.signed import WORD
from bilateral.index.chain.logs import bytes_of, hash_of
from bilateral.index.log.columns import HASH
from bilateral.index.log.dialects import in_parts
from bilateral.index.log.rows import rows_of
from bilateral.index.payments.tables import channel, channel_fund
from bilateral.index.payments.transfers import TokenTransfer, TransferSource

_TOPICS: Final = {"0x" + topic.hex(): topic for topic in (CHANNEL_CREATED, DEPOSITED, CLAIMED, REFUNDED, WITHDRAWN)}
_CREATED_WORDS: Final = 8
"""The minimum number of 32-byte words in the event for a new channel. Other events need at least three."""


_Step: TypeAlias = tuple[bytes, bytes, bytes]
"""A transaction, a channel, and the first topic of the events with which money left the channel."""


class ChannelEvent(NamedTuple):
    """An event that concerns a channel.

    Attributes:
        topic: The first topic of the event's log.
        amount: The amount that moved; 0 for a new channel.
        parties: The payer, receiver and token of a new channel; empty for other events.
    """

    block_number: int
    log_index: int
    block_hash: bytes
    block_time: int
    transaction_hash: bytes
    topic: bytes
    channel_id: bytes
    amount: int
    parties: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChannelLogs:
    """The logs that concern channels in a range of blocks.

    Attributes:
        events: The events of all channels, in chain order.
        transfers: The transfers of listed tokens that may be deposits.
    """

    events: Sequence[ChannelEvent] = ()
    transfers: Sequence[TokenTransfer] = ()


def read_channel_logs(source: TransferSource, first: int, last: int) -> ChannelLogs:
    """Read the channel logs in a range of blocks."""
    events: list[ChannelEvent] = []
    for block in source.channels.read_timed([list(_TOPICS)], first, last):
        for index, entry in zip(block.indices, block.entries, strict=True):
            topic = _TOPICS.get(entry.topics[0].lower() if entry.topics else "")
            if topic is None:
                continue
            content = b"".join([*map(bytes_of, entry.topics[1:]), bytes_of(entry.data)])
            words = [content[at : at + WORD] for at in range(0, len(content), WORD)]
            if len(words) < (_CREATED_WORDS if topic == CHANNEL_CREATED else 3):
                raise MalformedNodeAnswerError(f"{source.name}: log {index} of block {block.number} is truncated")
            place = block.number, index, block.hash, block.time or 0, hash_of(entry.transactionHash)
            accounts = ["0x" + words[at][-20:].hex() for at in (1, 3, 5)] if topic == CHANNEL_CREATED else []
            parties, amount = tuple(map(checksummed, accounts)), 0 if accounts else int.from_bytes(words[2])
            events.append(ChannelEvent(*place, topic, words[0], amount, parties))
    deposits = [event.block_number for event in events if event.topic == DEPOSITED]
    if not deposits:
        return ChannelLogs(events)
    return ChannelLogs(events, source.transfers("receiver", [BATCH, EIP3009_COLLECTOR], deposits[0], deposits[-1]))


@dataclass
class _Channel:
    """A channel for a listed token, and the money of each account in it, as far as it has been read."""

    payer: str
    receiver: str
    token: str
    funds: dict[str, int]
    has_all_funds: bool = False


@dataclass
class ChannelFlows:
    """The money that left channels, as one transfer for each channel, transaction and pair of accounts.

    Attributes:
        claims: The claims that spend the payer's own money, which are payments.
        returns: All money that went to an account other than the one from which it came.
    """

    claims: list[TokenTransfer] = field(default_factory=list)
    returns: list[TokenTransfer] = field(default_factory=list)


def store_channels(connection: Connection, chain_id: int, tokens: Collection[str], logs: ChannelLogs) -> ChannelFlows:
    """Store the channels in a range of blocks and the money in them, and return the outgoing money."""
    ledger = _Ledger(connection, chain_id, tokens, {event.channel_id for event in logs.events})
    entries: list[ChannelEvent | TokenTransfer] = sorted((*logs.events, *logs.transfers), key=lambda entry: entry[:2])
    transaction, transfers = b"", list[TokenTransfer]()
    for entry in entries:
        if entry.transaction_hash != transaction:
            transaction, transfers = entry.transaction_hash, []
        if isinstance(entry, TokenTransfer):
            transfers.append(entry)
        else:
            ledger.apply(entry, transfers)
    return ledger.store()


class _Ledger:
    """The money in some channels, updated with each event."""

    def __init__(self, connection: Connection, chain_id: int, tokens: Collection[str], ids: Collection[bytes]) -> None:
        self._connection, self._chain_id, self._tokens = connection, chain_id, tokens
        self._channels: dict[bytes, _Channel] = dict(self._stored(ids))
        self._new: list[tuple[object, ...]] = []
        self._rows: list[tuple[object, ...]] = []
        self._flows = Counter[tuple[_Step, str]]()
        self._last: dict[_Step, ChannelEvent] = {}

    def apply(self, event: ChannelEvent, transfers: list[TokenTransfer]) -> None:
        """Apply an event, given the preceding transfers in its transaction that no deposit has used yet."""
        current = self._channels.get(event.channel_id)
        if current is None:
            if event.parties and event.parties[2] in self._tokens:
                payer, receiver, token = event.parties
                self._channels[event.channel_id] = _Channel(payer, receiver, token, {payer: 0}, has_all_funds=True)
                self._new.append((self._chain_id, *event[:5], token, event.channel_id, payer, receiver))
        elif event.topic == DEPOSITED:
            funder = _take_funder(transfers, current.token, event.amount)
            if funder is not None:
                self._change(event, current, funder, event.amount)
        elif event.topic != CHANNEL_CREATED:
            self._spend(event, current)

    def _spend(self, event: ChannelEvent, current: _Channel) -> None:
        step, left = (event.transaction_hash, event.channel_id, event.topic), event.amount
        self._last[step] = event  # the last of several events represents them
        if current.funds[current.payer] < left:
            self._read_funds(event.channel_id, current)
        for funder in [current.payer, *sorted(current.funds.keys() - {current.payer})]:
            if spent := min(left, current.funds[funder]):
                left -= spent
                self._change(event, current, funder, -spent)
                self._flows[step, funder] += spent

    def _change(self, event: ChannelEvent, current: _Channel, funder: str, amount: int) -> None:
        if funder not in current.funds:
            self._read_funds(event.channel_id, current)
        current.funds[funder] = remaining = current.funds.get(funder, 0) + amount
        self._rows.append((self._chain_id, *event[:2], event.channel_id, funder, remaining))

    def store(self) -> ChannelFlows:
        """Store the channels and the changes to their balances, and return the outgoing money."""
        rows = rows_of(self._connection)
        rows.insert(channel, self._new)
        rows.insert(channel_fund, self._rows)
        flows = ChannelFlows()
        for (step, funder), amount in self._flows.items():
            _, channel_id, topic = step
            current, event = self._channels[channel_id], self._last[step]
            receiver = current.receiver if topic == CLAIMED else current.payer
            moved = TokenTransfer(*event[:5], current.token, funder, receiver, amount, channel_id, PaymentKind.CHANNEL)
            if topic == CLAIMED and funder == current.payer:
                flows.claims.append(moved)
            if funder != receiver:
                flows.returns.append(moved)
        return flows

    def _stored(self, ids: Collection[bytes]) -> Iterator[tuple[bytes, _Channel]]:
        own = self._latest(channel.c.channel_id, channel.c.payer)
        columns = channel.c.channel_id, channel.c.payer, channel.c.receiver, channel.c.token
        for part in in_parts(sorted(ids)):
            query = select(*columns, own).where(channel.c.chain_id == self._chain_id, channel.c.channel_id.in_(part))
            for channel_id, payer, receiver, token, remaining in self._connection.execute(query):
                yield bytes(channel_id), _Channel(payer, receiver, token, {payer: remaining or 0})

    def _read_funds(self, channel_id: bytes, current: _Channel) -> None:
        """Read the money from funders other than the payer. Few channels have any."""
        if current.has_all_funds:
            return
        funder, is_here = channel_fund.c.funder, channel_fund.c.channel_id == channel_id
        funders = select(funder).where(channel_fund.c.chain_id == self._chain_id, is_here).distinct().subquery()
        query = select(funders.c.funder, self._latest(literal(channel_id, HASH), funders.c.funder))
        for account, remaining in self._connection.execute(query):
            current.funds.setdefault(account, remaining)
        current.has_all_funds = True

    def _latest(self, channel_id: ColumnElement[bytes], funder: ColumnElement[str]) -> ScalarSelect[int]:
        fund = channel_fund.c
        query = select(fund.remaining).where(
            fund.chain_id == self._chain_id, fund.channel_id == channel_id, fund.funder == funder
        )
        return query.order_by(fund.block_number.desc(), fund.log_index.desc()).limit(1).scalar_subquery()


def _take_funder(transfers: list[TokenTransfer], token: str, amount: int) -> str | None:
    """Remove the transfer that funded a deposit from the preceding transfers, and return its sender."""
    funder, before = _take_sender(transfers, (BATCH, token, amount), len(transfers))
    if funder == EIP3009_COLLECTOR:
        funder, _ = _take_sender(transfers, (EIP3009_COLLECTOR, token, amount), before)
    return None if funder in CANONICAL else funder


def _take_sender(transfers: list[TokenTransfer], moved: tuple[str, str, int], before: int) -> tuple[str | None, int]:
    for at in reversed(range(before)):
        if (transfers[at].receiver, transfers[at].token, transfers[at].amount) == moved:
            return transfers.pop(at).sender, at
    return None, 0
