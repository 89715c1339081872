"""The coded form of the tables: every account, agent and opinion as numbers in arrays.

An opinion is one row by which an account judges a subject: a feedback, a rating or a validation response. All detectors
read opinions, so they see every table through one shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.trust.arrays import Flags, Floats, Ints, dense, first_of, pairs
from bilateral.trust.holdings import Holdings
from bilateral.trust.tables import OPTIONAL
from bilateral.values import STANDARD_TAGS

if TYPE_CHECKING:
    from bilateral.trust.tables import Tables

LARGEST: Final = 1e38
"""The largest value that the registry stores. Larger ones in a table are cut to it."""


class Kind(IntEnum):
    """The kind of an opinion. Each kind has subjects of its own."""

    FEEDBACK = 0
    CLIENT_RATING = 1
    VALIDATOR_RATING = 2
    VALIDATION = 3
    CONSTANT_TAG = 4


SOURCES: Final = ("feedback", "ratings", "ratings", "validations", "feedback")
"""The table that each kind of opinion comes from."""


@dataclass(frozen=True)
class Opinions:
    """Opinions as parallel arrays, sorted by subject and time.

    Attributes:
        rater: The account that judges.
        subject: The subject, numbered over all kinds.
        kind: The `Kind`.
        percent: The value on the scale of its tag, from 0 to 100; nan where the tag has no known scale.
        raw: The value as it was given.
        tag: The code of the tag; -1 for other tables than the feedback.
        ts: The time in Unix seconds.
        row: The id of the row in its table; the position in the table of validations.
        payment: The position of the payment that a feedback names; -1 if it names none, -2 if it does not exist.
    """

    rater: Ints
    subject: Ints
    kind: Ints
    percent: Floats
    raw: Floats
    tag: Ints
    ts: Floats
    row: Ints
    payment: Ints

    def __len__(self) -> int:
        """Return the number of opinions."""
        return len(self.rater)


@dataclass(frozen=True)
class Ledger:
    """All tables in coded form.

    Attributes:
        addresses: The address of each account.
        agent_ids: The id of each agent, ascending.
        owner: The account that owns each agent.
        wallet: The wallet of each agent.
        registered: The time of each agent's registration.
        holdings: The accounts that held the agents that changed hands.
        operated: The pairs of agent and operator, as `pairs` joins them with the number of accounts, ascending.
        is_validator: Marks the agents that validate.
        uri: The code of each agent's URI; -1 where the URI is empty.
        tags: The text of each tag.
        constant_tags: The codes of tags that carry one value only, however often they are used.
        opinions: All opinions.
        subject_account: The account that answers for each subject.
        subject_agent: The agent that each subject is; -1 for a client.
        subject_kind: The `Kind` of the opinions about each subject.
        payer, payee, paid_agent, amount, paid_at: The payments. `paid_agent` is -1 for an unknown agent.
        src, dst, sent, sent_at: The transfers, sorted by time.
        funder: The source of each account's first inbound transfer; -1 if unknown, or if the account acted before.
        funded_at: The time of that transfer; nan if unknown.
        funded_with: Its amount; nan if unknown.
        dropped: The number of rows left out because they name an unknown agent.
    """

    addresses: pa.Array
    agent_ids: Ints
    owner: Ints
    wallet: Ints
    registered: Floats
    holdings: Holdings
    operated: Ints
    is_validator: Flags
    uri: Ints
    tags: list[str]
    constant_tags: Ints
    opinions: Opinions
    subject_account: Ints
    subject_agent: Ints
    subject_kind: Ints
    payer: Ints
    payee: Ints
    paid_agent: Ints
    amount: Floats
    paid_at: Floats
    src: Ints
    dst: Ints
    sent: Floats
    sent_at: Floats
    funder: Ints
    funded_at: Floats
    funded_with: Floats
    dropped: int

    @property
    def accounts(self) -> int:
        """The number of accounts."""
        return len(self.addresses)

    @property
    def agents(self) -> int:
        """The number of agents."""
        return len(self.agent_ids)

    @property
    def subjects(self) -> int:
        """The number of subjects, judged or not."""
        return len(self.subject_account)

    @classmethod
    def of(cls, tables: Tables) -> Ledger:
        """Code tables.

        Args:
            tables: The tables. Values that are not finite, and times that are missing, are replaced.
        """
        return _Coding(tables).ledger()


class _Coding:
    """The steps from tables to a ledger."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        named = [
            tables.agents["owner"],
            tables.agents["wallet"],
            tables.feedback["client"],
            tables.ratings["client"],
            tables.payments["payer"],
            tables.payments["payee"],
            tables.transfers["src"],
            tables.transfers["dst"],
        ]
        if "holders" in tables.agents.column_names:
            named.append(pc.struct_field(pc.list_flatten(tables.agents["holders"]), "account"))
        self.addresses = pc.unique(pa.chunked_array([_distinct(column) for column in named])).drop_null()
        self.addresses = self.addresses.take(pc.sort_indices(self.addresses))
        order = np.argsort(_integers(tables.agents["agent_id"]), kind="stable")
        ids = _integers(tables.agents["agent_id"])[order]
        self.agent_order = order[first_of(ids)]
        self.agent_ids = ids[first_of(ids)]
        self.dropped = 0

    def ledger(self) -> Ledger:
        """Code every table."""
        agents = self.tables.agents
        owner = self.account(agents["owner"])[self.agent_order]
        wallet = self.account(agents["wallet"])[self.agent_order]
        wallet = np.where(wallet < 0, owner, wallet)
        payments, transfers = self.tables.payments, self.tables.transfers
        paid_at, sent_at = _floats(payments["ts"]), _floats(transfers["ts"])
        by_time = np.argsort(sent_at, kind="stable")
        src, dst = self.account(transfers["src"])[by_time], self.account(transfers["dst"])[by_time]
        sent, sent_at = _floats(transfers["amount"])[by_time], sent_at[by_time]
        accounts, count = len(self.addresses), len(self.agent_ids)
        kinds = (count, accounts, count, count, count)
        offsets = np.concatenate([[0], np.cumsum(kinds)])
        opinions, tags, constant = self.opinions(offsets, owner)
        funder = np.full(accounts, -1, np.int64)
        funded_at, funded_with = np.full(accounts, np.nan), np.full(accounts, np.nan)
        funds = _flags(transfers["funds"], missing=True)[by_time] if "funds" in transfers.column_names else src >= 0
        inbound = np.flatnonzero((dst >= 0) & (src >= 0) & (src != dst) & funds)[::-1]
        funder[dst[inbound]] = src[inbound]  # in reverse order of time, so that the first transfer is written last
        funded_at[dst[inbound]], funded_with[dst[inbound]] = sent_at[inbound], sent[inbound]
        agent_numbers, holdings = np.arange(count), self.holdings()
        founder = holdings.at(agent_numbers, np.full(count, -np.inf), owner)
        late = funded_at > self.first_act(opinions, founder) + _SLACK
        funder[late], funded_at[late], funded_with[late] = -1, np.nan, np.nan
        return Ledger(
            addresses=self.addresses,
            agent_ids=self.agent_ids,
            owner=owner,
            wallet=wallet,
            registered=_floats(agents["ts"])[self.agent_order],
            holdings=holdings,
            operated=self.operated(),
            is_validator=_flags(agents["is_validator"])[self.agent_order],
            uri=_shared_codes(agents["uri"])[self.agent_order],
            tags=tags,
            constant_tags=constant,
            opinions=opinions,
            subject_account=np.concatenate([owner, np.arange(accounts), owner, owner, owner]),
            subject_agent=np.concatenate(
                [agent_numbers, np.full(accounts, -1), agent_numbers, agent_numbers, agent_numbers]
            ),
            subject_kind=np.repeat(np.arange(len(kinds)), kinds),
            payer=self.account(payments["payer"]),
            payee=self.account(payments["payee"]),
            paid_agent=self.agent(payments["agent_id"]),
            amount=_floats(payments["amount"]),
            paid_at=paid_at,
            src=src,
            dst=dst,
            sent=sent,
            sent_at=sent_at,
            funder=funder,
            funded_at=funded_at,
            funded_with=funded_with,
            dropped=self.dropped,
        )

    def first_act(self, opinions: Opinions, founder: Ints) -> Floats:
        """Return the time from which each account acts. Money that comes later did not create the account.

        Otherwise a stranger could send money to an old account whose funding is unknown, and so seem to be its funder.
        """
        first = np.full(len(self.addresses), np.inf)
        payments, agents, transfers = self.tables.payments, self.tables.agents, self.tables.transfers
        for accounts, times in (
            (self.account(transfers["src"]), _floats(transfers["ts"])),
            (opinions.rater, opinions.ts),
            (self.account(payments["payer"]), _floats(payments["ts"])),
            (founder, _floats(agents["ts"])[self.agent_order]),
        ):
            inside = accounts >= 0
            np.minimum.at(first, accounts[inside], times[inside])
        return first

    def holdings(self) -> Holdings:
        """Return who held the agents that changed hands."""
        held, agent = self.listed("holders")
        account = self.account(pa.chunked_array([pc.struct_field(held, "account")]))
        return Holdings.of(agent, account, _floats(pc.struct_field(held, "since")))

    def operated(self) -> Ints:
        """Return the pairs of agent and operator."""
        operators, agent = self.listed("operators")
        account = self.account(pa.chunked_array([operators], pa.string()))
        known = (agent >= 0) & (account >= 0)
        return np.unique(pairs(agent[known], account[known], len(self.addresses)))

    def listed(self, name: str) -> tuple[pa.Array, Ints]:
        """Return the entries of an optional column of lists, and the agent of each; -1 for a repeated row."""
        agents = self.tables.agents
        if name not in agents.column_names:
            return pa.array([], OPTIONAL["agents"][name].value_type), np.zeros(0, np.int64)
        lists = agents[name].combine_chunks()
        place = np.full(agents.num_rows, -1, np.int64)
        place[self.agent_order] = np.arange(len(self.agent_order))
        return pc.list_flatten(lists), place[np.asarray(pc.list_parent_indices(lists), np.int64)]

    def account(self, column: pa.ChunkedArray) -> Ints:
        """Return the account of each address; -1 for null."""
        return _positions(column, self.addresses)

    def agent(self, column: pa.ChunkedArray) -> Ints:
        """Return the agent of each id; -1 for null and for unknown ids."""
        ids = _integers(column)
        if not len(self.agent_ids):
            return np.full(len(ids), -1, np.int64)
        places = np.minimum(np.searchsorted(self.agent_ids, ids), len(self.agent_ids) - 1)
        return np.where(self.agent_ids[places] == ids, places, -1)

    def opinions(self, offsets: Ints, owner: Ints) -> tuple[Opinions, list[str], Ints]:
        """Return all opinions, the tags, and the constant tags."""
        feedback, ratings, validations = self.tables.feedback, self.tables.ratings, self.tables.validations
        tag_texts = _distinct(feedback["tag"]).drop_null()
        tag = _positions(feedback["tag"], tag_texts)
        raw = np.clip(_floats(feedback["value"]), -LARGEST, LARGEST)
        percent, constant = _scaled(raw, tag, tag_texts.to_pylist())
        kind = np.where(np.isin(tag, constant), Kind.CONSTANT_TAG, Kind.FEEDBACK)
        payment = _positions(feedback["payment_tx"], pc.unique(_merged(self.tables.payments["tx"])), missing=-2)
        agent, server = self.agent(feedback["agent_id"]), self.agent(ratings["server_id"])
        validator, validated = self.agent(validations["validator_id"]), self.agent(validations["agent_id"])
        of_client = _equal(ratings["kind"], "client")
        rated = np.where(of_client, self.account(ratings["client"]), self.agent(ratings["validator_id"]))
        rating = np.clip(_floats(ratings["rating"]), 0, 100)
        response = np.clip(_floats(validations["response"]), 0, 100)
        rating_kind = np.where(of_client, Kind.CLIENT_RATING, Kind.VALIDATOR_RATING)
        none = np.full(len(rating) + len(response), -1, np.int64)
        parts = {
            "rater": [self.account(feedback["client"]), _at(owner, server), _at(owner, validator)],
            "subject": [
                np.where(agent < 0, -1, agent + offsets[kind]),
                np.where(rated < 0, -1, rated + offsets[rating_kind]),
                np.where(validated < 0, -1, validated + offsets[Kind.VALIDATION]),
            ],
            "kind": [kind, rating_kind, np.full(len(response), int(Kind.VALIDATION))],
            "percent": [percent, rating, response],
            "raw": [raw, rating, response],
            "tag": [tag, none],
            "ts": [_floats(feedback["ts"]), _floats(ratings["ts"]), _floats(validations["ts"])],
            "row": [_integers(feedback["id"]), _integers(ratings["id"]), np.arange(len(response))],
            "payment": [payment, none],
        }
        dtypes = {"rater": np.int32, "subject": np.int32, "kind": np.int8, "tag": np.int32, "percent": np.float32}
        columns = {name: np.concatenate(part).astype(dtypes.get(name, part[0].dtype)) for name, part in parts.items()}
        known = (columns["rater"] >= 0) & (columns["subject"] >= 0)
        self.dropped = int(len(known) - known.sum())
        chosen = np.flatnonzero(known)
        order = chosen[np.lexsort((columns["row"][chosen], columns["ts"][chosen], columns["subject"][chosen]))]
        return Opinions(**{name: column[order] for name, column in columns.items()}), tag_texts.to_pylist(), constant


_SLACK: Final = 0.0
"""The time in seconds that an account may act before its first money comes. There is none: otherwise a stranger could
send money to an account that acts without gas of its own, right after it acts, and so seem to be its funder."""

_CONSTANT_ROWS: Final = 50
_CONSTANT_RATERS: Final = 5


def _scaled(raw: Floats, tag: Ints, texts: list[str]) -> tuple[Floats, Ints]:
    """Return values as percentages of their tag's scale, and the tags that carry one value only."""
    percent = np.full(len(raw), np.nan)
    constant = []
    if len(texts) > 0:
        order = np.argsort(tag, kind="stable")
        bounds = np.searchsorted(tag[order], np.arange(len(texts) + 1))
        for code, text in enumerate(texts):
            rows = order[bounds[code] : bounds[code + 1]]
            known = STANDARD_TAGS.get(text)
            if known is not None and known.highest is not None and known.lowest is not None:
                low, high = float(known.lowest), float(known.highest)
            elif len(rows) >= _CONSTANT_ROWS:
                low, high = np.quantile(raw[rows], [0.01, 0.99])
                if low == high:
                    constant.append(code)
                    continue
                if low >= 0 and high <= 100:  # noqa: PLR2004  # a percentage, as most tags of use are
                    low, high = 0.0, 100.0
            else:
                low, high = 0.0, 100.0
            percent[rows] = np.clip((raw[rows] - low) / (high - low), 0, 1) * 100
    return percent, np.array(constant, np.int64)


def _merged(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a dictionary of its own."""
    if pa.types.is_dictionary(column.type):
        return pc.cast(column, pa.string()).combine_chunks()
    return column.combine_chunks()


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct texts of a column."""
    if not pa.types.is_dictionary(column.type):
        return pc.unique(column)
    return pc.unique(pa.chunked_array([chunk.dictionary for chunk in column.chunks], pa.string()))


def _positions(column: pa.ChunkedArray, among: pa.Array, missing: int = -1) -> Ints:
    """Return the position of each text among distinct texts; -1 for null, and another number for what is missing."""
    out = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            table = np.asarray(pc.fill_null(pc.index_in(chunk.dictionary, among), missing))
            codes = np.asarray(pc.fill_null(chunk.indices, -1))
            found = np.full(len(codes), -1, np.int32)
            found[codes >= 0] = table[codes[codes >= 0]]
        else:
            found = np.asarray(pc.fill_null(pc.index_in(chunk, among), missing)).copy()
            found[np.asarray(chunk.is_null())] = -1
        out.append(found.astype(np.int32))
    return np.concatenate(out) if out else np.zeros(0, np.int32)


def _shared_codes(column: pa.ChunkedArray) -> Ints:
    """Return a code for each distinct text; -1 for null and for the empty text."""
    texts = _distinct(column).drop_null()
    codes = _positions(column, texts).astype(np.int64)
    empty = pc.index(texts, "").as_py()
    codes[codes == (empty if empty >= 0 else -2)] = -1
    return dense(codes)[0]


def _equal(column: pa.ChunkedArray, text: str) -> Flags:
    """Mark the rows that have a text."""
    return np.asarray(_positions(column, pa.array([text])) == 0, np.bool_)


def _floats(column: pa.ChunkedArray) -> Floats:
    """Return a column as finite floats, with 0 for null and nan."""
    values = np.asarray(pc.fill_null(column, 0.0), np.float64)
    return np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST)


def _integers(column: pa.ChunkedArray) -> Ints:
    """Return a column as integers, with -1 for null."""
    return np.asarray(pc.fill_null(column, -1), np.int64)


def _flags(column: pa.ChunkedArray, *, missing: bool = False) -> Flags:
    """Return a column as flags, with a value for null."""
    return np.asarray(pc.fill_null(column, missing), np.bool_)


def _at(values: Ints, places: Ints) -> Ints:
    """Return the value at each place; -1 where the place is negative."""
    if not len(values):
        return np.full(len(places), -1, np.int64)
    return np.where(places >= 0, values[places], -1)
