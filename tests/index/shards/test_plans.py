"""Each question about one chain reads the tables of that chain alone, as the coordinator's own log of plans shows."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url

from bilateral.api.settings import ApiSettings
from tests.api.world import CHAIN_ID, served
from tests.index.shards.world import BY_CHAIN, OTHER_CHAIN, QUERIES
from tests.postgres import administer

OPTIONS = {"log_min_duration": "0", "log_verbose": "on"}
OF_ALL = re.compile("FROM (?:chain|standing_refresh) ")
"""The questions about all chains whose answers come with each one: how far the index is."""


@pytest.fixture(scope="module")
def plans(settings, servers):
    """The plans of the coordinator for questions about the other chain, by question."""
    name, log = make_url(settings.database).database, Path(servers.processes[0].log)
    options = {"session_preload_libraries": "auto_explain"}
    options |= {f"auto_explain.{option}": value for option, value in OPTIONS.items()}
    for option, value in options.items():
        administer(servers.urls[0], f"ALTER DATABASE {name} SET {option} = '{value}'")
    plans = {}
    with (
        served(ApiSettings(database=settings.database, rate=None, query_seconds=60.0, max_silence=10**9)) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        for question in (*BY_CHAIN[OTHER_CHAIN], *QUERIES):
            begin = log.stat().st_size
            if question.startswith("/"):
                answer = client.get(question)
            else:
                answer = client.post(f"/graphql/{OTHER_CHAIN}", json={"query": question})
            assert answer.status_code == 200, answer.text
            logged = log.read_bytes()[begin:].decode()
            plans[question] = [plan for plan in logged.split(" plan:\n")[1:] if "Foreign Scan" in plan]
    for option in options:
        administer(servers.urls[0], f"ALTER DATABASE {name} RESET {option}")
    return plans


@pytest.mark.parametrize("question", [*BY_CHAIN[OTHER_CHAIN], *QUERIES])
def test_question_about_one_chain_reads_no_table_of_another_one(plans, question):
    assert plans[question]
    for plan in plans[question]:
        assert OF_ALL.search(plan) or f"_{CHAIN_ID}" not in plan
