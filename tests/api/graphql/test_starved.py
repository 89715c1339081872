"""Published clients take `errors` for an empty answer, so a query that the machine starves is answered by a status."""

from __future__ import annotations

from bilateral.query import readers

QUERY = {"query": "{ feedbacks(first: 1000) { id value agent { id owner feedback(first: 100) { id tag1 } } } }"}


def test_starved_query_is_answered_with_a_status_and_a_time_to_come_again(api_with, api_reader, monkeypatch):
    is_sqlite = api_reader.dialect == "sqlite"
    with api_with(query_seconds=60.0 if is_sqlite else 0.001) as api:
        if is_sqlite:
            monkeypatch.setattr(readers, "_PATIENCE", 1e-9)  # the clock's part ends before the processor's
        answer = api.post("/graphql/31337", json=QUERY)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), answer.text
    assert answer.json()["code"] == ("busy" if is_sqlite else "query_timeout")


def test_query_that_costs_too_much_says_so_in_its_answer(api_with, api_reader):
    with api_with(query_seconds=1e-6) as api:
        answer = api.post("/graphql/31337", json={"query": "{ agents { id owner } }"})
    assert answer.status_code == (200 if api_reader.dialect == "sqlite" else 503)
    assert "longer than 1e-06 seconds" in answer.text
