"""Errors have an exit code by kind, are told to people in a line, and to machines as JSON."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import pytest

from bilateral.cli.errors import ExitCode, MistakeError, exit_code
from bilateral.cli.invocation import Invocation
from bilateral.cli.output import Output
from bilateral.core import errors
from bilateral.core.contracts import deployments
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import BilateralError

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
DIGEST = "0x" + "07" * 32
UNREACHABLE = "http://127.0.0.1:9"


def every_error(kind=BilateralError):
    """Yield the errors that commands meet. No command pays or sells, so those of `bilateral.x402` are left out."""
    for subclass in kind.__subclasses__():
        if subclass.__module__.startswith("bilateral.") and not subclass.__module__.startswith("bilateral.x402."):
            yield subclass
            yield from every_error(subclass)


@pytest.mark.parametrize(
    "kind", sorted(set(every_error()), key=lambda kind: kind.__name__), ids=lambda value: value.__name__
)
def test_every_kind_of_error_has_an_exit_code(kind):
    if kind in (errors.NotSentError, errors.FormattedError, MistakeError):  # never raised; a bug has the exit code 1
        return
    assert exit_code(kind.__new__(kind)) not in (ExitCode.DONE, ExitCode.UNEXPECTED)


def test_the_documented_exit_codes_are_these():
    documented = re.findall(r"^\| (\d+) \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert [int(code) for code, _ in documented] == list(ExitCode)


def test_the_documented_kinds_of_error_have_the_documented_codes():
    documented = defaultdict(set)
    for code, _, reasons in re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE):
        for reason in re.findall(r"`(\w+)`", reasons):
            documented[reason].add(int(code))
    for reason, codes in documented.items():  # checks and other commands share a reason, and have different codes
        kinds = [kind for kind in every_error() if vars(kind).get("reason") == reason]
        assert {exit_code(kind.__new__(kind)) for kind in kinds} == (codes if kinds else set()), reason
        assert kinds or reason in KEY_REASONS


KEY_REASONS = {
    "no_key",
    "unknown_account",
    "no_passphrase",
    "wrong_passphrase",
    "malformed_key",
    "malformed_keystore",
    "unwritable_keystore",
    "no_token",
    "account_exists",
    "key_as_argument",
}


@pytest.mark.parametrize(
    ("code", "reason", "arguments", "variables"),
    [
        (2, "usage", ["agent"], {}),
        (2, "usage", ["agent", "shw", "1"], {}),
        (2, "usage", ["agent", "show"], {}),
        (2, "usage", ["agent", "show", "1", "2"], {}),
        (2, "usage", ["agent", "show", "1", "--tga"], {}),
        (2, "usage", ["rate", "client", "1", "many"], {}),
        (2, "usage", ["agent", "show", "1"], {"BILATERAL_RPC_URL": None}),
        (3, "malformed_identifier", ["agent", "show", "x"], {}),
        (3, "malformed_identifier", ["agent", "show", "1:1"], {}),
        (3, "malformed_identifier", ["agent", "show", "x"], {"BILATERAL_RPC_URL": "http://127.0.0.1:1"}),
        (3, "malformed_identifier", ["feedback", "show", "1"], {}),
        (4, "erc721_nonexistent_token", ["agent", "show", "404"], {}),
        (5, "node_unreachable", ["agent", "show", "1"], {"BILATERAL_RPC_URL": UNREACHABLE}),
        (6, "unreachable_document", ["agent", "show", "1"], {"BILATERAL_DEPLOYMENT": "/nonexistent"}),
        (8, "deployment_record", ["agent", "show", "1", "--deployment", "-"], {}),
        (8, "unknown_deployment", ["agent", "show", "1"], {"BILATERAL_DEPLOYMENT": None}),
    ],
    ids=str,
)
def test_each_kind_of_failure_has_its_exit_code(refused, bilateral, code, reason, arguments, variables):
    if arguments != ["agent"]:  # which shows its help
        assert refused(code, *arguments, **variables)["reason"] == reason
    ran = bilateral(*arguments, **variables)
    assert ran.code == code
    assert "Traceback" not in ran.err
    assert ran.err.startswith("error: ") or "Usage:" in ran.out


@pytest.mark.parametrize(
    ("arguments", "variables", "option"),
    [
        (["serve", "--settings", "/dev/null"], {}, "--rpc-url (the environment variable BILATERAL_RPC_URL is set)"),
        (
            ["index", "run", "--settings", "/dev/null", "--from-block", "1"],
            {},
            "--rpc-url (the environment variable BILATERAL_RPC_URL is set) and --from-block",
        ),
        (
            ["check", "server", "31337:1", "--live"],
            {"BILATERAL_DATABASE": "sqlite:///index.sqlite"},
            "--database (the environment variable BILATERAL_DATABASE is set)",
        ),
        (["check", "server", "31337:1", "--live", "--at-block", "5"], {"BILATERAL_DATABASE": None}, "--at-block"),
    ],
    ids=["serve", "index run", "live check", "option"],
)
def test_options_that_contradict_are_named_with_the_variable_that_set_them(refused, arguments, variables, option):
    assert refused(2, *arguments, **variables)["message"].endswith(f": remove {option}")


FAR = str(10**30)
ADDRESS = "0x8004B663056A597Dffe9eCcC1965A193B7388713"


@pytest.mark.parametrize(
    "arguments",
    [
        ["agent", "show", str(2**256)],
        ["agent", "show", "-1"],
        ["agent", "set-wallet", "1", ADDRESS, "--signature", "0x", "--deadline", FAR],
        ["agent", "set-wallet", "1", "0x12", "--signature", "0x", "--deadline", "1"],
        ["agent", "transfer", "1", "0x12"],
        ["agent", "can-act", "nobody", "1"],
        ["feedback", "give", "1", FAR + FAR],
        ["feedback", "give", "1", "--stars"],
        ["feedback", "sign", "1", "1", "--deadline", f"-{FAR}"],
        ["feedback", "sign", "1", "1", "--deadline", "1"],
        ["feedback", "list", "1", "--reviewer", "0x12"],
        ["feedback", "show", f"1:{ADDRESS}:{FAR}"],
        ["feedback", "search", "1", "--min", "x"],
        ["rate", "client", "1", FAR],
        ["rate", "clients", f"1={FAR}"],
        ["validation", "respond", "0x" + "07" * 32, FAR],
        ["validation", "request", "1", ADDRESS],
        ["validation", "summary", "1", "--validator", "0x12"],
        ["auth", "create", "1", "0x12"],
        ["auth", "create", "1", ADDRESS, "--count", FAR],
        ["auth", "create", "1", ADDRESS, "--index-limit", FAR],
        ["auth", "create", "1", ADDRESS, "--index-limit", "-1"],
        ["auth", "create", "1", ADDRESS, "--expiry", FAR],
        ["auth", "create", "1", ADDRESS, "--expiry", "-1"],
        ["auth", "list", "1", "--offset", FAR],
        ["auth", "list", "1", "--limit", FAR],
        ["auth", "list", "1", "--client", "0x12"],
    ],
    ids=" ".join,
)
def test_no_input_brings_a_command_down(bilateral, agent, owner, arguments):
    ran = bilateral(*arguments, "--json", key=owner)
    assert ran.code in (ExitCode.DONE, ExitCode.USAGE, ExitCode.INPUT)
    assert ran.code == ExitCode.DONE or ran.error["reason"]


def test_an_argument_in_invalid_utf8_is_refused(refused, client):
    assert refused(2, "feedback", "give", "1", "87", "--tag1", "\udcff", key=client)["reason"] == "usage"


def test_a_usage_error_names_the_help(bilateral):
    ran = bilateral("agent", "show", "1", "--tga")
    assert ran.err == "error: No such option: --tga See bilateral agent show --help.\n"


def test_the_arguments_of_an_error_are_for_machines(refused):
    error = refused(3, "agent", "show", "1:1")
    assert error["arguments"] == {"kind": "an agent on chain 31337", "text": "1:1", "problem": "its chain is 1"}


def test_bytes_in_a_refusal_are_hexadecimal_digits(refused, identity, owner):
    identity.register(sender=owner)
    error = refused(4, "rate", "clients", f"{identity.agentOf(owner)}=1", key=owner)
    assert error["reason"] == "rating_refused"
    assert re.fullmatch(r"0x[0-9a-f]+", error["arguments"]["reason"])
    assert error["arguments"]["position"] == 0


def test_a_refusal_of_a_registry_is_one_whatever_its_reason():
    assert exit_code(ContractRevertError("X", {}, "x", "", b"")) == ExitCode.REFUSED


def test_a_registry_that_the_deployment_has_not_is_named(refused, tmp_path, identity, client):
    record = tmp_path / "record.json"
    record.write_text(f'{{"chainId": 31337, "contracts": {{"IdentityRegistry": {{"address": "{identity.address}"}}}}}}')
    error = refused(8, "feedback", "list", "1", "--deployment", record)
    arguments = {"registry": "reputation", "chain_id": 31337, "contract": "BidirectionalReputationRegistry"}
    assert (error["reason"], error["arguments"]) == ("missing_registry", arguments)


def test_a_missing_deployment_names_the_option(bilateral):
    told = "error: the registries of chain 31337 are unknown: pass their deployment record as --deployment\n"
    assert bilateral("agent", "show", 1, BILATERAL_DEPLOYMENT=None).err == told


@pytest.fixture
def packaged(monkeypatch, tmp_path, record):
    """The package, with a record of the test chain."""
    (tmp_path / "abi").symlink_to(files("bilateral") / "abi")
    (tmp_path / "deployments").mkdir()
    (tmp_path / "deployments" / "31337.json").write_bytes(record.read_bytes())
    monkeypatch.setattr(deployments, "files", lambda _: tmp_path)


@pytest.mark.usefixtures("packaged")
def test_a_network_whose_record_is_packaged_needs_none_named(done, agent, owner):
    assert done("agent", "show", agent, BILATERAL_DEPLOYMENT=None)["owner"] == owner.address


@pytest.mark.usefixtures("packaged")
def test_a_record_that_is_named_comes_before_the_packaged_one(refused, tmp_path, agent, stranger):
    other = tmp_path / "record.json"
    other.write_text(f'{{"chainId": 31337, "contracts": {{"IdentityRegistry": {{"address": "{stranger.address}"}}}}}}')
    error = refused(8, "agent", "show", agent, "--deployment", other)
    assert (error["reason"], error["arguments"]) == ("unexpected_answer", {})


def test_a_node_of_another_chain_is_refused(refused, tmp_path, record):
    other = tmp_path / "record.json"
    other.write_text(record.read_text().replace("31337", "84532"))
    error = refused(8, "agent", "show", "1", "--deployment", other)
    assert (error["reason"], error["arguments"]) == ("wrong_chain", {"expected": 84532, "actual": 31337})


def test_insufficient_funds_are_an_error(refused, chain, stranger):
    chain.provider.set_balance(stranger.address, 1)
    error = refused(4, "agent", "register", key=stranger)
    assert (error["reason"], error["arguments"]) == ("insufficient_funds", {"account": stranger.address})


def test_numbers_that_not_every_reader_takes_are_text(refused, owner, client):
    error = refused(4, "agent", "show", str(2**53))
    assert error["arguments"] == {"tokenId": str(2**53)}


def test_an_interruption_while_sending_names_the_possible_transaction(capsys):
    interruption = KeyboardInterrupt()
    interruption.add_note(f"Transaction {DIGEST} may have been sent.")
    with pytest.raises(SystemExit) as end:
        Output(as_json=True).fail(interruption)
    assert end.value.code == ExitCode.INTERRUPTED
    assert json.loads(capsys.readouterr().err) == {
        "reason": "interrupted",
        "message": f"interrupted. Transaction {DIGEST} may have been sent.",
        "arguments": {"hashes": [DIGEST]},
        "transaction": DIGEST,
    }


def test_a_bug_is_one_line_of_json_for_machines(refused, monkeypatch, owner):
    monkeypatch.setattr(Invocation, "write", lambda *_: 1 // 0)
    error = refused(1, "agent", "register", key=owner)
    assert error == {
        "reason": "internal_error",
        "message": "this is a bug in bilateral; please report it: "
        "ZeroDivisionError: integer division or modulo by zero",
        "arguments": {"exception": "ZeroDivisionError"},
        "transaction": None,
    }
