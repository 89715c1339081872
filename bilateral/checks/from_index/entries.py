"""Ratings as of a block, read from events: an agent's newest ratings, all its ratings, and the ratings that count."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import Select, Table, bindparam, exists, literal_column, select, tuple_, union_all

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.from_index.as_of_block import AUTHORIZED, OPEN_REGISTRIES, AsOfBlock, covering, place_of
from bilateral.checks.from_index.files import observations
from bilateral.core import events
from bilateral.core.values.bounds import scale_of_tag, share_of_scale
from bilateral.core.values.standing import Side
from bilateral.index.files import tables as files
from bilateral.index.log.dialects import in_parts, newest_first
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.log.text import key_text, padded_text
from bilateral.index.ratings.sealed import is_sealed_feedback, is_sealed_rating
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

SERVER: Final = "server"
CLIENT: Final = "client"
VALIDATOR: Final = "validator"

MOST_ENTRIES: Final = 100_000
"""The maximum number of ratings that a check reads individually."""

_ONE_BY_ONE: Final = 8
"""The maximum number of accounts that are queried one at a time."""

Rater: TypeAlias = tuple[str, str]
"""A registry, and the account or `agent N` that rates in it. A rater therefore counts once per registry."""

_FEEDBACK, _AUTHORIZED, _REVOKED, _CLIENT = (
    EVENT_TABLES[event]
    for event in (events.NewFeedback, events.NewAuthorizedFeedback, events.FeedbackRevoked, events.ClientRated)
)


@dataclass(frozen=True)
class Entry:
    """A rating that is in force as of the block.

    Attributes:
        side: The agent's role.
        tag: The tag, in the form used in the tables' keys.
        rater: The account that gave the rating, or `agent N`.
        value: The value, an integer.
        decimals: The number of decimals in the value.
        row: The event's row.
    """

    side: str
    tag: str
    rater: str
    value: int
    decimals: int
    row: Any

    @property
    def key(self) -> tuple[str, str, str]:
        """The registry, the side and the tag."""
        return self.row.registry, self.side, self.tag

    @property
    def place(self) -> tuple[int, int]:
        """The block, and the event's position in that block."""
        return self.row.block_number, self.row.log_index

    @property
    def share(self) -> int:
        """The value's share of the tag's scale, in millionths; 0 for a tag without a scale."""
        scale = scale_of_tag(self.tag)
        return 0 if scale is None else share_of_scale(self.value, self.decimals, scale)


def entries(as_of: AsOfBlock, kinds: Mapping[str, str], agent_id: int) -> list[Entry]:
    """Return an agent's individual ratings in force as of a block, in chain order."""
    ratings: list[Entry] = []
    for address, kind in kinds.items():
        if kind in OPEN_REGISTRIES:
            ratings += _open_feedback(as_of, address, agent_id)
            for event, side in ((events.ClientRated, CLIENT), (events.ValidatorRated, VALIDATOR)):
                for row in _events_about(as_of, address, event, agent_id, f"{side}_id"):
                    ratings.append(Entry(side, "", f"agent {row.server_id}", row.rating, 0, row))
        elif kind == AUTHORIZED:
            for row in _events_about(as_of, address, events.NewAuthorizedFeedback, agent_id):
                ratings.append(Entry(SERVER, padded_text(bytes(row.tag1)), row.client_address, row.score, 0, row))
    if len(ratings) > MOST_ENTRIES:
        raise HistoryTooLongError("ratings", MOST_ENTRIES)
    return sorted(ratings, key=attrgetter("place"))


def without_repeats(entries: Iterable[Entry], limit: int, period: int) -> list[Entry]:
    """Return only the first `limit` ratings by each rater in each period, separately for each side and tag."""
    counting, numbers = [], Counter[tuple[object, ...]]()
    for entry in entries:
        key = entry.key, entry.rater, entry.row.block_time // period
        numbers[key] += 1
        if numbers[key] <= limit:
            counting.append(entry)
    return counting


def entry_tallies(entries: Iterable[Entry], side: str, tag: str) -> dict[Rater, tuple[int, int]]:
    """Return each rater's number of ratings and sum of shares of the tag's scale, for one side and tag."""
    tallies: dict[Rater, tuple[int, int]] = {}
    for entry in entries:
        if entry.side == side and entry.tag == tag:
            rater = entry.row.registry, entry.rater
            count, shares = tallies.get(rater, (0, 0))
            tallies[rater] = count + 1, shares + entry.share
    return tallies


def _open_feedback(as_of: AsOfBlock, registry: str, agent_id: int) -> list[Entry]:
    """Return the feedback in an open feedback registry that had not been revoked by the block."""
    history = [
        (row.block_number, row.log_index, event is events.FeedbackRevoked, row)
        for event in (events.NewFeedback, events.FeedbackRevoked)
        for row in _events_about(as_of, registry, event, agent_id)
    ]
    history.sort(key=itemgetter(0, 1))
    latest: dict[tuple[str, int], Entry] = {}
    feedback: dict[tuple[int, int], Entry] = {}
    for *_, is_revocation, row in history:
        key = row.client_address, int(row.feedback_index)
        if is_revocation:
            if (revoked := latest.pop(key, None)) is not None:
                del feedback[revoked.place]
        elif row.value_decimals <= DECIMALS:
            tag, value = key_text(row.tag1), int(row.value)
            entry = Entry(SERVER, tag, row.client_address, value, row.value_decimals, row)
            latest[key] = feedback[entry.place] = entry
    return list(feedback.values())


def _events_about(
    as_of: AsOfBlock, registry: str, event: type[events.Event], agent_id: int, subject: str = "agent_id"
) -> list[Any]:
    parameters = {**as_of.bounds, "registry": registry, "agent_id": agent_id, "limit": MOST_ENTRIES + 1}
    rows = _about(EVENT_TABLES[event], subject).records(as_of.connection, parameters)
    if len(rows) > MOST_ENTRIES:
        raise HistoryTooLongError("ratings", MOST_ENTRIES)
    return rows


@cache
def _about(table: Table, subject: str) -> Prepared:
    names = ("client_address", "feedback_index", "value", "value_decimals", "tag1", "score", "server_id", "rating")
    return Prepared(
        select(*place_of(table), *(table.c[name] for name in names if name in table.c))
        .where(covering(table), table.c.registry == bindparam("registry"), table.c[subject] == bindparam("agent_id"))
        .limit(bindparam("limit"))
    )


def with_payment_proof(as_of: AsOfBlock, entries: Sequence[Entry], payees: Collection[str]) -> list[Entry]:
    """Return the feedback whose file claims a payment from the client to the agent.

    The file's hash is on chain or implied by its URI, so the author cannot change the file. The claim is not compared
    with the payments in the index, but anyone can look up the transaction to which it refers.
    """
    accepted = {account.lower() for account in payees}
    claims: dict[tuple[int, int], Any] = {}
    reference, read = files.file_reference, files.feedback_file
    for part in in_parts([entry.place for entry in entries]):
        query = _at_places(as_of, reference, part).add_columns(reference.c.file_id)
        references = as_of.connection.execute(query.where(reference.c.file_id.is_not(None))).all()
        hashes = {
            file_id: file.content_hash
            for file_id, file in observations(as_of, {bytes(row.file_id) for row in references}).items()
            if file.integrity is not None and file.content_hash is not None
        }
        columns = read.c.content_hash, read.c.payment_from, read.c.payment_to, read.c.payment_transaction
        query = select(*columns).where(read.c.content_hash.in_(set(hashes.values())))
        payments = {bytes(row.content_hash): row for row in as_of.connection.execute(query)}
        for row in references:
            claims[row.block_number, row.log_index] = payments.get(hashes.get(bytes(row.file_id), b""))
    return [
        entry
        for entry in entries
        if (claim := claims.get(entry.place)) is not None
        and claim.payment_transaction
        and _account(claim.payment_from) == entry.rater.lower()
        and _account(claim.payment_to) in accepted
    ]


def _at_places(as_of: AsOfBlock, table: Table, places: Sequence[tuple[int, int]]) -> Select[Any]:
    place = table.c.block_number, table.c.log_index
    return select(*place).where(table.c.chain_id == as_of.chain_id, tuple_(*place).in_(places))


def _account(text: str | None) -> str:
    """Return an account's address. Files contain accounts with or without a chain."""
    return (text or "").rpartition(":")[2].lower()


def only_sealed(as_of: AsOfBlock, entries: Sequence[Entry], side: str) -> list[Entry]:
    """Return the ratings that were sealed before either side saw the other's rating."""
    table, condition = (_FEEDBACK, is_sealed_feedback) if side == SERVER else (_CLIENT, is_sealed_rating)
    sealed: set[tuple[int, int]] = set()
    for part in in_parts([entry.place for entry in entries]):
        query = _at_places(as_of, table, part).where(condition(table))
        sealed |= {tuple(row) for row in as_of.connection.execute(query)}
    return [entry for entry in entries if entry.place in sealed]


def feedback_by(as_of: AsOfBlock, registries: Collection[str], accounts: Collection[str], limit: int) -> list[Any]:
    """Return the newest open feedback from some accounts, including the column `is_revoked`."""
    addresses = list(registries)
    parameters = {**as_of.bounds, **spread("registry", addresses, len(addresses))}
    ordered = sorted(accounts)
    if len(ordered) > _ONE_BY_ONE:
        parameters |= spread("account", ordered, size := size_for(ordered))
        return _feedback_by(len(addresses), size, limit).records(as_of.connection, parameters)
    # The index of an account's feedback includes blocks: only a query for one account stops after its rows.
    statement = _feedback_by(len(addresses), 1, limit)
    rows: list[Any] = []
    for account in ordered:
        rows += statement.records(as_of.connection, {**parameters, "account_0": account})
    rows.sort(key=lambda row: (row.block_number, row.log_index), reverse=True)
    return rows[:limit]


@lru_cache
def _feedback_by(registries: int, accounts: int, limit: int) -> Prepared:
    columns = _FEEDBACK.c
    by_place = (columns.block_number.desc(), columns.log_index.desc())
    return Prepared(
        select(*place_of(_FEEDBACK), columns.agent_id, columns.value, columns.value_decimals, columns.tag1)
        .add_columns(_is_revoked().label("is_revoked"))
        .where(covering(_FEEDBACK), one_of("registry", columns.registry, registries))
        .where(one_of("account", columns.client_address, accounts))
        .order_by(*(by_place if accounts == 1 else newest_first(columns)))
        .limit(at_most(limit))
    )


@lru_cache
def newest_about(side: str, registries: int, raters: int, limit: int, *, only_sealed: bool = False) -> Prepared:
    """Return the statement that reads an agent's newest ratings by the given number of raters; 0 for all raters.

    Its parameters are those of `covering`, `agent_id`, the lists `registry` and `rater` and, for a server, `tag`.
    """
    table, is_server = (_FEEDBACK, True) if side == Side.SERVER else (_CLIENT, False)
    rater = table.c.client_address if is_server else table.c.server_id
    query = select(*place_of(table), rater).where(covering(table), one_of("registry", table.c.registry, registries))
    if is_server:
        query = query.where(table.c.agent_id == bindparam("agent_id"), table.c.tag1 == bindparam("tag"), ~_is_revoked())
    else:
        query = query.add_columns(table.c.rating).where(table.c.client_id == bindparam("agent_id"))
    if only_sealed:
        query = query.where(is_sealed_feedback(table) if is_server else is_sealed_rating(table))
    if raters:
        query = query.where(one_of("rater", rater, raters))
    by_place = (table.c.block_number.desc(), table.c.log_index.desc())  # this order matches the database index
    return Prepared(query.order_by(*(by_place if is_server else newest_first(table.c))).limit(at_most(limit)))


def _is_revoked() -> Any:
    feedback, revoked = _FEEDBACK, _REVOKED
    is_later = (revoked.c.block_number > feedback.c.block_number) | (
        (revoked.c.block_number == feedback.c.block_number) & (revoked.c.log_index > feedback.c.log_index)
    )
    key = ("registry", "agent_id", "client_address", "feedback_index")
    return exists().where(covering(revoked), *(revoked.c[name] == feedback.c[name] for name in key), is_later)


@lru_cache
def first_feedback(registries: int) -> Prepared:
    """Return the statement that reads an account's first feedback entry in each event table.

    Its parameters are those of `covering`, `account`, and the list `registry`.
    """
    parts = []
    for place, table in enumerate((_FEEDBACK, _AUTHORIZED)):
        query = (
            select(*place_of(table), literal_column(str(place)).label("kind"))
            .where(covering(table), one_of("registry", table.c.registry, registries))
            .where(table.c.client_address == bindparam("account"))
            .order_by(table.c.block_number, table.c.log_index)
            .limit(at_most(1))
        )
        parts.append(select(query.subquery()))
    return Prepared(union_all(*parts))
