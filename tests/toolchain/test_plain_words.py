"""The check of plain words finds hard sentences wherever people read them, and leaves code and quotations alone."""

from __future__ import annotations

import pytest

from scripts import plain_words
from scripts.plain_words import PATTERNS, empty_names, empty_template_names, findings, main

STARTS, IS_NONE, IS_NO, HAD, AILS, OF_WHAT, THE_ONE, IN_VAIN, NOTHING_THAT = PATTERNS


@pytest.fixture
def faults(tmp_path):
    """Write a file and return the line and the fault of each finding in it."""

    def find(name: str, source: str) -> list[tuple[str, str]]:
        (tmp_path / name).write_text(source)
        return [(finding.place, finding.fault) for finding in findings(tmp_path / name, name)]

    return find


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("What the registry asks.", STARTS),
        ("Whether it is valid.", STARTS),
        ("It is sent. Where it goes, the record says.", STARTS),
        ("It fails. That it fails is an answer.", STARTS),
        ("How nodes fail.", STARTS),
        ("Of three durations, this is none.", IS_NONE),
        ("The text is no record.", IS_NO),
        ("A part of it may be had.", HAD),
        ("It says what ails a float.", AILS),
        ("A list of what changed.", OF_WHAT),
        ("It returns the one that is newer.", THE_ONE),
        ("It asks in vain.", IN_VAIN),
        ("It returns nothing that changes.", NOTHING_THAT),
    ],
)
def test_each_pattern_is_found(faults, sentence, fault):
    assert faults("page.md", f"{sentence}\n") == [("page.md:1", fault)]


def test_the_name_of_a_test_is_read_as_a_sentence(faults):
    source = "def test_what_was_sent_is_told():\n    pass\n\n\ndef test_a_hash_is_told():\n    pass\n"
    assert faults("test_it.py", source) == [("test_it.py:1", STARTS)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Return the number of agents.",
        "Failure is returned, not raised.",
        "The function says what it does, where it goes and how.",
        "What is an agent?",
        "There is no owner, and there are none of its keys.",
        "The block is no longer pending.",
        'The table quotes "What it is" and `Whether it is none`.',
        "However, that works.",
    ],
)
def test_plain_sentences_pass(faults, sentence):
    assert faults("page.md", f"{sentence}\n") == []


PYTHON = '''"""What this module is."""

# Where the value comes from,
# as a comment of two lines.
VALUE = "What"  # noqa: S105  # Whether this counts


def f(x):
    """Return it.

    Args:
        x: How it comes.
    """
    raise ValueError(f"{x} is bad. That it fails is known")
'''


SOLIDITY = """// SPDX-License-Identifier: MIT
contract Where {
    /// @notice Whether it holds.
    /// @param owner How it is owned.
    /// @return holds Of two.
    function f(address owner) external; // What it does.
    /**
     * That it is so.
     */
    string constant TEXT = "What is it now";
}
"""


PAGE = """# How it works

| Where | it is |
| --- | --- |
| there | What it is |

```python
# What code says
```
- A list.
- That item.
"""


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        pytest.param("module.py", PYTHON, [1, 3, 5, 12, 14], id="docstrings, arguments, comments, messages of Python"),
        pytest.param("Contract.sol", SOLIDITY, [3, 4, 6, 8], id="NatSpec and comments of Solidity"),
        pytest.param("page.md", PAGE, [1, 3, 5, 11], id="headings, cells, items of pages, not their code"),
    ],
)
def test_prose_is_read_in_each_language(faults, file, text, lines):
    assert sorted(faults(file, text)) == sorted((f"{file}:{line}", STARTS) for line in lines)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of two pages, one of them with a finding."""
    (tmp_path / "good.md").write_text("All is well.\n")
    (tmp_path / "bad.md").write_text("What it is.\n")
    monkeypatch.setattr(plain_words, "ROOT", tmp_path)
    monkeypatch.setattr(plain_words, "tracked_files", lambda: ["bad.md", "good.md"])
    return tmp_path


def test_finding_fails_the_check_and_names_file_and_line(project, capsys):
    assert main([]) == 1
    assert capsys.readouterr().out == f"bad.md:1: {STARTS}: What it is.\n"


def test_strings_of_tests_are_not_read_but_their_docstrings_are(faults):
    source = '"""What is tested."""\n\nTEXT = "That it is text does not matter."\n'
    assert faults("test_module.py", source) == [("test_module.py:1", STARTS)]


def test_variables_and_arguments_are_named_for_what_they_hold(tmp_path):
    function = "def rows(given, *, what):\n    return [it for it in given if (said := what(it))]\n"
    (tmp_path / "module.py").write_text(f"class Page:\n    found: int\n\n{function}")
    names = [(finding.place, finding.text) for finding in empty_names(tmp_path / "module.py", "module.py")]
    assert sorted(names) == [
        ("module.py:4", "`given`"),
        ("module.py:4", "`what`"),
        ("module.py:5", "`it`"),
        ("module.py:5", "`said`"),
    ]


def test_items_of_loops_and_values_beside_them_are_named_for_what_they_are(tmp_path):
    source = "one, each = 1, 2\nfor place, one in enumerate(rows):\n    [each for each in rows]\n"
    (tmp_path / "module.py").write_text(source)
    names = [(finding.place, finding.text) for finding in empty_names(tmp_path / "module.py", "module.py")]
    assert sorted(names) == [
        ("module.py:1", "`each`"),
        ("module.py:1", "`one`"),
        ("module.py:2", "`one`"),
        ("module.py:3", "`each`"),
    ]


def test_variables_of_templates_are_named_for_what_they_hold(tmp_path):
    source = "{% for it in rows %}{{ it.each }}{% endfor %}\n{%- set what = 1 %}{% for at, one in rows %}{{ it }}\n"
    (tmp_path / "page.j2").write_text(source)
    names = [(finding.place, finding.text) for finding in empty_template_names(tmp_path / "page.j2", "page.j2")]
    assert names == [("page.j2:1", "`it`"), ("page.j2:2", "`what`"), ("page.j2:2", "`one`")]
