"""Standard outputs that are full, closed, or whose reader has left. Commands still tell what they sent."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest

from bilateral.cli.errors import ExitCode

pytestmark = pytest.mark.usefixtures("agent")


@pytest.fixture
def run_into(command, environment):
    """Runs a command with the shell's redirections: `(exit code, standard error output)`."""

    def run(redirection, *arguments, key=None):
        keys = {"BILATERAL_PRIVATE_KEY": key.private_key} if key else {}
        ran = subprocess.run(  # noqa: S602
            f"{shlex.join([command, *map(str, arguments)])} {redirection}",
            shell=True,
            env=environment | {"PATH": os.environ["PATH"]} | keys,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
        return ran.returncode, ran.stderr

    return run


@pytest.mark.parametrize(
    ("redirection", "options", "why"),
    [(">/dev/full", [], "No space left on device"), (">&-", ["--json"], "Bad file descriptor")],
    ids=["full", "closed"],
)
def test_a_write_whose_result_cannot_be_written_names_the_transaction(
    run_into, chain, reputation, client, redirection, options, why
):
    code, err = run_into(redirection, "feedback", "give", 1, 5, *options, key=client)
    sent = chain.blocks[-1].transactions[0].txn_hash.to_0x_hex()
    message = f"the result cannot be written: {why} (sent: {sent})"
    expected = {"reason": "unwritten", "message": message, "arguments": {}, "transaction": sent}
    assert code == ExitCode.UNWRITTEN
    assert err == (f"{json.dumps(expected)}\n" if options else f"sent {sent}\nerror: {message}\n")
    assert reputation.getLastIndex(1, client) == 1


@pytest.mark.parametrize(
    ("redirection", "arguments"),
    [(">/dev/full", ["agent", "show", "1", "--json"]), (">&-", ["agent", "show", "1"]), (">/dev/full", ["--help"])],
    ids=["full", "closed", "help"],
)
def test_output_that_cannot_be_written_is_an_error(run_into, redirection, arguments):
    code, err = run_into(redirection, *arguments)
    assert code == ExitCode.UNWRITTEN
    assert "the result cannot be written" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("redirection", "options"), [("2>/dev/full", ["--json"]), ("2>&-", [])], ids=["full", "closed"]
)
def test_errors_that_nobody_takes_leave_the_exit_code(run_into, redirection, options):
    assert run_into(redirection, "agent", "show", "404", *options) == (ExitCode.REFUSED, "")


@pytest.mark.parametrize("arguments", [["agent", "show", "1"], ["--help"]], ids=" ".join)
def test_a_reader_that_leaves_early_causes_no_error(start, arguments):
    process = start(*arguments)
    process.stdout.close()
    assert process.wait(timeout=120) == ExitCode.READER_LEFT
    assert process.stderr.read() == ""


def test_a_write_whose_reader_leaves_names_the_transaction(start, chain, client):
    process = start("feedback", "give", "1", "5", "--json", key=client)
    process.stdout.close()
    assert process.wait(timeout=120) == ExitCode.READER_LEFT
    error = json.loads(process.stderr.read())
    assert error["reason"] == "reader_left"
    assert error["transaction"] == chain.blocks[-1].transactions[0].txn_hash.to_0x_hex()


def test_a_write_whose_watcher_leaves_is_done(start, client):
    process = start("feedback", "give", "1", "5", key=client)
    process.stderr.close()
    assert process.stdout.read().startswith("Feedback given\n")
    assert process.wait(timeout=120) == 0
