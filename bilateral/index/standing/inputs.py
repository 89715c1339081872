"""The tables of an analysis, built from the rows of one identity registry and the registries that belong to it."""

# ruff: noqa: S608  # these statements are made of constants; values are parameters

import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection

from bilateral.core.values.currency import ETHER, symbol_of
from bilateral.index.log.columns import python_integer
from bilateral.index.payments.terms import MICROS
from bilateral.index.standing import opinions
from bilateral.index.standing.proofs import ClaimedTransactions, Proofs
from bilateral.index.standing.tables import FundingState
from bilateral.trust.tables.schema import COLUMNS, OPTIONAL, SEALED, Tables

_OF_AGENTS: Final = "chain_id = :chain_id AND identity_registry = :identity"
_OF_IDENTITY: Final = "chain_id = :chain_id AND registry = :identity"

_AGENTS: Final = f"""
    SELECT agent_id, owner, coalesce(wallet, owner), uri, registered_at FROM agent WHERE {_OF_AGENTS} ORDER BY agent_id
"""

_HOLDERS: Final = f"""
    SELECT agent_id, from_address, to_address, block_time FROM transfer
    WHERE {_OF_IDENTITY} AND from_address <> to_address AND agent_id IN (
      SELECT agent_id FROM transfer WHERE {_OF_IDENTITY} AND from_address <> to_address
      GROUP BY agent_id HAVING count(*) > 1 OR max(from_address) <> :nobody)
    ORDER BY block_number, log_index
"""
"""The transfers of agents that changed hands. The first transfer of most agents, at registration, is the only one."""

_OPERATORS: Final = f"SELECT DISTINCT owner, operator FROM approval_for_all WHERE {_OF_IDENTITY} AND is_approved"
_APPROVED: Final = f"SELECT DISTINCT agent_id, owner, account FROM approval WHERE {_OF_IDENTITY} AND account <> :nobody"

_VALIDATIONS: Final = f"""
    SELECT validator_address, agent_id, response, block_time, block_number, log_index, transaction_hash
    FROM validation_response answered
    WHERE chain_id = :chain_id AND {opinions.OF_REGISTRY} AND NOT EXISTS (
      SELECT 1 FROM validation_response later
      WHERE later.chain_id = answered.chain_id AND later.registry = answered.registry
        AND later.request_hash = answered.request_hash
        AND (+later.block_number, later.log_index) > (answered.block_number, answered.log_index))
    ORDER BY block_number, log_index
"""
"""The last response to each request. The plus sign keeps SQLite from reading all later responses for each response."""

_CHOSEN: Final = f"""
    SELECT account, agent_id FROM primary_agent WHERE {_OF_AGENTS}
    UNION ALL SELECT account, agent_id FROM companion_agent WHERE {_OF_AGENTS}
"""

_FUNDING: Final = """
    SELECT source, account, amount, block_time, block_number, transaction_hash
    FROM funding WHERE chain_id = :chain_id AND state = :state ORDER BY block_time, block_number, account
"""

_PAYMENTS: Final = f"""
    SELECT agent_id, payer, payee, micros, block_time, block_number, log_index, transaction_hash
    FROM payment WHERE {_OF_AGENTS} ORDER BY block_number, log_index
"""

_RETURNS: Final = f"""
    SELECT payee, receiver, micros, block_time, block_number, log_index, transaction_hash
    FROM payment_return moved WHERE chain_id = :chain_id AND payee IN (SELECT payee FROM payment WHERE {_OF_AGENTS})
    AND NOT EXISTS (
      SELECT 1 FROM payment WHERE payment.chain_id = moved.chain_id
        AND payment.block_number = moved.block_number AND payment.log_index = moved.log_index
        AND payment.payer = moved.payee)
    ORDER BY block_number, log_index
"""
"""The money that paid wallets passed on, except for purchases, because these do not reward a seller's ratings."""

_PROOFS: Final = f"""
    SELECT reference.block_number, reference.log_index, claimed.payment_transaction
    FROM referenced_file reference JOIN feedback_file claimed ON claimed.content_hash = reference.content_hash
    WHERE reference.chain_id = :chain_id AND {opinions.OF_REGISTRY} AND reference.kind = 'feedback'
      AND reference.integrity IS NOT NULL AND claimed.payment_transaction IS NOT NULL
"""


@dataclass(frozen=True)
class IndexedTables:
    """The tables of an analysis, with the event from which each row was derived.

    Attributes:
        tables: The tables. Their payments are those in the index. Their transfers are accounts' initial funds, and
            money that paid wallets passed on other than by purchases, which may flow back to the payers.
        places: The events from which the rows of each table were derived, indexed by the row's id or position.
        left_out: The number of rows that were left out because their agent is missing or their validator has no agent.
    """

    tables: Tables
    places: Mapping[str, Sequence[opinions.Place]]
    left_out: int


def read_tables(connection: Connection, chain_id: int, identity_registry: str) -> IndexedTables:
    """Read the tables of an identity registry's agents from the index."""
    return TableReader(chain_id, identity_registry).read(connection)


class TableReader:
    """Reads the tables of an identity registry's agents repeatedly. Opinions are cached, so only new ones are read.

    Args:
        identity_registry: The identity registry, in checksum form.
    """

    def __init__(self, chain_id: int, identity_registry: str) -> None:
        self.claimed = ClaimedTransactions()
        self._values = {"chain_id": chain_id, "identity": identity_registry}
        self._feedback = [opinions.CachedEvents(opinions.FEEDBACK), opinions.CachedEvents(opinions.AUTHORIZED_FEEDBACK)]
        self._ratings = opinions.CachedEvents(opinions.RATINGS)

    def read(self, connection: Connection) -> IndexedTables:
        """Read the tables. The result is the same as that of a new reader."""
        feedback = pa.concat_tables([cached.read(connection, self._values) for cached in self._feedback])
        ratings = self._ratings.read(connection, self._values)
        left_out = sum(cached.too_large for cached in (*self._feedback, self._ratings))
        return _Reading(connection, self._values, left_out, self.claimed).tables(feedback, ratings)


class _Reading:
    """The steps that turn an index's rows into an analysis's tables."""

    def __init__(
        self, connection: Connection, values: Mapping[str, Any], left_out: int, claimed: ClaimedTransactions
    ) -> None:
        self._connection, self._values, self._left_out, self._claimed = connection, values, left_out, claimed
        self._places: dict[str, Any] = {"validations": [], "payments": [], "transfers": []}

    def tables(self, feedback: pa.Table, ratings: pa.Table) -> IndexedTables:
        """Read every table, except for feedback and ratings, whose events are arguments."""
        agents = [row for row in self._rows(_AGENTS, number=0) if row[0] <= opinions.LARGEST_ID]
        self._owners, self._periods = {row[0]: row[1] for row in agents}, self._holders()
        self._speaker = {row[0]: row[2] for row in agents}
        self._ids = pa.array(list(self._speaker), pa.int64())
        self._agents_of: dict[str, int] = {}
        # An account's first agent counts, but not an agent that another account gave to it.
        for agent_id, owner, wallet, *_ in sorted(agents, key=lambda row: (row[0] not in self._periods, -row[0])):
            self._agents_of[wallet] = self._agents_of[owner] = agent_id
        self._agents_of |= {row[0]: row[1] for row in self._rows(_CHOSEN, number=1) if row[1] in self._speaker}
        payments = list(self._payments())
        self._proofs = Proofs(self._rows(_PROOFS), payments, {row[0]: {*row[1:3]} for row in agents}, self._claimed)
        validations = list(self._validations())
        rated, judged = self._rated(ratings), self._judged(feedback)
        validators = {row[0] for row in validations}.union(rated["validator_id"].unique().to_pylist())
        operators, ids = self._operators(judged, validations), list(self._speaker)
        derived = map(validators.__contains__, ids), map(operators.get, ids), map(self._periods.get, ids)
        tables = Tables.of(
            agents=_table("agents", map(operator.add, agents, zip(*derived, strict=True))),
            feedback=judged,
            ratings=rated,
            validations=_table("validations", validations),
            payments=_table("payments", payments),
            transfers=_table("transfers", self._transfers()),
        )
        return IndexedTables(tables, self._places, self._left_out)

    def _rows(self, query: str, number: int = -1, **values: Any) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a query. The column `number` contains the ids of agents, which have up to 256 bits."""
        for row in opinions.cursor_of(self._connection, query, {**self._values, **values}):
            is_ready = number < 0 or type(row[number]) is int
            yield row if is_ready else (*row[:number], python_integer(row[number]), *row[number + 1 :])

    def _holders(self) -> dict[int, list[dict[str, Any]]]:
        """Return the owners of each agent that changed hands, in order, with their start times; None for no owner."""
        holders: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for agent_id, sender, receiver, time in self._rows(_HOLDERS, number=0, nobody=opinions.NOBODY):
            periods = holders[agent_id]
            # A registry may issue agents without an initial transfer from the zero address.
            if not periods and sender != opinions.NOBODY:
                periods.append({"account": sender, "since": 0.0})
            periods.append({"account": None if receiver == opinions.NOBODY else receiver, "since": float(time)})
        return {agent_id: periods for agent_id, periods in holders.items() if len(periods) > 1}

    def _holder_before(self, agent_id: int, time: float) -> str | None:
        """Return the account that owned an agent at a given time; None for the current owner."""
        periods = self._periods.get(agent_id, [])
        later = [place for place, period in enumerate(periods) if place and period["since"] >= time]
        return periods[later[0] - 1]["account"] if later else None

    def _operators(self, feedback: pa.Table, validations: Iterable[tuple[Any, ...]]) -> dict[int, list[str]]:
        """Return each agent's raters that its owner had approved as operators of the agent or of all owned agents."""
        # An owner may have thousands of agents and operators, so their pairs are not enumerated. Instead, each account
        # that judged an agent is looked up among the approvals.
        for_all = {tuple(row) for row in self._rows(_OPERATORS)}
        for_one = {tuple(row) for row in self._rows(_APPROVED, number=0, nobody=opinions.NOBODY)}
        approved = {row[-1] for row in for_all | for_one} - {opinions.NOBODY}
        by_approved = feedback.filter(pc.is_in(feedback["client"], pa.array(sorted(approved), pa.string())))
        clients, agents = (by_approved[name].to_pylist() for name in ("client", "agent_id"))
        validated = ((self._owners[row[0]], row[1]) for row in validations)
        subjects: dict[int, list[str]] = defaultdict(list)
        for account, agent_id in {*zip(clients, agents, strict=True), *validated}:
            owner = self._owners[agent_id]
            if account in approved and ((owner, account) in for_all or (agent_id, owner, account) in for_one):
                subjects[agent_id].append(account)
        return {agent_id: sorted(accounts) for agent_id, accounts in subjects.items()}

    def _of_indexed(self, rows: pa.Table, *columns: str) -> pa.Table:
        """Return the rows whose agents are in the table of agents. Add the other rows to the number left out."""
        for column in columns:
            existing = rows.filter(pc.is_in(rows[column], self._ids))
            self._left_out += rows.num_rows - existing.num_rows
            rows = existing
        return rows

    def _judged(self, rows: pa.Table) -> pa.Table:
        """Return the unrevoked open and authorised feedback, with the payments that it proves."""
        rows = self._of_indexed(rows, "agent_id")
        self._places["feedback"] = opinions.Places(rows)
        proven = np.full(rows.num_rows, None, object)
        places = np.flatnonzero(np.isin(rows["block"].to_numpy(), self._proofs.blocks()))
        claiming = rows.select(["block", "log", "client", "agent_id"]).take(places)
        for place, claim in zip(places.tolist(), claiming.to_pylist(), strict=True):
            proven[place] = self._proofs.of(*claim.values())
        return pa.table(
            {
                "id": np.arange(rows.num_rows),
                **{name: rows[name] for name in ("client", "agent_id", "value", "tag", "ts")},
                "payment_tx": pa.array(proven, pa.string()),
            }
        )

    def _rated(self, rows: pa.Table) -> pa.Table:
        """Return the ratings of validators, and of clients by the account whose primary agent the client is."""
        rows = self._of_indexed(rows, "agent_id", "server_id")
        self._places["ratings"] = opinions.Places(rows)
        is_client = pc.equal(rows["kind"], "client")
        speakers = pa.array(self._speaker.values(), pa.string()).take(pc.index_in(rows["agent_id"], self._ids))
        moved = pa.array(sorted(self._periods.keys() & self._speaker.keys()), pa.int64())
        handed_over = pc.is_in(rows["agent_id"], moved)
        if pc.any(handed_over).as_py():  # servers' ratings of an earlier owner are not about the current one
            places = np.flatnonzero(handed_over)
            claims = rows.select(["agent_id", "ts"]).take(places).to_pylist()
            earlier = [self._holder_before(claim["agent_id"], claim["ts"]) for claim in claims]
            renamed = np.array(speakers.to_pylist(), object)
            renamed[places] = [own or speaker for own, speaker in zip(earlier, renamed[places], strict=True)]
            speakers = pa.array(renamed, pa.string())
        return pa.table(
            {
                "id": np.arange(rows.num_rows),
                "kind": rows["kind"],
                "client": pc.if_else(is_client, speakers, pa.scalar(None, pa.string())),
                "validator_id": pc.if_else(is_client, pa.scalar(None, pa.int64()), rows["agent_id"]),
                **{name: rows[name] for name in ("server_id", "rating", "ts", SEALED)},
            }
        )

    def _validations(self) -> Iterator[tuple[Any, ...]]:
        for validator, agent_id, response, time, *place in self._rows(_VALIDATIONS, number=1):
            own = self._agents_of.get(validator)
            # An account that holds an agent now did not rate in its name before it received the agent.
            if own is not None and agent_id in self._speaker and self._holder_before(own, time) in (None, validator):
                self._places["validations"].append(("validation_response", *place))
                yield own, agent_id, float(response), float(time)
            else:
                self._left_out += 1

    def _payments(self) -> Iterator[tuple[Any, ...]]:
        """Yield the payments to agents. Each has its own id, because a transaction may contain several payments."""
        for agent_id, payer, payee, micros, time, *place in self._rows(_PAYMENTS, number=0):
            if agent_id in self._speaker:
                self._places["payments"].append(("payment", *place))
                yield f"0x{bytes(place[2]).hex()}:{place[1]}", payer, payee, agent_id, micros / 10**MICROS, float(time)
            else:
                self._left_out += 1

    def _transfers(self) -> list[tuple[Any, ...]]:
        """Return first inbound transfers with a known source, and money that paid wallets passed on, by time."""
        # Money from a paid wallet cannot be initial funds: its receiver may already have had money.
        rows: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
        coin = symbol_of(self._values["chain_id"])
        for source, account, amount, time, block, hash_ in self._rows(_FUNDING, state=FundingState.FOUND.value):
            funds = (source, account, python_integer(amount) / ETHER, float(time), True, coin)
            rows.append((funds, ("funding", block, None, hash_)))
        for payee, receiver, micros, time, *place in self._rows(_RETURNS):
            rows.append(((payee, receiver, micros / 10**MICROS, float(time), False, None), ("payment_return", *place)))
        rows.sort(key=lambda row: row[0][3])  # the ledger also sorts by time, and positions count in that order
        self._places["transfers"] = [place for _, place in rows]
        return [row for row, _ in rows]


def _table(name: str, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    return opinions.table_of(rows, pa.schema((COLUMNS[name] | OPTIONAL.get(name, {})).items()))
