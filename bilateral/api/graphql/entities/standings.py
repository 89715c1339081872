"""Rows of standings, which the public subgraph does not have."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from sqlalchemy import BigInteger, and_, cast, exists, false, func, literal_column, or_

from bilateral.api.graphql.entities.agents import AgentRows, agent_id_text
from bilateral.api.graphql.rows import Rows, parsed_agent, text_of
from bilateral.api.graphql.values import FixedPoint, Id, String, Value, Whole
from bilateral.core.values.standing import Side
from bilateral.index.standing.tables import standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, FromClause

    from bilateral.api.graphql.rows import Scope

    Condition = ColumnElement[bool]

_DECIMALS: Final = 4
"""The decimals of figures: the tables have floating-point numbers, whose last digits differ between engines."""


class StandingRows(Rows):
    """The rows of `Standing`: of agents as servers, and as clients those that are rated."""

    entity: ClassVar = "Standing"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.source = self.standing = table = standing.alias()
        agents = AgentRows(scope).of(table)
        self.conditions = [
            scope.of("identity", table.c.chain_id, table.c.identity_registry),
            exists().where(*agents.conditions).correlate(table),
        ]
        self.key = tuple(table.c[column.name] for column in standing.primary_key)

    def of(self, rows: FromClause) -> StandingRows:
        """Keep the standing of the agent of a row as a server."""
        return self.on(rows, Side.SERVER)

    def on(self, rows: FromClause, side: Side) -> StandingRows:
        """Keep the standing of the agent of a row on one side."""
        table, registry = self.standing.c, self.scope.registry("identity", rows.c.chain_id)
        self.conditions += [table.chain_id == rows.c.chain_id, table.identity_registry == registry]
        self.conditions += [table.agent_id == rows.c.agent_id, table.side == literal_column(f"'{side}'")]
        return self

    @property
    def fields(self) -> Mapping[str, Callable[[], Value]]:
        columns = self.standing.c
        figures = {
            "lower": columns.lower_bound,
            "upper": columns.upper_bound,
            "effectiveRaters": columns.effective_raters,
            "paid": columns.paid,
            "evidenceCost": columns.evidence_cost,
        }
        return {
            "id": lambda: Id(text_of(agent_id_text(self.standing, self.scope), columns.side), self._find),
            "side": lambda: String(columns.side),
            "status": lambda: String(columns.status),
            "raters": lambda: Whole(columns.raters),
            "payments": lambda: Whole(columns.payments),
            "reasons": lambda: String(columns.reasons),
            **{name: partial(_figure, column) for name, column in figures.items()},
        }

    @property
    def links(self) -> Mapping[str, Callable[[], Rows]]:
        return {"agent": lambda: AgentRows(self.scope).of(self.standing)}

    def _find(self, ids: Sequence[str]) -> Condition:
        columns, conditions = self.standing.c, []
        for text in ids:
            agent, _, side = text.rpartition(":")
            if (key := parsed_agent(agent)) is not None and self.scope.has_chain(key[0]):
                conditions.append(and_(columns.chain_id == key[0], columns.agent_id == key[1], columns.side == side))
        return or_(false(), *conditions)


def _figure(column: ColumnElement[float]) -> Value:
    """Return a figure, rounded."""
    units = cast(func.round(column * literal_column(str(10**_DECIMALS))), BigInteger)
    return FixedPoint(units, literal_column(str(_DECIMALS)))
