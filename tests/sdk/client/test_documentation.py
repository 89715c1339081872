"""The code in docs/sdk.md runs, and its table of errors is complete."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from bilateral.client import Client
from bilateral.core import errors

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


def test_the_table_of_errors_is_complete():
    documented = set(re.findall(r"^\| `(\w+Error)` \| `(\w+)` \|", PAGE, re.MULTILINE))
    bases = (errors.BilateralError, errors.DocumentError, errors.FormattedError, errors.TransactionError)
    declared = {
        (name, error.reason)
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.BilateralError) and error not in bases
    }
    assert documented == declared


def test_every_method_of_the_client_is_on_the_page():
    methods = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert methods <= set(re.findall(r"`(?:client\.)?(\w+)(?:\([^`]*\))?`", PAGE))
