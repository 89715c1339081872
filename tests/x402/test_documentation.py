"""The examples of docs/x402.md run."""

from __future__ import annotations

import re

from scripts._build import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/x402.md").read_text(encoding="utf-8"), re.DOTALL)


def test_examples_of_the_page_run():
    names = {}
    for block in BLOCKS:
        exec(compile(block, "docs/x402.md", "exec"), names)  # noqa: S102  # our own page
    assert all(callable(names[name]) for name in ("make_app", "buy", "add_gated_route"))
