"""Read the payments of one chain after its blocks have been indexed."""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, Engine, delete, select, update

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.events import ApprovalForAll
from bilateral.core.payments import PaymentKind
from bilateral.core.payments.contracts import CANONICAL
from bilateral.core.payments.kinds import PROXIES
from bilateral.index.chain.checks import ENDPOINT_FAILURES
from bilateral.index.chain.pool import Pool
from bilateral.index.errors import ChainChangedError, CursorMovedError
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import in_parts
from bilateral.index.log.rows import rows_of
from bilateral.index.log.store import JOURNAL_BLOCKS
from bilateral.index.payments.accounts import Wallets, accounts_until, first_blocks, store_accounts
from bilateral.index.payments.channels import ChannelLogs, read_channel_logs, store_channels
from bilateral.index.payments.projection import note_forgotten_payments, note_late_payments
from bilateral.index.payments.tables import CHAIN_TABLES, agent_account, payment, payment_cursor, payment_return
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.payments.transfers import PermitReader, TokenTransfer, TransferSource, unsure_senders, with_nonces

_MOST_BLOCKS: Final = 10_000
"""The number of blocks per step, whose rows are held in memory."""

_POSITIONS: Final = {**dict.fromkeys(PROXIES, 1 << 20), PaymentKind.CHANNEL: 1 << 21}
"""The first position in a transaction for payments of the kinds added in table version 1.1.

Buyers' messages identify a payment by its position. Payments of other kinds keep the positions 0, 1, 2, …
"""

_NO_CHANNELS: Final = ChannelLogs()


@dataclass(frozen=True)
class PaymentRange:
    """A range of blocks whose payments need to be read.

    Attributes:
        first: The first block.
        last: The last block.
        hash: The hash of the last block, as indexed.
        previous: The number and hash of the block at the cursor, which is the block before the range.
    """

    first: int
    last: int
    hash: bytes
    previous: tuple[int, bytes]


class PaymentStore:
    """The payment rows of one chain."""

    def __init__(self, engine: Engine, chain_id: int, terms: PaymentTerms) -> None:
        self._engine = engine
        self.chain_id = chain_id
        self.terms = terms

    def begin(self, first_block: int) -> None:
        """Store a cursor if the chain has none, so that monitors see that its payments have not been read yet."""
        with self._engine.begin() as connection:
            self._cursor(connection, first_block - 1)

    def next_range(self) -> PaymentRange | None:
        """Return the next range of blocks to read; None if payments are up to date with the last confirmed block."""
        with self._engine.begin() as connection:
            index = self._index_cursor(connection)
            if index is None:
                return None
            cursor = self._cursor(connection, index.first_block - 1)
            last, block = index.block_number - self.terms.confirmations + 1, schema.block.c
            is_due = block.chain_id == self.chain_id, block.block_number > cursor[0], block.block_number <= last
            existing = select(block.block_number, block.block_hash).where(*is_due).limit(1)
            near = existing.where(block.block_number <= cursor[0] + _MOST_BLOCKS)
            # Deep in the chain, the index stores the hashes of only some blocks, so a range may have to be longer.
            end = connection.execute(near.order_by(block.block_number.desc())).one_or_none()
            end = end or connection.execute(existing.order_by(block.block_number)).one_or_none()
        if end is None:
            return None
        return PaymentRange(cursor[0] + 1, end.block_number, bytes(end.block_hash), cursor)

    def accounts(self, due: PaymentRange) -> tuple[list[str], list[str]]:
        """Store agents' accounts up to the end of a range, and return all wallets and owners that agents have had."""
        with self._engine.begin() as connection:
            self._lock(connection, due, due.previous)
            table = agent_account
            within = table.c.chain_id == self.chain_id, table.c.block_number >= due.first
            connection.execute(delete(table).where(*within))  # rows of an unfinished range
            store_accounts(connection, rows_of(connection), self.chain_id, due.first, due.last)
            wallets = accounts_until(connection, self.chain_id, "wallet")
            owners = accounts_until(connection, self.chain_id, "owner")
        return sorted(set(wallets) - CANONICAL), sorted(set(owners) - CANONICAL)

    def append(
        self,
        due: PaymentRange,
        paid: Sequence[TokenTransfer],
        returned: Sequence[TokenTransfer],
        channels: ChannelLogs = _NO_CHANNELS,
    ) -> int:
        """Store a range's payments, move the cursor to the end of the range, and return the number of payments."""
        with self._engine.begin() as connection:
            self._lock(connection, due, (due.last, due.hash))
            blocks = {log.block_number: log.block_hash for log in (*paid, *returned, *channels.transfers)}
            blocks |= {event.block_number: event.block_hash for event in channels.events}
            self._require_blocks(connection, due, blocks)
            flows = store_channels(connection, self.chain_id, self.terms.tokens, channels)
            ordered = sorted((*paid, *flows.claims), key=itemgetter(0, 1))
            payments = self._payments(connection, [transfer for transfer in ordered if transfer.amount > 0])
            # A range may end at any block, so an account may become a seller only after its transfer was read.
            returned = (*returned, *flows.returns)
            sellers = first_blocks(connection, self.chain_id, {transfer.sender for transfer in returned})
            back = [
                (self.chain_id, *transfer[:8], self.terms.micros(transfer.token, transfer.amount))
                for transfer in returned
                if transfer.amount > 0 and sellers.get(transfer.sender, due.last + 1) <= transfer.block_number
                if not {transfer.sender, transfer.receiver} & CANONICAL
            ]
            rows = rows_of(connection)
            rows.insert(payment, payments)
            rows.insert(payment_return, back)
            note_late_payments(connection, self.chain_id, {row[1] for row in (*payments, *back)})
        return len(payments)

    def _payments(self, connection: Connection, paid: Sequence[TokenTransfer]) -> list[tuple[Any, ...]]:
        """Return the rows for the transfers to accounts that were agents' wallets at the time of the transfer."""
        wallets = Wallets(connection, self.chain_id, sorted({transfer.receiver for transfer in paid}))
        sellers = [
            (transfer, agents)
            for transfer in paid
            if transfer.kind is not PaymentKind.PLAIN or self.terms.counts_plain
            if (agents := wallets.agents_at(transfer.receiver, transfer.place))
        ]
        operators = _Operators(connection, self.chain_id, {transfer.sender for transfer, _ in sellers})
        new_kinds = {PaymentKind.CHANNEL} if self.terms.counts_plain else _POSITIONS.keys()
        rows, positions = [], Counter[tuple[bytes, int]]()
        for transfer, agents in sellers:
            start = _POSITIONS[transfer.kind] if transfer.kind in new_kinds else 0
            position = start + positions[transfer.transaction_hash, start]
            positions[transfer.transaction_hash, start] += 1
            if {transfer.sender, transfer.receiver} & CANONICAL:
                continue  # it still has a position
            registry, agent_id, owner = agents[0]
            row = (self.chain_id, *transfer[:9], self.terms.micros(transfer.token, transfer.amount), transfer.nonce)
            of_seller = registry, agent_id, owner, _relation(transfer, agents, operators)
            rows.append((*row, *of_seller, position, transfer.kind, transfer.ceiling))
        return rows

    def _index_cursor(self, connection: Connection) -> Any:
        table = schema.chain
        query = select(table.c.first_block, table.c.block_number).where(table.c.chain_id == self.chain_id)
        return connection.execute(query).one_or_none()

    def _cursor(self, connection: Connection, before: int) -> tuple[int, bytes]:
        """Return the cursor. If it is new, or was stored under different terms, it starts before the first block."""
        table, agreed = payment_cursor, {"terms": self.terms.text, "confirmations": self.terms.confirmations}
        current = update(table).where(table.c.chain_id == self.chain_id)
        row = connection.execute(select(table).where(table.c.chain_id == self.chain_id)).one_or_none()
        if row is not None and row.terms == self.terms.text:
            if row.confirmations != self.terms.confirmations:
                connection.execute(current.values(confirmations=self.terms.confirmations))
            return row.block_number, bytes(row.block_hash)
        values = {"block_number": before, "block_hash": bytes(32), **agreed, "changed_at": int(time.time())}
        if row is None:
            rows_of(connection).insert_if_absent(table, {"chain_id": self.chain_id, **values})
        else:
            if not connection.execute(current.where(table.c.terms == row.terms).values(values)).rowcount:
                return self._cursor(connection, before)  # another worker started again in the meantime
            for chain_table in CHAIN_TABLES:
                connection.execute(delete(chain_table).where(chain_table.c.chain_id == self.chain_id))
            note_forgotten_payments(connection, self.chain_id)
        return before, bytes(32)

    def _lock(self, connection: Connection, due: PaymentRange, new: tuple[int, bytes]) -> None:
        """Move the cursor, and prevent rollbacks until the transaction ends."""
        table, (number, hash_) = payment_cursor, due.previous
        is_ours = table.c.chain_id == self.chain_id, table.c.terms == self.terms.text
        at_cursor = update(table).where(*is_ours, table.c.block_number == number, table.c.block_hash == hash_)
        moved = at_cursor.values(block_number=new[0], block_hash=new[1], changed_at=int(time.time()))
        if not connection.execute(moved).rowcount:
            raise CursorMovedError(self.chain_id, number)
        self._require_blocks(connection, due, {})

    def _require_blocks(self, connection: Connection, due: PaymentRange, expected: Mapping[int, bytes]) -> None:
        """Check that the index contains the end of a range, and that none of the given blocks has been replaced."""
        table = schema.block
        query = select(table.c.block_number, table.c.block_hash).where(
            table.c.chain_id == self.chain_id,
            table.c.block_number.between(due.first if expected else due.last, due.last),
        )
        existing = {row.block_number: bytes(row.block_hash) for row in connection.execute(query)}
        # A checkpoint deep in the chain may have been deleted since then; if so, no reorganisation can reach it.
        index = self._index_cursor(connection)
        is_deep = index is not None and index.block_number - due.last > JOURNAL_BLOCKS
        if existing.get(due.last, due.hash if is_deep else None) != due.hash:
            raise CursorMovedError(self.chain_id, due.last)
        for number, hash_ in expected.items():
            if existing.get(number, hash_) != hash_:
                raise CursorMovedError(self.chain_id, number)


class _Operators:
    """The accounts that some owners had approved for all their agents, at any position in the chain."""

    def __init__(self, connection: Connection, chain_id: int, owners: Collection[str]) -> None:
        self._changes: dict[tuple[str, str, str], list[tuple[tuple[int, int], bool]]] = defaultdict(list)
        table = schema.EVENT_TABLES[ApprovalForAll]
        for part in in_parts(sorted(owners)):
            query = select(table).where(table.c.chain_id == chain_id, table.c.owner.in_(part))
            for row in connection.execute(query.order_by(table.c.block_number, table.c.log_index)):
                change = (row.block_number, row.log_index), bool(row.is_approved)
                self._changes[row.registry, row.owner, row.operator].append(change)

    def are(self, registry: str, owner: str, account: str, place: tuple[int, int]) -> bool:
        """Return True if an account was an owner's operator at a position in the chain."""
        before = [approved for at, approved in self._changes.get((registry, owner, account), ()) if at < place]
        return bool(before) and before[-1]


def _relation(transfer: TokenTransfer, agents: Sequence[tuple[str, int, str]], operators: _Operators) -> str | None:
    """Return the reason why a payer counts as paying itself; None if the chain shows no reason."""
    # Only the payer's own actions count. Otherwise, a seller could discredit a buyer by approving it as operator.
    if transfer.sender == transfer.receiver:
        return "wallet"
    if any(transfer.sender == owner for _, _, owner in agents):
        return "owner"
    if any(operators.are(registry, transfer.sender, owner, transfer.place) for registry, _, owner in agents):
        return "operator"
    return None


_LOGGER: Final = logging.getLogger("bilateral.index")


class PaymentFollower:
    """Follows one chain's payments, range by range.

    Args:
        wait: Waits for the given number of seconds; returns False to give up.
    """

    def __init__(self, store: PaymentStore, pool: Pool, wait: Callable[[float], bool] | None = None) -> None:
        self._store = store
        self._pool = pool
        self._wait = wait
        self._sources: dict[str, TransferSource] = {}
        self._permits = PermitReader(store.terms)

    def step(self) -> bool:
        """Store the payments in the next range of blocks. Return False if there is nothing to do."""
        due = self._store.next_range()
        if due is None:
            return False
        while True:
            source = self._pool.choose()
            if source.name not in self._sources:
                self._sources[source.name] = TransferSource(source.endpoint, list(self._store.terms.tokens), self._wait)
            try:
                stored = self._read(self._sources[source.name], due)
            except (CursorMovedError, ChainChangedError):
                return True  # the index must roll back first, or another worker was faster
            except ENDPOINT_FAILURES as problem:
                self._pool.bench(source, problem)
            else:
                self._pool.succeeded(source)
                _LOGGER.info("chain=%d payments=%d block=%d", self._store.chain_id, stored, due.last)
                return True

    def _read(self, source: TransferSource, due: PaymentRange) -> int:
        """Read and store a range's payments. Its last block must have the same hash before and after reading."""
        self._require_end(source, due)
        wallets, owners = self._store.accounts(due)
        paid = source.transfers("receiver", wallets, due.first, due.last)
        returned = source.transfers("sender", {*wallets, *owners}, due.first, due.last)
        payers = {transfer.sender for transfer in paid if transfer.amount > 0}
        if payers:
            first, last = paid[0].block_number, paid[-1].block_number
            used = source.authorizations(payers, first, last)
            unsure = unsure_senders(paid, used)
            paid = with_nonces(paid, used, source.transfers("sender", unsure, first, last) if unsure else ())
            paid = self._permits.mark(source, paid)
        channels = read_channel_logs(source, due.first, due.last)
        self._require_end(source, due)
        return self._store.append(due, paid, returned, channels)

    def _require_end(self, source: TransferSource, due: PaymentRange) -> None:
        header = source.header(due.last)
        if header is None:
            raise MalformedNodeAnswerError(f"{source.name} lacks block {due.last}")
        if header.block.hash != due.hash:
            raise ChainChangedError(source.name, f"block {due.last} was replaced")
