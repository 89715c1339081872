"""The command line as users run it: a process of its own, with its own streams and signals."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.sdk.test_codec import feedback, send


def test_help_is_enough_to_begin(run):
    code, out, err = run("--help", BILATERAL_RPC_URL="")
    assert (code, err) == (0, "")
    for word in (
        "account",
        "agent",
        "feedback",
        "rate",
        "validation",
        "auth",
        "signals",
        "Examples:",
        "BILATERAL_PRIVATE_KEY",
    ):
        assert word in out


def test_the_help_loads_neither_the_client_nor_cryptography(command):
    code = "import sys, bilateral.cli as cli; sys.argv[1:] = ['--help']\ntry: cli.main()\nexcept SystemExit: pass\n"
    code += "assert 'pydantic' not in sys.modules\n"  # Typer imports it for a command
    code += "from bilateral.cli import app, options\nfor name in options.GROUPS | options.COMMANDS: app.load(name)\n"
    code += "heavy = {'web3', 'eth_account', 'eth_utils', 'sqlalchemy', 'httpx', 'bilateral.client'}\n"
    code += "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)"
    python = Path(command).parent / "python"
    ran = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stderr == "[]\n"


def test_a_write_for_machines_writes_one_json_value_and_nothing_else(run, identity, owner):
    code, out, err = run("agent", "register", "https://agent.example", "--json", key=owner)
    assert (code, err) == (0, "")
    assert json.loads(out)["result"]["owner"] == owner.address
    assert identity.balanceOf(owner) == 1


def test_a_pipe_gets_no_progress(run, owner):
    code, out, err = run("agent", "register", key=owner)
    assert code == 0
    assert "\x1b" not in out + err
    assert err.startswith("sent 0x")
    assert err.count("\n") == 1
    assert not any(line.endswith(" ") for line in out.splitlines())


def test_an_error_for_machines_is_one_line_of_json(run, stranger):
    code, out, err = run("agent", "set-uri", "404", "data:,", "--json", key=stranger)
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert json.loads(err)["reason"] == "erc721_nonexistent_token"


def test_an_interruption_names_the_pending_transaction(start, stalled, owner):
    process = start("agent", "register", key=owner)
    sent = process.stderr.readline().split()
    assert (sent[0], stalled()) == ("sent", 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"error: interrupted. Transactions sent, which may still take effect: {sent[1]}."


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_by_a_signal_names_what_it_sent(start, stalled, owner, sign):
    process = start("agent", "register", key=owner)
    sent = process.stderr.readline().split()
    assert (sent[0], stalled()) == ("sent", 1)
    process.send_signal(sign)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (143, "")
    assert err.splitlines()[-1] == f"error: terminated. Transactions sent, which may still take effect: {sent[1]}."


def test_a_timeout_names_the_pending_transaction(run, stalled, owner):
    code, out, err = run("agent", "register", "--timeout", "0.5", "--json", key=owner)
    assert (code, out, stalled()) == (9, "", 1)
    error = json.loads(err)
    assert error["reason"] == "transaction_pending"
    assert len(error["arguments"]["hash"]) == 66


def test_nobody_has_to_wait(run, stalled, owner):
    code, out, err = run("agent", "register", "--no-wait", "--json", key=owner)
    assert (code, err, stalled()) == (0, "", 1)
    assert json.loads(out)["result"] is None


@pytest.mark.usefixtures("agent")
def test_characters_outside_the_locale_are_escaped(run, reputation, client):
    send(client, reputation, feedback("\U0001f40d".encode()))
    code, out, err = run("feedback", "list", "1", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert "\\U0001f40d" in out


def test_the_shell_completes(run):
    variables = {"_BILATERAL_COMPLETE": "complete_bash", "COMP_WORDS": "bilateral ag", "COMP_CWORD": "1"}
    assert run(**variables) == (0, "agent\n", "")
