"""The help, the page and the commands agree, and nothing that the client can do is missing."""

from __future__ import annotations

import inspect
import re
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

from bilateral import cli
from bilateral.client import Client
from tests.cli.conftest import COMMAND

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
COMMANDS = [(group, name) for group, commands in COMMAND.commands.items() for name in commands.commands]
OPERATIONS = [
    name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_") and name != "close"
]
SOURCES = "\n".join(path.read_text() for path in Path(cli.__file__).parent.glob("*.py"))


def test_the_page_lists_the_commands():
    rows = re.findall(r"^\| `(\w+)` \| ((?:`[\w-]+` ?)+) \|$", PAGE, re.MULTILINE)
    assert [(group, name) for group, names in rows for name in re.findall(r"`([\w-]+)`", names)] == COMMANDS


@pytest.mark.parametrize(("group", "name"), COMMANDS, ids=" ".join)
def test_each_command_says_what_it_does_and_how_it_is_used(bilateral, group, name):
    ran = bilateral(group, name, "--help")
    narrow = bilateral(group, name, "--help", COLUMNS="40")
    assert (ran.code, ran.err) == (0, "")
    command = COMMAND.commands[group].commands[name]
    assert command.help.endswith(".")
    assert all(parameter.help for parameter in command.params if parameter.name != "help")
    _, *examples = command.epilog.splitlines()
    assert examples
    for example in examples:
        assert f"\n{example}\n" in narrow.out
        line = next(part for part in example.split("|") if f"{group} {name}" in part).split(" > ")[0]
        _, first, second, *arguments = shlex.split(line)
        assert (first, second) == (group, name)
        command.make_context(name, arguments)  # refuses what it does not take


def test_the_version_is_the_packages(bilateral):
    ran = bilateral("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"bilateral {version('bilateral')}\n", "")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_that_the_client_can_do_is_missing(operation):
    assert re.search(rf"\b(client|it)\.{operation}\(", SOURCES)


@pytest.mark.parametrize("command", [[], ["agent"], ["signals"]], ids=str)
def test_a_group_alone_shows_its_help(bilateral, command):
    ran = bilateral(*command)
    assert (ran.code, ran.err) == (2, "")
    assert "Usage: bilateral" in ran.out


def test_every_write_can_be_tried_and_every_command_be_read_by_machines():
    writes = 0
    for group, name in COMMANDS:
        options = {option for parameter in COMMAND.commands[group].commands[name].params for option in parameter.opts}
        assert "--json" in options
        assert ("--wait" in options) == ("--dry-run" in options) == ("--timeout" in options)
        assert "--wait" not in options or "--account" in options
        writes += "--wait" in options
    returned = [str(getattr(Client, operation).__annotations__["return"]) for operation in OPERATIONS]
    handles = [it for it in returned if it.startswith(("Handle", "SignalBatch"))]
    assert writes == len(handles) - 1  # `register_agent` and `new_agent` are one command
