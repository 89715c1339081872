"""Analyse several chains together. An address is one account on all chains; each agent and row belongs to one chain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.results import Results
from bilateral.trust.tables.arrays import Ints
from bilateral.trust.tables.schema import Tables, plain_texts

_IDS: Final = {
    "agents": ("agent_id",),
    "feedback": ("id", "agent_id"),
    "ratings": ("id", "validator_id", "server_id"),
    "validations": ("validator_id", "agent_id"),
    "payments": ("agent_id",),
}
"""The columns whose ids are unique only within a chain."""

_SIZE: Final = 2**32
"""The number of possible ids on a chain. Combined with the chain's id (below 2**31), an id fits into 64 bits."""

_CHAINS: Final = 2**31
_NUMBER: Final = re.compile(r"\bagent (\d+)\b")


@dataclass(frozen=True)
class Chains:
    """Tables from several chains, joined for one analysis: `chains.apart(Results.of(Engine().fit(chains.tables)))`.

    Attributes:
        tables: The rows of all chains, with the chain encoded in each id.
        starts: The position of each chain's first row, by table.
        ids: The chain ids, in the order of the chains' rows.
    """

    tables: Tables
    starts: Mapping[str, Ints]
    ids: Ints

    @classmethod
    def of(cls, tables: Mapping[int, Tables]) -> Chains:
        """Join the tables of several chains."""
        for chain_id in tables:
            if not 0 < chain_id < _CHAINS:
                raise InvalidArgumentError(f"chain id {chain_id} must be an integer from 1 to {_CHAINS - 1}")
        numbered = [_numbered(own, chain_id) for chain_id, own in tables.items()]
        names = [field.name for field in fields(Tables)]
        rows = {name: [getattr(own, name).num_rows for own in tables.values()] for name in names}
        return cls(
            tables=Tables.of(**{name: _joined([getattr(own, name) for own in numbered]) for name in names}),
            starts={name: np.cumsum([0, *counts[:-1]]) for name, counts in rows.items()},
            ids=np.array(list(tables)),
        )

    def apart(self, results: Results) -> Results:
        """Return results in which each agent and row has a chain id and its original id on that chain."""
        sentences = pa.array([_with_chains(text) for text in results.findings["sentence"].to_pylist()], pa.string())
        place = results.findings.column_names.index("sentence")
        return replace(
            results,
            agents=_split(results.agents, "agent_id"),
            validators=_split(results.validators, "agent_id"),
            standings=_split(results.standings, "agent_id"),
            evidence=_split(results.evidence, "feedback_id"),
            findings=results.findings.set_column(place, "sentence", sentences),
            rows=self._rows(results.rows),
        )

    def _rows(self, rows: pa.Table) -> pa.Table:
        """Return the findings' rows by chain. Feedback and ratings are identified by id, other rows by position."""
        number, table = np.asarray(rows["row"]), np.array(rows["table"].to_pylist(), object)
        chain, own = np.divmod(number, _SIZE)
        for name in set(table.tolist()) - {"feedback", "ratings"}:
            chosen = table == name
            place = np.searchsorted(self.starts[name], number[chosen], side="right") - 1
            chain[chosen], own[chosen] = self.ids[place], number[chosen] - self.starts[name][place]
        return rows.set_column(rows.column_names.index("row"), "row", pa.array(own)).append_column(
            "chain_id", pa.array(chain)
        )


def of_chain(results: Results, chain_id: int | None) -> Results:
    """Restrict results to one chain's agents, because ids are unique only within a chain."""
    if "chain_id" not in results.agents.column_names:
        return results
    chains = sorted(pc.unique(results.agents["chain_id"]).to_pylist())
    if chain_id not in chains:
        raise InvalidArgumentError(f"these results cover chains {', '.join(map(str, chains))}: pass one as --chain-id")
    return replace(
        results,
        **{
            name: table.filter(pc.equal(table["chain_id"], chain_id))
            for name, table in (("agents", results.agents), ("standings", results.standings))
        },
    )


def _numbered(tables: Tables, chain_id: int) -> Tables:
    """Return a chain's tables with the chain encoded in each id."""
    numbered: dict[str, pa.Table] = {}
    for name, columns in _IDS.items():
        numbered[name] = getattr(tables, name)
        for column in columns:
            ids = numbered[name][column]
            bounds = pc.min_max(ids).as_py()
            if len(ids) > ids.null_count and not 0 <= bounds["min"] <= bounds["max"] < _SIZE:
                raise InvalidArgumentError(
                    f"{name}.{column} of chain {chain_id} ranges from {bounds['min']} to {bounds['max']}: several "
                    f"chains can only be analysed together if all values are from 0 to {_SIZE - 1}"
                )
            numbered[name] = numbered[name].set_column(
                numbered[name].column_names.index(column), column, pc.add(ids, pa.scalar(chain_id * _SIZE))
            )
    return replace(tables, **numbered)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Concatenate tables. A column that is dictionary-encoded in only some tables becomes plain text."""
    if any(not table.schema.equals(tables[0].schema) for table in tables):
        tables = [plain_texts(table) for table in tables]
    return pa.concat_tables(tables, promote_options="default")


def _split(table: pa.Table, column: str) -> pa.Table:
    chain = pc.divide(table[column], _SIZE)
    own = pc.subtract(table[column], pc.multiply(chain, _SIZE))
    place = table.column_names.index(column)
    return table.set_column(place, column, own).add_column(place, "chain_id", chain)


def _with_chains(sentence: str) -> str:
    """Return a sentence in which each agent is identified by its chain and id."""

    def agent_name(match: re.Match[str]) -> str:
        chain, own = divmod(int(match[1]), _SIZE)
        return f"agent {own} of chain {chain}" if chain else match[0]

    return _NUMBER.sub(agent_name, sentence)
