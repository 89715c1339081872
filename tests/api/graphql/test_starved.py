"""Published clients take `errors` for an empty answer, so a query that the machine starves is answered by a status."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest

from bilateral.api.routes import graphql
from bilateral.index.reading import readers

QUERY = {"query": "{ feedbacks(first: 1000) { id value agent { id owner feedback(first: 100) { id tag1 } } } }"}


@pytest.mark.parametrize("api_database", ["sqlite"], indirect=True)  # PostgreSQL does not tell its processor time
def test_starved_query_is_answered_with_a_status_and_a_time_to_come_again(api, monkeypatch):
    monkeypatch.setattr(readers, "_CLOCK_FACTOR", 1e-9)  # the clock's part ends before the processor's
    answer = api.post("/graphql/31337", json=QUERY)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), answer.text
    assert answer.json()["code"] == "busy"


def test_query_that_costs_too_much_says_so(api, api_reader, monkeypatch):
    clock = count(0, 100)  # to read the query takes longer than the limit
    monkeypatch.setattr(graphql, "time", SimpleNamespace(thread_time=lambda: next(clock)))
    answer = api.post("/graphql/31337", json=QUERY)
    assert answer.status_code == (200 if api_reader.dialect == "sqlite" else 503)
    assert "longer than 60 seconds" in answer.text
