"""The help, the page and the commands agree, and the commands offer all operations of the client."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from bilateral import cli
from bilateral.cli.app import load
from bilateral.cli.options import COMMANDS as COMMANDS_OF_ROOT
from bilateral.client import Client
from scripts._build import ROOT
from tests.cli.conftest import GROUP_COMMANDS

COMMANDS = [(group, name) for group, commands in GROUP_COMMANDS.items() for name in commands]
OPERATIONS = [
    name
    for name, _ in inspect.getmembers(Client, inspect.isfunction)
    if not name.startswith("_") and name not in ("batch", "close")
]
SOURCES = "\n".join(path.read_text() for path in Path(cli.__file__).parent.glob("*.py"))


def positional(group, name):
    """Return the names of a command's arguments, without its options."""
    return [param.name for param in GROUP_COMMANDS[group][name].params if param.param_type_name == "argument"]


@pytest.mark.sample(50)
@pytest.mark.parametrize(("group", "name"), COMMANDS, ids=" ".join)
def test_each_command_says_what_it_does_and_how_it_is_used(bilateral, group, name):
    ran = bilateral(group, *name.split(), "--help", COLUMNS="40")
    assert (ran.code, ran.err) == (0, "")
    command = GROUP_COMMANDS[group][name]
    assert command.help.endswith(".")
    assert all(parameter.help for parameter in command.params if parameter.name != "help")
    _, *examples = command.epilog.splitlines()
    assert examples
    for example in examples:
        assert f"\n{example}\n" in ran.out
        line = re.split(" [<>] ", next(part for part in example.split("|") if f"{group} {name}" in part))[0]
        _, *words = shlex.split(line[line.index("bilateral ") :])
        assert words[: 1 + len(name.split())] == [group, *name.split()]
        arguments = words[1 + len(name.split()) :]
        command.make_context(name, arguments)  # refuses what it does not take


def test_each_example_is_in_the_help_of_one_command():
    helps = [command.epilog.splitlines()[1:] for commands in GROUP_COMMANDS.values() for command in commands.values()]
    helps += [load(name).epilog.splitlines()[1:] for name in COMMANDS_OF_ROOT]
    examples = (Path(cli.__file__).parent / "examples.txt").read_text().splitlines()
    assert sorted(line.strip() for lines in helps for line in lines) == sorted(examples)


@pytest.mark.parametrize("arguments", [[], ["agent", "show"], ["feedback", "give"]], ids=" ".join)
def test_the_help_shows_no_type_beside_flags_and_texts(bilateral, arguments):
    ran = bilateral(*arguments, "--help")
    assert ("<bool>" in ran.out, "<str>" in ran.out) == (False, False)


def test_the_version_names_the_commit_of_the_checkout(bilateral):
    ran = bilateral("--version")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout[:12]  # noqa: PLW1510, S607
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(rf"bilateral {version('bilateral')} \(commit {commit}(-dirty)?\)\n", ran.out)


@pytest.mark.parametrize("name", COMMANDS_OF_ROOT)
def test_the_root_shows_the_help_of_a_command(name):
    assert load(name).help == COMMANDS_OF_ROOT[name][1]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_method_of_the_client_has_a_command(operation):
    assert re.search(rf"\b(client|reading|signing)\.{operation}\(", SOURCES)


SDK_NAMES = {
    "agent": ["agent_id"],
    "authorization": ["feedback_auth"],
    "client": ["client_address"],
    "subject": ["client_id", "validator_id"],
    "validator": ["validator_address"],
    "wallet": ["new_wallet"],
}
"""The parameters of the client for an argument of a command, if they have another name."""

WITHOUT_METHODS = ("check", "index", "solana", "trust", "x402")
"""Groups whose commands call no methods of the client."""

WITH_PAIRS = [("blind", "open"), ("blind", "exchange")]
"""Commands that read the client's argument, a pair, from two files."""

WITH_SEVERAL_ARGUMENTS = [
    (group, name)
    for group, name in COMMANDS
    if group not in WITHOUT_METHODS and (group, name) not in WITH_PAIRS and len(positional(group, name)) > 1
]


@pytest.mark.parametrize(("group", "name"), WITH_SEVERAL_ARGUMENTS, ids=" ".join)
def test_the_arguments_of_a_command_have_the_order_of_the_clients(group, name):
    source = inspect.getsource(inspect.unwrap(GROUP_COMMANDS[group][name].callback))
    operations = set(re.findall(r"\b(?:client|reading|signing)\.(\w+)\(", source))
    assert operations
    for operation in operations:
        parameters = list(inspect.signature(getattr(Client, operation)).parameters)
        names = [
            next(entry for entry in SDK_NAMES.get(argument, [argument]) if entry in parameters)
            for argument in positional(group, name)
        ]
        assert names == [parameter for parameter in parameters if parameter in names]


@pytest.mark.parametrize("command", [[], ["agent"], ["signals"]], ids=str)
def test_a_group_alone_shows_its_help(bilateral, command):
    ran = bilateral(*command)
    assert (ran.code, ran.err) == (2, "")
    assert "Usage: bilateral" in ran.out


def test_every_write_can_be_tried_and_every_command_be_read_by_machines():
    writes = 0
    for group, name in COMMANDS:
        options = {option for parameter in GROUP_COMMANDS[group][name].params for option in parameter.opts}
        assert "--json" in options
        if group in ("account", "solana", "watchtower", "x402"):  # which have no method of the client
            continue
        assert ("--wait" in options) == ("--dry-run" in options) == ("--timeout" in options)
        assert "--wait" not in options or "--account" in options
        writes += "--wait" in options
    returned = [str(getattr(Client, operation).__annotations__["return"]) for operation in OPERATIONS]
    handles = [text for text in returned if text.startswith(("Handle", "SignalBatch"))]
    without_own_command = {"new_agent", "record_buyer_feedbacks"}  # agent register, buyer vote
    two_commands = {"find_transaction"}  # speed-up and cancel
    assert writes == len(handles) - len(without_own_command) + len(two_commands)
