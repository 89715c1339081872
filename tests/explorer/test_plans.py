"""Lists on pages are read in the order of an index: strangers with many entries cannot make them slow."""

from __future__ import annotations

import pytest

from bilateral.index.database import open_database
from bilateral.index.queries import answers, paid


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (answers._BY, "response_appended_by_responder"),
        (answers._BY_ANYBODY, "response_appended_by_subject"),
        (paid._BY_PAYEE, "payment_by_payee"),
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
    ((*_, step),) = plan
    assert f"USING INDEX {index} " in step
