"""Lists on pages are read in the order of an index: strangers with many entries cannot make them slow."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from bilateral.index.log.database import open_database
from bilateral.index.payments import queries as paid
from bilateral.index.ratings import neighbourhood
from bilateral.index.ratings import recent as answers

TERMS_OF_CHAIN = "SEARCH payment_cursor USING INDEX sqlite_autoindex_payment_cursor_1 (chain_id=?)"
"""The step that reads the decimals of tokens: one row a chain."""


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (answers._BY, "response_appended_by_responder"),
        (answers._BY_ANYBODY, "response_appended_by_subject"),
        (paid._BY_SIDE["payee"], "payment_by_payee"),
    ],
    ids=["the agent's answer", "the newest answer", "payments to an account"],
)
def test_sqlite_reads_the_newest_entries_alone(statement, index, tmp_path):
    engine = open_database(f"sqlite:///{tmp_path / 'index.sqlite'}")
    compiled = statement._statement.compile(dialect=engine.dialect)  # the statement is the thing under test
    with engine.connect() as connection:
        values = (None,) * len(compiled.positiontup)
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values).all()
    engine.dispose()
    (_, *_, step), *further = plan
    assert f"USING INDEX {index} " in step
    assert {row[-1] for row in further} <= {"CORRELATED SCALAR SUBQUERY 1", TERMS_OF_CHAIN}


def test_sqlite_looks_counterparts_up_by_their_whole_key(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path / 'index.sqlite'}")
    keys = [(8453, f"0x{number:040x}", number, "starred", f"0x{number:040x}") for number in range(100)]
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2:4]))
    with engine.connect() as connection:
        connection.execute(neighbourhood._of_keys(keys, 8453))  # the statement is the thing under test
        statement, values = statements[-1]
        plan = [step for *_, step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    engine.dispose()
    (step,) = [entry for entry in plan if " counterpart " in f"{entry} "]
    key = ("chain_id", "registry", "agent_id", "side", "tag", "account")
    assert step == f"SEARCH counterpart USING PRIMARY KEY ({' AND '.join(f'{name}=?' for name in key)})"
