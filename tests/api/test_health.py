"""Answers for monitors."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bilateral.api.load import Recent
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.operating.chains import chains
from bilateral.index.reading.readers import Reader
from tests.waiting import wait_until

pytestmark = pytest.mark.one_engine


def test_a_service_at_the_head_is_ready(api):
    assert api.get("/healthz").json() == {"status": "ok"}
    response = api.get("/readyz")
    assert (response.status_code, response.json()["ready"], response.json()["problems"]) == (200, True, [])


def test_a_service_whose_index_stands_still_is_not_ready(api_with):
    with api_with(max_silence=-1) as client:
        response = client.get("/readyz")
        assert (response.status_code, response.json()["ready"]) == (503, False)
        (problem,) = response.json()["problems"]
        assert problem.startswith("chain 31337 was last polled")


def test_a_service_whose_index_is_behind_the_head_is_not_ready(api_with):
    with api_with(max_lag=-1) as client:
        response = client.get("/readyz")
        problems = response.json()["problems"]
        assert (response.status_code, problems) == (503, ["chain 31337 is 0 blocks behind its head"])
        assert client.get("/healthz").status_code == 200


def test_figures_count_requests_by_route_and_show_the_lag(api_with):
    with api_with() as client:
        client.get("/v1/agents/31337:1")
        client.get("/v1/agents/31337:999")
        client.get("/nowhere")
        families = {item.name: item for item in text_string_to_metric_families(client.get("/metrics").text)}
    counted = {
        tuple(sample.labels.values()): sample.value
        for sample in families["bilateral_http_requests"].samples
        if sample.name.endswith("_total")
    }
    assert counted["GET", "/v1/agents/{agent}", "200"] == 1
    assert counted["GET", "/v1/agents/{agent}", "404"] == 1
    assert counted["GET", "other", "404"] == 1
    (lag,) = families["bilateral_chain_lag_blocks"].samples
    assert (lag.labels, lag.value) == ({"chain_id": "31337"}, 0)


@pytest.mark.parametrize("path", ["/v1/agents/31337:1", "/v1/agents/31337:999", "/v1/chains", "/agents/31337:1"])
def test_each_answer_says_its_block_and_lag(api_with, path):
    with api_with() as client:
        (chain,) = client.get("/readyz").json()["chains"]
        began = int(time.time())
        response = client.get(path, headers={"Origin": "https://page.example"})
        ended = int(time.time())
    state = dict(part.partition("=")[::2] for part in response.headers["Index-State"].split(";"))
    assert began <= int(state.pop("seconds")) + chain["block_time"] <= ended
    assert state == {"31337": "", "block": str(chain["block"]), "lag": str(chain["lag"])}
    assert "Index-State" in response.headers["Access-Control-Expose-Headers"]


@pytest.fixture
def count_reads(monkeypatch):
    """Return what counts the reads of chains from now on, and fails after some."""

    def count_from_now(most=10**9):
        queries = []

        def counting(method):
            def count(reader, query, *arguments, **options):
                queries.extend([chains] if query is chains else [])
                if len(queries) > most:
                    raise DatabaseUnavailableError("away")
                return method(reader, query, *arguments, **options)

            return count

        for name in ("read", "visit"):
            monkeypatch.setattr(Reader, name, counting(getattr(Reader, name)))
        return queries

    return count_from_now


def test_state_is_read_once_in_a_while_and_left_out_while_the_database_is_away(api_with, monkeypatch, count_reads):
    monkeypatch.setattr("bilateral.api.layers._READ_AFTER", 60)
    with api_with() as client:
        queries = count_reads(1)
        assert "Index-State" in client.get("/nowhere").headers
        assert "Index-State" in client.get("/nowhere").headers
        assert queries == [chains]
        monkeypatch.setattr("bilateral.api.layers._READ_AFTER", 0)
        wait_until(lambda: "Index-State" not in client.get("/nowhere").headers)


@pytest.mark.parametrize("path", ["/readyz", "/metrics"])
def test_monitors_read_the_database_at_most_once_a_second(api_with, count_reads, path):
    queries = count_reads()
    with api_with() as client:
        began = time.monotonic()
        assert {client.get(path).status_code for _ in range(50)} == {200}
        assert 1 <= queries.count(chains) <= 2 + time.monotonic() - began


def test_value_is_read_again_once_it_is_old_and_a_failure_is_not_kept():
    now, values = 0.0, iter([1, 2, None, 3])

    def read():
        value = next(values)
        if value is None:
            raise ValueError("away")
        return value

    recent = Recent(read, 1.0, lambda: now)
    assert [recent.get(), recent.get()] == [1, 1]
    now = 0.9
    assert recent.get() == 1
    now = 1.0
    assert [recent.get(), recent.get()] == [2, 2]
    now = 2.0
    with pytest.raises(ValueError, match="away"):
        recent.get()
    assert [recent.get(), recent.get()] == [3, 3]


def test_seconds_count_from_the_end_of_a_slow_read():
    now = 0.0

    def read():
        nonlocal now
        now += 5.0
        return now

    recent = Recent(read, 1.0, lambda: now)
    assert [recent.get(), recent.get()] == [5.0, 5.0]
