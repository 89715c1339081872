"""Answers for monitors."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


def test_a_service_at_the_head_is_ready(api):
    assert api.get("/healthz").json() == {"status": "ok"}
    response = api.get("/readyz")
    assert (response.status_code, response.json()["ready"], response.json()["problems"]) == (200, True, [])


def test_a_service_whose_index_stands_still_is_not_ready(api_with):
    with api_with(max_silence=-1) as client:
        response = client.get("/readyz")
        assert (response.status_code, response.json()["ready"]) == (503, False)
        (problem,) = response.json()["problems"]
        assert problem.startswith("chain 31337 was last looked at")


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
        families = {it.name: it for it in text_string_to_metric_families(client.get("/metrics").text)}
    counted = {
        tuple(it.labels.values()): it.value
        for it in families["bilateral_http_requests"].samples
        if it.name.endswith("_total")
    }
    assert counted["GET", "/v1/agents/{agent}", "200"] == 1
    assert counted["GET", "/v1/agents/{agent}", "404"] == 1
    assert counted["GET", "other", "404"] == 1
    (lag,) = families["bilateral_chain_lag_blocks"].samples
    assert (lag.labels, lag.value) == ({"chain_id": "31337"}, 0)
