"""`bilateral index run` fetches files too, as a person runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import threading

import pytest

from bilateral.index.files import tables as schema
from bilateral.index.log.database import open_database
from tests.index.files.conftest import feedback_given, registered, registration
from tests.index.test_commands import COMMAND, bilateral, database, record  # noqa: F401  # fixtures


@pytest.fixture
def settings(event_chain, record, database, tmp_path):  # noqa: F811  # a fixture
    """A settings file that allows files of this machine, and two fetches at once."""
    path = tmp_path / "index.toml"
    path.write_text(
        f'database = "{database}"\n[[chain]]\nrpc_urls = ["{event_chain.url}"]\ndeployments = ["{record.name}"]\n'
        "[files]\nallow_private = true\nworkers = 2\nseconds = 30\n"
    )
    return path


@pytest.fixture
def named(event_chain, server):
    """A chain whose events name three files: one is loaded, one malformed, one missing."""
    server.routes["/1"], server.routes["/f"] = registration(name="Fetched"), b"[]"
    event_chain.mine([*registered(f"{server.url}/1"), feedback_given(f"{server.url}/f")])
    event_chain.mine([*registered(f"{server.url}/3", agent_id=3)])
    return event_chain


def test_run_ends_at_the_head_when_every_file_was_tried(named, settings, database):  # noqa: F811  # a fixture
    code, shown, told = bilateral("run", "--settings", settings, "--until-head", "--json")
    assert code == 0
    (status,) = json.loads(shown)
    assert status.pop("files_per_second") > 0
    assert {name: count for name, count in status.items() if name.startswith("files_")} == {
        "files_seconds_left": 0,
        "files_waiting": 0,
        "files_loaded": 1,
        "files_malformed": 1,
        "files_failed": 1,
    }
    assert "outcome=scanned files=3" in told
    assert "file=registration host=localhost" in told
    with open_database(database).connect() as connection:
        (row,) = connection.exec_driver_sql("SELECT name FROM agent_registration WHERE state = 'loaded'").all()
    assert row == ("Fetched",)


def test_files_are_left_alone_if_nobody_wants_them(named, server, settings, database):  # noqa: F811  # a fixture
    code, shown, _ = bilateral("run", "--settings", settings, "--until-head", "--no-files", "--json")
    assert (code, json.loads(shown)[0]["files_loaded"], server.requests) == (0, 0, [])
    code, shown, _ = bilateral("run", "--settings", settings, "--until-head", "--file-workers", "1", "--json")
    assert (code, json.loads(shown)[0]["files_loaded"]) == (0, 1)


def test_private_addresses_are_refused_without_the_setting(named, server, settings):
    settings.write_text(settings.read_text().replace("allow_private = true", "allow_private = false"))
    _, shown, told = bilateral("run", "--settings", settings, "--until-head", "--json")
    assert json.loads(shown)[0]["files_failed"] == 3
    assert "outcome=forbidden_address" in told
    assert server.requests == []


def test_a_signal_ends_a_run_that_waits_for_a_file_and_returns_its_lease(
    event_chain,
    server,
    settings,
    database,  # noqa: F811  # a fixture
):
    asked, end = threading.Event(), threading.Event()

    def hang(_):
        asked.set()
        end.wait(300)

    server.routes["/1"] = hang
    event_chain.mine(registered(f"{server.url}/1"))
    arguments = ["run", "--settings", str(settings)]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603  # ours
        assert asked.wait(120)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 143
        assert b"Traceback" not in process.stderr.read()
    end.set()
    with open_database(database).connect() as connection:
        (row,) = connection.execute(schema.file.select()).mappings().all()
    assert (row["state"], row["lease"], row["attempts"]) == ("waiting", None, 0)


def test_a_wrong_setting_of_files_is_named(settings):
    settings.write_text(settings.read_text().replace("workers = 2", "workers = 200"))
    code, _, told = bilateral("run", "--settings", settings)
    assert code == 3
    assert "files.workers: Input should be less than or equal to 64" in told
