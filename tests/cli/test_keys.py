"""Keys come from keystores or variables, never from arguments, and nothing repeats them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ape_accounts import import_account_from_private_key
from eth_account import Account

from bilateral.cli.errors import KeyUnavailableError
from bilateral.cli.keys import find_signer, key_of_variable, open_keystore
from bilateral.cli.output import Output
from bilateral.cli.secrets import KEY_VARIABLE
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from tests.cli.conftest import PASSPHRASE

SECRET = "0x" + "5ec4e7" * 10 + "beef"
"""A text that looks like a private key, which no message may show."""

BARE = SECRET.removeprefix("0x")

ADDRESS = "0x8004B663056A597Dffe9eCcC1965A193B7388713"

SENT = "0x" + "07" * 32
"""The hash of a transaction, which must not be lost."""


def nobody(question):
    raise AssertionError(f"nobody is to be asked: {question}")


@pytest.fixture
def alice(keystore, owner, monkeypatch):
    """The owner's key, in a keystore named alice."""
    for variable, value in keystore("alice", owner).items():
        monkeypatch.setenv(variable, value)


@pytest.mark.parametrize(
    "option",
    ["--private-key", "--key", "--secret-key", "--privatekey", "--PRIVATE_KEY", "-key", "--mnemonic", "--seed-phrase"],
)
@pytest.mark.parametrize("form", [[SECRET], [BARE]], ids=["with 0x", "without"])
def test_a_key_in_an_option_is_refused_and_not_repeated(bilateral, option, form):
    for arguments in ([option, *form], [f"{option}={form[0]}"]):
        ran = bilateral("agent", "register", *arguments, "--json")
        assert ran.code == 7
        assert ran.error["reason"] == "key_as_argument"
        assert BARE not in ran.out + ran.err


@pytest.mark.parametrize("option", ["--passphrase", "--password"])
def test_a_passphrase_in_an_option_is_refused_and_not_repeated(bilateral, option):
    for arguments in ([option, "hunter2"], [f"{option}=hunter2"]):
        ran = bilateral("agent", "register", "--account", "alice", *arguments)
        assert ran.code == 7
        assert "hunter2" not in ran.out + ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["agent", "show", SECRET],
        ["agent", "show", "42", SECRET],
        ["agent", "show", "42", f"--{SECRET}"],
        ["agent", "transfer", "42", BARE, "--account", "alice"],
        ["agent", "register", "--account", SECRET],
        ["agent", "register", "--account", BARE],
        ["agent", "register", "--deadline", SECRET],
        ["feedback", "give", "42", SECRET],
        ["feedback", "give", "42", "1", SECRET],
        ["rate", "client", "7", SECRET],
        ["rate", "clients", f"7={BARE}"],
        [SECRET],
        ["agent", "show", f"\ufeff{BARE}"],
        ["agent", "show", f"\xe9{BARE}"],
        ["agent", "show", f"{BARE}{BARE}"],
        ["agent", "show", f"Address: {ADDRESS} Private key: {SECRET}"],
    ],
    ids=lambda arguments: " ".join(ascii(argument[:9]) for argument in arguments),
)
@pytest.mark.usefixtures("alice")
def test_a_key_where_none_belongs_is_not_repeated(bilateral, arguments, owner):
    for options in ([], ["--json"]):
        ran = bilateral(*arguments, *options, key=owner)
        assert ran.code != 0
        assert BARE[:41] not in ran.out + ran.err  # nor a part that is longer than an address
        assert ran.err


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"not {SECRET}", f"not … (sent: {SENT})"),
        (f"not {SECRET} after {SENT}", f"not … after {SENT}"),
        (f"not {SENT}00", f"not … (sent: {SENT})"),
    ],
    ids=["beside a key", "within the message", "as a part"],
)
def test_a_transaction_hash_is_not_taken_for_a_key(capsys, message, shown):
    output = Output(as_json=False)
    output.sent = [SENT]
    output.error(InvalidArgumentError(message))
    assert capsys.readouterr().err == f"error: {shown}\n"


def test_a_message_repeats_as_many_digits_as_an_address_has(capsys):
    output = Output(as_json=False)
    output.error(InvalidArgumentError(f"{BARE[:40]} {BARE[:41]}"))
    assert capsys.readouterr().err == f"error: {BARE[:40]} …\n"


def test_json_has_the_transaction_hash_and_no_key(capsys):
    output = Output(as_json=True)
    output.sent = [SENT]
    output.error(MalformedIdentifierError("an agent", SECRET, f"no {BARE}"))
    told = capsys.readouterr().err
    assert told.isascii()
    assert json.loads(told) == {
        "reason": "malformed_identifier",
        "message": f'"…" is not an agent: no … (sent: {SENT})',
        "arguments": {"kind": "an agent", "text": "…", "problem": "no …"},
        "transaction": SENT,
    }


def test_an_account_that_ape_made_signs(done, accounts, identity, owner):
    alias = f"bilateral-test-{os.getpid()}"
    made = import_account_from_private_key(alias, PASSPHRASE, owner.private_key)
    try:
        folder = {"APE_DATA_FOLDER": str(made.keyfile_path.parents[1])}
        done("agent", "register", "--account", alias, BILATERAL_PASSPHRASE=PASSPHRASE, **folder)
    finally:
        made.keyfile_path.unlink()
    assert identity.balanceOf(owner) == 1


@pytest.mark.usefixtures("alice")
def test_a_keystore_signs_with_the_passphrase_of_a_variable(done, identity, owner, keystore):
    variables = keystore("alice", owner)
    for variable in ("BILATERAL_PASSPHRASE", "APE_ACCOUNTS_alice_PASSPHRASE"):
        done("agent", "register", "--account", "alice", **variables, **{variable: PASSPHRASE})
    assert identity.balanceOf(owner) == 2


def test_a_keystore_signs_with_the_passphrase_of_a_file(done, identity, owner, keystore, tmp_path):
    (tmp_path / "passphrase").write_text(PASSPHRASE + "\n")
    options = ["--account", "alice", "--passphrase-file", tmp_path / "passphrase"]
    done("agent", "register", *options, **keystore("alice", owner))
    done(
        "agent",
        "register",
        **keystore("alice", owner),
        BILATERAL_ACCOUNT="alice",
        BILATERAL_PASSPHRASE_FILE=str(tmp_path / "passphrase"),
    )
    assert identity.balanceOf(owner) == 2


def test_a_named_account_comes_before_the_key_in_the_variable(done, identity, owner, stranger, keystore):
    variables = keystore("alice", owner) | {"BILATERAL_PASSPHRASE": PASSPHRASE}
    done("agent", "register", "--account", "alice", key=stranger, **variables)
    assert (identity.balanceOf(owner), identity.balanceOf(stranger)) == (1, 0)


def test_a_dry_run_needs_no_passphrase(done, owner, keystore):
    ran = done("agent", "register", "--account", "alice", "--dry-run", **keystore("alice", owner))
    assert ran["transaction"]["from"] == owner.address


def test_a_refusal_comes_before_the_passphrase_is_needed(refused, agent, stranger, keystore):
    options = ["--account", "mallory"]
    error = refused(4, "agent", "set-uri", agent, "data:,", *options, **keystore("mallory", stranger))
    assert error["reason"] == "not_authorized"


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "no_key"),
        ({"BILATERAL_PRIVATE_KEY": " "}, "no_key"),
        ({"BILATERAL_PRIVATE_KEY": "0x12"}, "malformed_key"),
        ({"BILATERAL_PRIVATE_KEY": "0x" + "00" * 32}, "malformed_key"),
        ({"BILATERAL_PRIVATE_KEY": "0x" + "ff" * 32}, "malformed_key"),
        ({"BILATERAL_PRIVATE_KEY": "zz" * 32}, "malformed_key"),
        ({"BILATERAL_ACCOUNT": "bob"}, "unknown_account"),
        ({"BILATERAL_ACCOUNT": "../accounts/alice"}, "unknown_account"),
        ({"BILATERAL_ACCOUNT": ".alice"}, "unknown_account"),
        ({"BILATERAL_ACCOUNT": ""}, "no_key"),
        ({"BILATERAL_ACCOUNT": "alice"}, "no_passphrase"),
        ({"BILATERAL_ACCOUNT": "alice", "BILATERAL_PASSPHRASE": "wrong"}, "wrong_passphrase"),
        ({"BILATERAL_ACCOUNT": "alice", "BILATERAL_PASSPHRASE_FILE": "/nonexistent"}, "no_passphrase"),
        ({"BILATERAL_ACCOUNT": "broken"}, "malformed_keystore"),
        ({"BILATERAL_ACCOUNT": "deep"}, "malformed_keystore"),
        ({"BILATERAL_ACCOUNT": "strange", "BILATERAL_PASSPHRASE": PASSPHRASE}, "malformed_keystore"),
        ({"BILATERAL_ACCOUNT": "swapped", "BILATERAL_PASSPHRASE": PASSPHRASE}, "malformed_keystore"),
    ],
)
def test_each_missing_key_has_its_reason(refused, keystore, owner, stranger, variables, reason, tmp_path):
    folder = keystore("alice", owner)
    keystore("swapped", owner)
    (tmp_path / "accounts" / "broken.json").write_text("{")
    (tmp_path / "accounts" / "deep.json").write_text("[" * 100_000)
    strange = json.loads((tmp_path / "accounts" / "alice.json").read_text())
    strange["crypto"]["kdfparams"]["prf"] = None
    (tmp_path / "accounts" / "strange.json").write_text(json.dumps(strange))
    swapped = tmp_path / "accounts" / "swapped.json"
    swapped.write_text(json.dumps(json.loads(swapped.read_text()) | {"address": stranger.address}))
    error = refused(7, "agent", "register", **folder, **variables)
    assert error["reason"] == reason
    value = variables.get("BILATERAL_PRIVATE_KEY", "").strip()
    assert not value or value not in json.dumps(error)


def test_the_accounts_that_there_are_are_named(refused, keystore, owner):
    error = refused(7, "agent", "register", "--account", "bob", **keystore("alice", owner))
    assert "existing: alice" in error["message"]
    assert error["arguments"] == {"account": "bob"}


def test_keystores_are_found_in_the_home_folder(monkeypatch, tmp_path, keystore, owner):
    (tmp_path / ".ape").mkdir()
    keystore("alice", owner, tmp_path / ".ape")
    monkeypatch.delenv("APE_DATA_FOLDER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_keystore("alice", None, nobody).address == owner.address


@pytest.mark.usefixtures("alice")
def test_the_passphrase_is_asked_for_once(monkeypatch, owner):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    questions = []

    def ask(question):
        questions.append(question)
        return PASSPHRASE

    signer = find_signer("alice", None, ask)
    transaction = {"to": owner.address, "value": 0, "gas": 21000, "gasPrice": 1, "nonce": 0, "chainId": 1}
    assert Account.recover_transaction(signer.sign_transaction(transaction).raw_transaction) == owner.address
    signer.sign_transaction(transaction)
    assert questions == ["Passphrase of alice: "]


def test_the_key_of_a_variable_may_stand_without_0x(monkeypatch, owner):
    monkeypatch.setenv(KEY_VARIABLE, owner.private_key.removeprefix("0x"))
    assert key_of_variable(KEY_VARIABLE, "--account").address == owner.address


def test_the_error_about_a_key_has_no_cause_that_could_show_it(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "0x" + "ff" * 32)
    with pytest.raises(KeyUnavailableError) as raised:
        key_of_variable(KEY_VARIABLE, "--account")
    assert raised.value.__suppress_context__


ASK_AT_A_TERMINAL = """
import os, pty, sys
child, terminal = pty.fork()
if not child:
    os.execv(sys.argv[1], sys.argv[1:])
shown, told = b"", False
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        break
    if not chunk:
        break
    shown += chunk
    if not told and b"Passphrase of alice:" in shown:
        os.write(terminal, os.environ["TYPED"].encode())
        told = True
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture
def at_a_terminal(command, environment, owner, keystore):
    """Registers an agent as alice at a terminal, where something is typed when the passphrase is asked for."""

    def run(typed):
        return subprocess.run(  # noqa: S603
            [sys.executable, "-c", ASK_AT_A_TERMINAL, command, "agent", "register", "--account", "alice"],
            env=environment | keystore("alice", owner) | {"TYPED": typed, "TERM": "xterm"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_a_terminal_is_asked_for_the_passphrase_and_does_not_show_it(at_a_terminal, identity, owner):
    ran = at_a_terminal(PASSPHRASE + "\n")
    assert ran.returncode == 0, ran.stdout
    assert "Checking and sending" in ran.stdout
    assert "Agent registered" in ran.stdout
    assert PASSPHRASE not in ran.stdout
    assert identity.balanceOf(owner) == 1


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [("\x04", 7, "no passphrase was typed"), ("\x03", 130, "interrupted")],
    ids=["end of input", "interruption"],
)
def test_an_empty_passphrase_sends_nothing(at_a_terminal, identity, owner, typed, code, message):
    ran = at_a_terminal(typed)
    assert (ran.returncode, "Traceback" in ran.stdout) == (code, False)
    assert message in ran.stdout
    assert identity.balanceOf(owner) == 0
