"""Agents that are looked up by the URL or the host of their services."""

from __future__ import annotations

import pytest

from tests.api.world import ALICE


def services(api, url):
    response = api.get("/v1/services", params={"url": url})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("url", ["https://weather.example/mcp", "https://WEATHER.example:443/mcp", "weather.example"])
def test_agents_are_found_by_the_url_of_a_service_and_by_its_host(api, url):
    shown = services(api, url)
    assert (shown["host"], shown["has_more"]) == ("weather.example", False)
    assert {service["agent"] for service in shown["services"]} == {"31337:1"}
    assert {service["owner"] for service in shown["services"]} == {ALICE.address}
    endpoints = {service["endpoint"]: service["is_exact"] for service in shown["services"]}
    assert endpoints == {
        "https://weather.example/mcp": url == "https://weather.example/mcp",
        "https://weather.example": False,
    }


def test_host_that_nobody_names_has_no_services(api):
    assert services(api, "https://nobody.example/") == {"host": "nobody.example", "services": [], "has_more": False}


@pytest.mark.one_engine
@pytest.mark.parametrize("url", ["", "http://weather.example", "ipfs://bafy", "https://", "a b", "https://%00"])
def test_text_that_is_neither_an_https_url_nor_a_host_is_refused(api, url):
    response = api.get("/v1/services", params={"url": url})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_argument")


@pytest.mark.one_engine
def test_of_many_services_the_first_are_shown(api, monkeypatch):
    monkeypatch.setattr("bilateral.index.files.queries.MAX_SERVICES", 1)
    shown = services(api, "weather.example")
    assert (len(shown["services"]), shown["has_more"]) == (1, True)
