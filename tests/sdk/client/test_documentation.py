"""The code in docs/sdk.md runs, and docs/errors.md is complete."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from bilateral.client import Client
from tests.sdk import error_page

PAGE = (Path(__file__).parents[3] / "docs" / "sdk.md").read_text()


def test_the_tour_runs(kubo, gateway, rpc, deployment, owner, reviewer, checker):
    gateway.blocks = kubo.blocks
    namespace = {
        "kubo_url": kubo.url,
        "gateway_url": gateway.url,
        "rpc_url": rpc,
        "deployment": deployment,
        "owner": owner,
        "reviewer": reviewer,
        "validator": checker,
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 20
    for block in blocks:
        exec(compile(block, "docs/sdk.md", "exec"), namespace)  # noqa: S102  # our own page


def test_the_page_of_errors_is_up_to_date():
    assert error_page.PAGE.read_text(encoding="utf-8") == error_page.page(), "run make error-page"
    assert all(f"| `{error.__name__}`" in error_page.page() for error in error_page.declared())


def test_every_method_of_the_client_is_on_the_page():
    methods = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert methods <= set(re.findall(r"`(?:client\.)?(\w+)(?:\([^`]*\))?`", PAGE))
