"""The shell completes commands, options and the aliases of accounts."""

from __future__ import annotations

import pytest

from bilateral.cli.options import GROUPS


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("bilateral ", {*GROUPS, "dev", "info", "mcp", "search", "serve"}),
        ("bilateral feedback re", {"respond", "revoke"}),
        ("bilateral agent register --dr", {"--dry-run"}),
        ("bilateral agent register --account a", {"alice", "anna"}),
    ],
)
def test_the_shell_completes(bilateral, keystore, owner, stranger, words, completed):
    folder = keystore("alice", owner) | keystore("anna", stranger) | keystore("bob", stranger)
    variables = {"_BILATERAL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ran = bilateral(**variables, **folder)
    assert (ran.code, set(ran.out.split()), ran.err) == (0, completed, "")
