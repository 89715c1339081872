"""`make lint` checks the words of pages against `toolchain/prose/vocabulary.jsonc`."""

from __future__ import annotations

import subprocess

from scripts._build import ROOT

PROSE = ROOT / "toolchain/prose"


def lint(page, text):
    page.write_text(text)
    command = ["node", PROSE / "lint.mjs", page]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def test_wordings_to_avoid_are_reported_with_their_place(tmp_path):
    run = lint(tmp_path / "page.md", "# Title\n\nIt reads ERC8004 anew.\n")
    assert run.returncode == 1
    assert "page.md:3:10: Incorrect term: “ERC8004”, use “ERC-8004” instead" in run.stderr
    assert "page.md:3:18: Incorrect term: “anew”, use “again” instead" in run.stderr


def test_code_and_correct_pages_pass(tmp_path):
    run = lint(
        tmp_path / "page.md", "# Title\n\nAn ERC-8004 registry in PostgreSQL: `postgres`.\n\n```sh\nnpm i anew\n```\n"
    )
    assert (run.returncode, run.stderr) == (0, "")
