"""`bilateral serve --aggregator FILE`, as a person runs it."""

from __future__ import annotations

import signal

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from bilateral.cli.app import app
from tests.api.test_serve import serving, wait_until
from tests.x402.aggregator.process import write_settings

FEEDBACK = "/v1/aggregator/feedback"
COUNTER = 'bilateral_http_requests_total{method="POST"'


@pytest.fixture
def file(tmp_path, settings_with, monkeypatch):
    """The settings, and the key in the environment of the command."""
    path, environment = write_settings(tmp_path, settings_with())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return path


@pytest.mark.nightly
def test_one_command_sponsors_feedback_in_several_processes(file, sqlite_url, review, values_of):
    made = review(value=5)
    with serving("--no-index", "--workers", "2", "--aggregator", file, "--database", sqlite_url) as (process, http):
        number = http.post(FEEDBACK, content=made.content).json()["id"]
        wait_until(lambda: http.get(f"{FEEDBACK}/{number}").json()["state"] == "confirmed")
        assert values_of(made.reviewer) == [5]
        for _ in range(8):  # whichever process answers
            shown = http.get("/metrics", headers={"connection": "close"}).text
            figures = dict(line.rsplit(" ", 1) for line in shown.splitlines() if line[0] != "#")
            assert float(figures["bilateral_aggregator_confirmed_total"]) == 1
            assert float(figures['bilateral_aggregator_budget_wei{chain_id="31337"}']) == 10**18
            (posts,) = (value for name, value in figures.items() if name.startswith(COUNTER) and FEEDBACK + '"' in name)
            assert float(posts) == 1, "counted by one process, and shown by all"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("budget", "bugdet"), "chain.0.budget: Field required"),
        (('"SPONSOR_KEY"', '"NO_SUCH_KEY"'), "the environment variable NO_SUCH_KEY is not set"),
        (('"record.json"', '"no.json"'), "no.json cannot be read: No such file or directory"),
    ],
    ids=["unknown setting", "no key", "no record"],
)
def test_mistake_in_the_file_ends_the_command_before_anything_is_served(file, sqlite_url, change, problem):
    file.write_text(file.read_text().replace(*change))
    arguments = ["serve", "--port", "0", "--no-index", "--aggregator", str(file), "--database", sqlite_url]
    with CliRunner().isolation() as (_, error, _):
        with pytest.raises(SystemExit) as end:
            get_command(app).main(arguments, prog_name="bilateral")
        text = error.getvalue().decode()
    assert (end.value.code, problem in text) == (3, True), text
    assert "listening" not in text
