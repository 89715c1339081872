"""Encode tables as a ledger: addresses, ids and strings become numbers in arrays."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.payments.contracts import CANONICAL
from bilateral.core.values import MEASURED_TAGS
from bilateral.trust.tables.arrays import Flags, Floats, Ints, contained, distinct_keys, first_of, lexical_order, pairs
from bilateral.trust.tables.columns import (
    at,
    coded_together,
    distinct,
    equal,
    flags,
    floats,
    integers,
    positions,
    shared_codes,
)
from bilateral.trust.tables.holdings import Holdings
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind, Opinions, proven, scaled
from bilateral.trust.tables.schema import OPTIONAL, SEALED, Tables

_DENSE: Final = 8
"""The ratio of largest id to number of agents below which a lookup table (4 bytes per id) is faster than a search."""


def coded(tables: Tables) -> Ledger:
    """Encode tables as a ledger."""
    return _Coding(tables).ledger()


@dataclass(frozen=True)
class _Moves:
    """Transfers as parallel arrays, sorted by time. `funds` marks those that can be their receiver's first transfer."""

    src: Ints
    dst: Ints
    sent: Floats
    sent_at: Floats
    funds: Flags | None


class _Coding:
    """The steps that turn tables into a ledger."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        columns = {
            (name, column): getattr(tables, name)[column]
            for name, column in (
                *(("agents", "owner"), ("agents", "wallet"), ("feedback", "client"), ("ratings", "client")),
                *(("payments", "payer"), ("payments", "payee"), ("transfers", "src"), ("transfers", "dst")),
            )
        }
        if "holders" in tables.agents.column_names:
            columns["agents", "holders"] = pc.struct_field(pc.list_flatten(tables.agents["holders"]), "account")
        self.addresses, codes = coded_together(list(columns.values()))
        self.accounts = dict(zip(columns, codes, strict=True))
        self.canonical = _canonical(self.addresses)
        order = lexical_order(integers(tables.agents["agent_id"]))
        ids = integers(tables.agents["agent_id"])[order]
        self.agent_order = order[first_of(ids)]
        self.agent_ids = ids[first_of(ids)]
        self.holdings = self._holdings()
        self.dropped = 0

    def ledger(self) -> Ledger:
        """Encode every table."""
        agents, ended, tenures = self.tables.agents, self.holdings.ended, self.holdings.tenures(len(self.agent_ids))
        identity = np.append(np.arange(len(self.agent_ids)), self.holdings.agent[ended])
        received = ~first_of(self.holdings.agent)
        is_received = np.zeros(len(identity), bool)
        is_received[tenures[received]] = True
        registered = floats(agents["ts"])[self.agent_order][identity]
        registered[tenures[received]] = self.holdings.since[received]
        until = np.full(len(identity), np.inf)
        until[tenures[ended]] = self.holdings.since[1:][ended[:-1]]
        owner = self.accounts["agents", "owner"][self.agent_order][identity]
        holder = np.where(self.holdings.account < 0, owner[self.holdings.agent], self.holdings.account)
        owner[tenures[ended]] = holder[ended]  # an unknown account has no opinions or payments
        wallet = self.accounts["agents", "wallet"][self.agent_order][identity]
        wallet = np.where((wallet < 0) | (np.arange(len(identity)) >= len(self.agent_ids)), owner, wallet)
        payments, transfers = self.tables.payments, self.tables.transfers
        payer, payee = self.accounts["payments", "payer"], self.accounts["payments", "payee"]
        payer = np.where(self.canonical[payer] | self.canonical[payee], -1, payer)
        paid_at, paid_agent = floats(payments["ts"]), self.agent(payments["agent_id"])
        accounts, count = len(self.addresses), len(identity)
        kinds = (count, accounts, count, count, count)
        opinions, tags, constant = self.opinions(kinds, owner, (payer, paid_agent))
        sent_at = floats(transfers["ts"])
        by_time = lexical_order(sent_at)
        src, dst = self.accounts["transfers", "src"][by_time], self.accounts["transfers", "dst"][by_time]
        sent, sent_at = floats(transfers["amount"])[by_time], sent_at[by_time]
        funds = flags(transfers["funds"], missing=True)[by_time] if "funds" in transfers.column_names else None
        moves = _Moves(src, dst, sent, sent_at, funds)
        coins = pa.array([], pa.string())
        coin: Ints = np.full(len(sent), -1, np.int32)
        if "coin" in transfers.column_names:
            coins = distinct(transfers["coin"]).drop_null()
            coin = positions(transfers["coin"], coins)[by_time]
        funder, funded_at, funded_with = _first_transfers(accounts, moves)
        registrations = owner[~is_received], registered[~is_received]
        acts = ((src, sent_at), (opinions.rater, opinions.ts), (payer, paid_at), registrations)
        # Right after an account acts without gas of its own, a stranger may send it money to look like its funder.
        late = (funded_at > _first_act(acts, accounts)) | self.canonical[funder] | self.canonical[:-1]
        funder[late], funded_at[late], funded_with[late] = -1, np.nan, np.nan
        return Ledger(
            addresses=self.addresses,
            agent_ids=self.agent_ids[identity],
            identity=identity,
            owner=owner,
            wallet=wallet,
            registered=registered,
            until=until,
            is_received=is_received,
            holdings=self.holdings,
            operated=self.operated(),
            is_validator=flags(agents["is_validator"])[self.agent_order][identity],
            uri=np.where(is_received, -1, shared_codes(agents["uri"])[self.agent_order][identity]),
            tags=tags,
            constant_tags=constant,
            opinions=opinions,
            subject_account=np.concatenate([owner, np.arange(accounts), owner, owner, owner]),
            subject_agent=np.concatenate(
                [np.arange(count), np.full(accounts, -1), np.arange(count), np.arange(count), np.arange(count)]
            ),
            subject_kind=np.repeat(np.arange(len(kinds)), kinds),
            payer=payer,
            payee=payee,
            paid_agent=self.tenure(paid_agent, paid_at),
            amount=floats(payments["amount"]),
            paid_at=paid_at,
            src=np.where(self.canonical[src], -1, src),
            dst=np.where(self.canonical[dst], -1, dst),
            sent=sent,
            sent_at=sent_at,
            coin=coin,
            coins=coins.to_pylist(),
            moved=by_time.astype(np.int32),
            funding=_funding(moves, funder, funded_at, funded_with),
            funder=funder,
            funded_at=funded_at,
            funded_with=funded_with,
            dropped=self.dropped,
        )

    def _holdings(self) -> Holdings:
        holders, agent = self.listed("holders")
        account = self.account(pa.chunked_array([pc.struct_field(holders, "account")]))
        return Holdings.of(agent, account, floats(pc.struct_field(holders, "since")))

    def operated(self) -> Ints:
        """Return the agent-operator pairs."""
        operators, agent = self.listed("operators")
        account = self.account(pa.chunked_array([operators], pa.string()))
        valid = (agent >= 0) & (account >= 0)
        return distinct_keys(pairs(agent[valid], account[valid], len(self.addresses)))

    def listed(self, name: str) -> tuple[pa.Array, Ints]:
        """Return the entries in an optional list column, and the agent of each entry; -1 for a repeated row."""
        agents = self.tables.agents
        if name not in agents.column_names:
            return pa.array([], OPTIONAL["agents"][name].value_type), np.zeros(0, np.int64)
        lists = agents[name].combine_chunks()
        place = np.full(agents.num_rows, -1, np.int64)
        place[self.agent_order] = np.arange(len(self.agent_order))
        return pc.list_flatten(lists), place[np.asarray(pc.list_parent_indices(lists), np.int64)]

    def account(self, column: pa.ChunkedArray) -> Ints:
        """Return the account of each address; -1 for null."""
        return positions(column, self.addresses)

    def agent(self, column: pa.ChunkedArray) -> Ints:
        """Return the agent of each id; -1 for null and for unknown ids."""
        ids = integers(column)
        count, last = len(self.agent_ids), int(self.agent_ids[-1]) if len(self.agent_ids) else -1
        if last < _DENSE * count:  # most registries number their agents from 0 or 1
            table = np.full(last + 2, -1, np.int32)
            table[self.agent_ids] = np.arange(count)
            return table[np.where((ids >= 0) & (ids <= last), ids, -1)]  # a negative index would count from the end
        places = np.minimum(np.searchsorted(self.agent_ids, ids), count - 1)
        return np.where(self.agent_ids[places] == ids, places, -1).astype(np.int32)

    def tenure(self, agent: Ints, time: Floats) -> Ints:
        """Return the tenures of agents at specific times; -1 for unknown agents and unknown holders."""
        return self.holdings.at(agent, time, len(self.agent_ids))

    def opinions(
        self, kinds: tuple[int, ...], owner: Ints, pays: tuple[Ints, Ints]
    ) -> tuple[Opinions, list[str], Ints]:
        """Return all opinions, the tags, and the constant tags."""
        offsets = np.concatenate([[0], np.cumsum(kinds)])
        feedback, ratings, validations = self.tables.feedback, self.tables.ratings, self.tables.validations
        out = Opinions.empty(feedback.num_rows + ratings.num_rows + validations.num_rows)
        tags, constant = self._feedback(out, offsets, pays)
        if feedback["payment_tx"].null_count < feedback.num_rows:
            says = out.rater[: feedback.num_rows], self.agent(feedback["agent_id"])
            out.put(0, payment=proven(feedback["payment_tx"], self.tables.payments["tx"], pays, says))
        of_client = equal(ratings["kind"], "client")
        rated_at, validated_at = floats(ratings["ts"]), floats(validations["ts"])
        validator = self.tenure(self.agent(ratings["validator_id"]), rated_at)
        rated = np.where(of_client, self.accounts["ratings", "client"], validator)
        kind = np.where(of_client, Kind.CLIENT_RATING, Kind.VALIDATOR_RATING)
        out.put(
            feedback.num_rows,
            rater=at(owner, self.tenure(self.agent(ratings["server_id"]), rated_at)),
            subject=np.where(rated < 0, -1, rated + offsets[kind]),
            kind=kind,
            percent=np.clip(floats(ratings["rating"]), 0, 100),
            raw=np.clip(floats(ratings["rating"]), 0, 100),
            ts=rated_at,
            row=integers(ratings["id"]),
            **({"is_sealed": flags(ratings[SEALED])} if SEALED in ratings.column_names else {}),
        )
        validated = self.tenure(self.agent(validations["agent_id"]), validated_at)
        response = np.clip(floats(validations["response"]), 0, 100)
        out.put(
            feedback.num_rows + ratings.num_rows,
            rater=at(owner, self.tenure(self.agent(validations["validator_id"]), validated_at)),
            subject=np.where(validated < 0, -1, validated + offsets[Kind.VALIDATION]),
            kind=np.full(len(response), int(Kind.VALIDATION)),
            percent=response,
            raw=response,
            ts=validated_at,
            row=np.arange(len(response)),
        )
        every, sorted_opinions = len(out), out.sorted()
        self.dropped += every - len(sorted_opinions)
        return sorted_opinions, tags, constant

    def _paid(self, rows: Ints, agent: Ints, pays: tuple[Ints, Ints]) -> Flags:
        """Mark the feedback, among some rows, whose client has paid the agent at any time."""
        payer, paid = pays[0], self.tenure(pays[1], floats(self.tables.payments["ts"]))
        some = (payer >= 0) & (paid >= 0) & (floats(self.tables.payments["amount"]) > 0)
        clients, size = self.accounts["feedback", "client"][rows], len(self.addresses)
        return contained(pairs(agent[rows], clients, size), distinct_keys(pairs(paid[some], payer[some], size)))

    def _feedback(self, out: Opinions, offsets: Ints, pays: tuple[Ints, Ints]) -> tuple[list[str], Ints]:
        """Write the feedback, except its payments, and return the tags and the constant tags."""
        feedback = self.tables.feedback
        texts = distinct(feedback["tag"]).drop_null()
        tag, raw = positions(feedback["tag"], texts), floats(feedback["value"])
        percent, constant = scaled(raw, tag, texts.to_pylist())
        out.put(0, tag=tag, raw=raw, percent=percent)
        kind = np.where(np.isin(tag, constant), np.int8(Kind.CONSTANT_TAG), np.int8(Kind.FEEDBACK))
        measured = np.flatnonzero(np.append(flags(pc.is_in(texts, pa.array(MEASURED_TAGS))), False)[tag])
        del tag, raw, percent
        agent = self.tenure(self.agent(feedback["agent_id"]), floats(feedback["ts"]))
        if len(measured):
            measured = measured[(agent[measured] >= 0) & ~self._paid(measured, agent, pays)]
        agent[measured], self.dropped = -1, -len(measured)
        out.put(0, kind=kind, subject=np.where(agent < 0, -1, agent + offsets[kind]))
        out.put(0, rater=self.accounts["feedback", "client"], ts=floats(feedback["ts"]), row=integers(feedback["id"]))
        return texts.to_pylist(), constant


def _canonical(addresses: pa.Array) -> Flags:
    """Mark contracts that forward x402 payments without owning them; False at -1, which stands for no account."""
    texts = pa.array([spelling for address in sorted(CANONICAL) for spelling in (address, address.lower())])
    return np.append(np.asarray(pc.is_in(addresses, texts), np.bool_), False)


def _first_transfers(size: int, moves: _Moves) -> tuple[Ints, Floats, Floats]:
    """Return the sender (or -1), time and amount (or nan) of each account's first inbound transfer."""
    # If several transfers have the same time, the first one is determined by sender and amount.
    funder, funded_at, amount = np.full(size, -1, np.int64), np.full(size, np.nan), np.full(size, np.nan)
    inbound = (moves.dst >= 0) & (moves.src >= 0) & (moves.src != moves.dst)
    if moves.funds is not None:
        inbound &= moves.funds
    rows = np.flatnonzero(inbound)
    rows = rows[lexical_order(moves.sent[rows], moves.src[rows], moves.sent_at[rows])][::-1]
    funder[moves.dst[rows]] = moves.src[rows]  # written in reverse order of time, so the first remains
    funded_at[moves.dst[rows]], amount[moves.dst[rows]] = moves.sent_at[rows], moves.sent[rows]
    return funder, funded_at, amount


def _funding(moves: _Moves, funder: Ints, funded_at: Floats, amount: Floats) -> Ints:
    """Return the position of the transfer that funds each account; -1 if unknown."""
    out = np.full(len(funder), -1, np.int32)
    rows = np.flatnonzero((moves.src >= 0) & (moves.dst >= 0))
    dst = moves.dst[rows]
    same = (funder[dst] == moves.src[rows]) & (funded_at[dst] == moves.sent_at[rows])
    rows = rows[same & (amount[dst] == moves.sent[rows])][::-1]
    out[moves.dst[rows]] = rows
    return out


def _first_act(acts: tuple[tuple[Ints, Floats], ...], size: int) -> Floats:
    """Return the time of each account's first action. Money that arrives later did not fund its creation."""
    # Otherwise, a stranger could send money to an old account whose funding is unknown, and look like its funder.
    first = np.full(size, np.inf)
    for accounts, times in acts:
        inside = accounts >= 0
        np.minimum.at(first, accounts[inside], times[inside])
    return first
