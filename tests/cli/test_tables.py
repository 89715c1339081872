"""Lists on terminals of any width: identifiers stay in one piece, so that they can be copied."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from bilateral.cli.feedback import COLUMNS
from bilateral.cli.output import Output
from bilateral.core.identifiers import FeedbackId

CLIENT = "0x8004B663056A597Dffe9eCcC1965A193B7388713"


class Terminal(io.StringIO):
    """A terminal, as Rich sees one."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """Shows feedback under a tag on a terminal of some width: the lines that it has."""

    def show(width, tag):
        ids = [FeedbackId.parse(f"84532:42:{CLIENT}:{index}") for index in range(2)]
        entries = [SimpleNamespace(id=id_, value="99.77", tag1=tag, tag2="", is_revoked=False) for id_ in ids]
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "stdout", Terminal())
        Output(as_json=False).results(entries, COLUMNS)
        return sys.stdout.getvalue().splitlines(), [str(id_) for id_ in ids]

    return show


@pytest.mark.parametrize(
    ("width", "tag"), [(80, "uptime"), (120, "uptime"), (120, "x" * 300)], ids=["narrow", "wide", "long tag"]
)
def test_an_id_is_in_one_line(shown, width, tag):
    lines, ids = shown(width, tag)
    assert [sum(id_ in line for line in lines) for id_ in ids] == [1, 1]


def test_a_shortened_tag_keeps_its_mark(shown):
    lines, _ = shown(100, "blocktimefreshness")
    assert sum("(not blocktimeF…" in line for line in lines) == 2


def test_rows_that_fit_are_rows(shown):
    lines, ids = shown(120, "uptime")
    assert [sum(id_ in line and "uptime" in line for line in lines) for id_ in ids] == [1, 1]


def test_rows_that_do_not_fit_have_a_line_for_each_field(shown):
    lines, (first, _) = shown(70, "uptime")
    assert not any("uptime" in line for line in lines if first in line)
    assert sum("uptime" in line for line in lines) == 2
