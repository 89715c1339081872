"""The rows that a market writes, which are all that a policy may see, and the tables of the analysis made of them."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from bilateral.trust.tables.schema import Tables

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLUMNS: Final[dict[str, dict[str, type]]] = {
    "agents": {"owner": np.int64, "kind": np.int64, "ts": np.float64},
    "feedback": {"client": np.int64, "agent": np.int64, "value": np.float64, "ts": np.float64, "payment": np.int64},
    "ratings": {"client": np.int64, "agent": np.int64, "value": np.float64, "ts": np.float64},
    "payments": {"payer": np.int64, "agent": np.int64, "amount": np.float64, "ts": np.float64},
    "transfers": {"src": np.int64, "dst": np.int64, "amount": np.float64, "ts": np.float64},
}
"""The columns by table. Accounts and agents are numbers; `payment` is the row of a payment, -1 without a proof."""


class Rows:
    """A table that grows, as arrays with room at their end."""

    def __init__(self, columns: dict[str, type]) -> None:
        """Make an empty table.

        Args:
            columns: The type of each column.
        """
        self._arrays: dict[str, np.ndarray[Any, Any]] = {name: np.empty(64, kind) for name, kind in columns.items()}
        self.size = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.size

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return a column."""
        return self._arrays[name][: self.size]

    def add(self, **columns: Any) -> np.ndarray[Any, Any]:
        """Add rows, and return their numbers.

        Args:
            **columns: All columns; a scalar is for all rows.
        """
        parts = np.broadcast_arrays(*(np.atleast_1d(columns[name]) for name in self._arrays))
        count = len(parts[0])
        room = len(next(iter(self._arrays.values())))
        if self.size + count > room:
            size = max(2 * room, self.size + count)
            self._arrays = {name: np.resize(array, size) for name, array in self._arrays.items()}
        for array, part in zip(self._arrays.values(), parts, strict=True):
            array[self.size : self.size + count] = part
        numbers = np.arange(self.size, self.size + count)
        self.size += count
        return numbers


@cache
def address(seed: int, number: int) -> str:
    """Return the address of an account. It tells nothing about who holds it.

    Args:
        seed: The seed of the market.
        number: The account's number.
    """
    return "0x" + sha256(f"{seed}/{number}".encode()).hexdigest()[:40]


class Log:
    """All rows of a market.

    Attributes:
        seed: The seed of the market.
        accounts: The number of accounts so far.
        agents, feedback, ratings, payments, transfers: The tables. The wallet of an agent is its owner.
        operators: The accounts that the owners of some agents approved, by agent.
    """

    def __init__(self, seed: int) -> None:
        """Make a log without rows.

        Args:
            seed: The seed of the market.
        """
        self.seed = seed
        self.accounts = 0
        self.agents, self.feedback, self.ratings, self.payments, self.transfers = (
            Rows(columns) for columns in _COLUMNS.values()
        )
        self.operators: dict[int, list[int]] = {}

    def open(self, count: int) -> np.ndarray[Any, Any]:
        """Open accounts, and return their numbers.

        Args:
            count: The number of accounts.
        """
        self.accounts += count
        return np.arange(self.accounts - count, self.accounts)

    def pay(self, payer: Any, agent: Any, amount: Any, ts: Any) -> np.ndarray[Any, Any]:
        """Write payments, and return their rows.

        Args:
            payer: The accounts that pay.
            agent: The agents that are paid.
            amount: The amounts in dollars.
            ts: The times.
        """
        return self.payments.add(payer=payer, agent=agent, amount=amount, ts=ts)

    def tables(self, ids: int = 1) -> Tables:
        """Return the tables of an analysis.

        Args:
            ids: The id of the first agent.
        """
        names = pa.array([address(self.seed, number) for number in range(self.accounts)])

        def accounts(numbers: Iterable[int]) -> pa.DictionaryArray:
            return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), names)

        agents, feedback, ratings, payments, transfers = (
            self.agents, self.feedback, self.ratings, self.payments, self.transfers,
        )  # fmt: skip
        count = len(agents)
        tx = pa.array([f"0x{number:064x}" for number in range(len(payments))], pa.string())
        proof = pa.array(np.maximum(feedback["payment"], 0), mask=feedback["payment"] < 0)
        operators = [[address(self.seed, number) for number in self.operators.get(row, ())] for row in range(count)]
        return Tables.of(
            agents=pa.table(
                {
                    "agent_id": np.arange(ids, ids + count),
                    "owner": accounts(agents["owner"]),
                    "wallet": accounts(agents["owner"]),
                    "uri": [f"ipfs://{self.seed}-{number}" for number in range(count)],
                    "ts": agents["ts"],
                    "is_validator": np.zeros(count, bool),
                    **({"operators": pa.array(operators, pa.list_(pa.string()))} if self.operators else {}),
                }
            ),
            feedback=pa.table(
                {
                    "id": np.arange(len(feedback)),
                    "client": accounts(feedback["client"]),
                    "agent_id": feedback["agent"] + ids,
                    "value": feedback["value"],
                    "tag": pa.array(["starred"] * len(feedback), pa.string()),
                    "ts": feedback["ts"],
                    "payment_tx": tx.take(proof),
                }
            ),
            ratings=pa.table(
                {
                    "id": np.arange(len(ratings)),
                    "kind": pa.array(["client"] * len(ratings), pa.string()),
                    "client": accounts(ratings["client"]),
                    "validator_id": pa.nulls(len(ratings), pa.int64()),
                    "server_id": ratings["agent"] + ids,
                    "rating": ratings["value"],
                    "ts": ratings["ts"],
                }
            ),
            payments=pa.table(
                {
                    "tx": tx,
                    "payer": accounts(payments["payer"]),
                    "payee": accounts(agents["owner"][payments["agent"]]),
                    "agent_id": payments["agent"] + ids,
                    "amount": payments["amount"],
                    "ts": payments["ts"],
                }
            ),
            transfers=pa.table(
                {
                    "src": accounts(transfers["src"]),
                    "dst": accounts(transfers["dst"]),
                    "amount": transfers["amount"],
                    "ts": transfers["ts"],
                }
            ),
        )
