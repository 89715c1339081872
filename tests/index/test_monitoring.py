"""A process that indexes answers monitors."""

from __future__ import annotations

import re
import subprocess

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from bilateral.index.log import tables as schema
from bilateral.index.operating.monitoring import monitored
from tests.index.test_commands import COMMAND, bilateral, database, grown, record  # noqa: F401  # fixtures


def figures(answer):
    return {
        sample.name: (sample.labels, sample.value)
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_run_answers_monitors_while_it_follows_a_chain(grown, record, database):  # noqa: F811  # fixtures
    arguments = ["run", "--rpc-url", grown.url, "--deployment", record, "--database", database]
    command = [*COMMAND, *map(str, arguments), "--no-files", "--metrics-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        told = ""
        while not ((address := re.search(r"metrics=(\S+)/metrics", told)) and "outcome=advanced" in told):
            line = process.stderr.readline()
            assert line, told
            told += line
        with httpx.Client(base_url=address[1], timeout=60) as client:
            assert client.get("/healthz").json() == {"status": "ok"}
            assert client.get("/readyz").json() == {"ready": True, "problems": []}
            measured = figures(client.get("/metrics"))
            assert client.get("/other").status_code == 404
        process.terminate()
        assert process.wait(120) == 143
    assert measured["bilateral_chain_block"] == ({"chain_id": "31337"}, 20)
    assert measured["bilateral_chain_lag_blocks"][1] == measured["bilateral_chain_waits"][1] == 0
    assert measured["bilateral_chain_events"][1] >= 100


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_chain_that_waits_or_that_nobody_looks_at_is_not_ready(event_chain, generator, engine, catch_up):
    with (
        monitored(engine, "127.0.0.1", 0, needs_analysis=False) as port,
        monitored(engine, "127.0.0.1", 0) as with_analysis,
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        assert client.get("/readyz").json()["problems"] == ["no chain is indexed yet"]
        event_chain.mine(generator.logs(5))
        catch_up()
        assert client.get("/readyz").status_code == 200
        unanalysed = httpx.get(f"http://127.0.0.1:{with_analysis}/readyz")
        assert (unanalysed.status_code, unanalysed.json()["problems"]) == (503, ["chain 31337 is not analysed yet"])
        for values, problem in (
            ({"updated_at": 0}, "chain 31337 was last polled"),
            ({"problem": "no endpoint"}, "chain 31337: no endpoint"),
        ):
            with engine.begin() as connection:
                connection.execute(update(schema.chain).values(**values))
            answer = client.get("/readyz")
            assert answer.status_code == 503
            assert answer.json()["problems"][0].startswith(problem)
        assert figures(client.get("/metrics"))["bilateral_chain_waits"][1] == 1


def test_port_that_is_taken_is_named(grown, record, database):  # noqa: F811  # fixtures
    port = httpx.URL(grown.url).port
    arguments = ("--rpc-url", grown.url, "--deployment", record, "--database", database)
    code, _, told = bilateral("run", *arguments, "--until-head", "--no-files", "--metrics-port", port)
    assert code == 3
    assert f"the monitoring endpoint cannot listen at 127.0.0.1, port {port}" in told
