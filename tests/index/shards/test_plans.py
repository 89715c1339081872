"""The work of a question about one chain is done on its shard, as the coordinator's own log of plans shows."""

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

JOINED = {
    QUERIES[0]: "agent_31338 agent_2) INNER JOIN (sharded.agent_activity_31338",
    QUERIES[2]: "new_feedback_31338 new_feedback_3) SEMI JOIN (sharded.agent_31338",
    QUERIES[3]: "validation_31338 validation_2) SEMI JOIN (sharded.agent_31338",
    QUERIES[4]: "agent_31338 agent_2) INNER JOIN (sharded.file_reference_31338",
}


@pytest.fixture(scope="module")
def plans(settings, servers):
    """The plans of the coordinator for questions about the other chain, by question."""
    name, log = make_url(settings.database).database, Path(servers.processes[0].log)
    options = {"session_preload_libraries": "auto_explain"}
    options |= {f"auto_explain.{option}": value for option, value in OPTIONS.items()}
    for option, value in options.items():
        administer(servers.urls[0], f"ALTER DATABASE {name} SET {option} = '{value}'")
    administer(settings.shards["b"].url, "ANALYZE")
    administer(settings.database, "ALTER SERVER b OPTIONS (ADD fdw_tuple_cost '10')")  # as if there were many rows
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
    administer(settings.database, "ALTER SERVER b OPTIONS (DROP fdw_tuple_cost)")
    for option in options:
        administer(servers.urls[0], f"ALTER DATABASE {name} RESET {option}")
    return plans


@pytest.mark.parametrize("question", [*BY_CHAIN[OTHER_CHAIN], *QUERIES])
def test_question_about_one_chain_reads_no_table_of_another_one(plans, question):
    assert plans[question]
    for plan in plans[question]:
        assert OF_ALL.search(plan) or f"_{CHAIN_ID}" not in plan


@pytest.mark.parametrize("question", [*BY_CHAIN[OTHER_CHAIN], *QUERIES])
def test_conditions_on_texts_are_sent_to_the_shard(plans, question):
    kept = [line for plan in plans[question] for line in plan.splitlines() if re.search('Filter: .*COLLATE "C"', line)]
    assert not kept


@pytest.mark.parametrize("query", JOINED)
def test_tables_of_one_chain_are_joined_on_its_shard(plans, query):
    assert any(JOINED[query] in plan for plan in plans[query])
