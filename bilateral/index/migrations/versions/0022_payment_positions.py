"""Name payments by their transaction and their position in it, and store the trees of anchored states.

A message about a payment whose log has moved within its block finds the payment again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alembic import op
from sqlalchemy import Column, Integer, inspect, text

from bilateral.index.tables import payments

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

revision = "0022"
down_revision = "0021"

_MESSAGES: Final = (payments.buyer_feedback, payments.agent_review, payments.buyer_dispute)
_FORMER: Final = "payment_log_index"


def upgrade() -> None:
    """Create the table and the columns that a database lacks. A new one got them with its tables."""
    connection = op.get_bind()
    payments.buyer_tree.create(connection, checkfirst=True)
    if "node" not in _columns(connection, payments.buyer_state):
        op.add_column("buyer_state", payments.buyer_state.c.node.copy())
    if "confirmations" not in _columns(connection, payments.payment_cursor):
        op.add_column("payment_cursor", payments.payment_cursor.c.confirmations.copy())
    if "position" not in _columns(connection, payments.payment):
        op.add_column("payment", Column("position", Integer, nullable=False, server_default="0"))
        op.execute(
            "UPDATE payment SET position = (SELECT count(*) FROM payment earlier WHERE earlier.chain_id = "
            "payment.chain_id AND earlier.transaction_hash = payment.transaction_hash "
            "AND earlier.block_number = payment.block_number AND earlier.log_index < payment.log_index)"
        )
    for table in _MESSAGES:
        if _FORMER in _columns(connection, table):
            _rename(connection, table)


def _columns(connection: Connection, table: Table) -> set[str]:
    return {column["name"] for column in inspect(connection).get_columns(table.name)}


def _rename(connection: Connection, table: Table) -> None:
    """Replace the log indices of a table's messages by positions."""
    (index,) = (index for index in table.indexes if index.unique)
    rows = connection.execute(
        text(
            f"SELECT told.id, told.chain_id, told.transaction_hash, paid.position FROM {table.name} told "  # noqa: S608
            "LEFT JOIN payment paid ON paid.chain_id = told.chain_id "
            "AND paid.transaction_hash = told.transaction_hash AND paid.log_index = told.payment_log_index "
            "AND paid.payer = told.buyer ORDER BY told.payment_log_index"
        )
    ).all()
    index.drop(connection)
    op.execute(f"ALTER TABLE {table.name} RENAME COLUMN {_FORMER} TO payment_position")
    taken = {(row.chain_id, bytes(row.transaction_hash), row.position) for row in rows if row.position is not None}
    for row in rows:
        position = row.position
        if position is None:  # its payment left with its block, or its log moved: the lowest free position
            key, position = (row.chain_id, bytes(row.transaction_hash)), 0
            while (*key, position) in taken:
                position += 1
            taken.add((*key, position))
        statement = table.update().where(table.c.id == row.id).values(payment_position=position)
        connection.execute(statement)
    index.create(connection)
