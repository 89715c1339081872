"""The examples of docs/x402.md run."""

from __future__ import annotations

import asyncio
import re

import pytest
from eth_account import Account

from scripts._build import ROOT
from tests.sdk.servers import HttpServer, respond

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/x402.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def names():
    """The names that the page's examples define, one after the other."""
    defined = {}
    for block in BLOCKS:
        exec(compile(block, "docs/x402.md", "exec"), defined)  # noqa: S102  # our own page
    return defined


def test_examples_of_the_page_run(names):
    assert all(callable(names[name]) for name in ("make_app", "buy", "add_gated_route"))


@pytest.mark.parametrize("status", [200, 500])
def test_example_of_a_buyer_says_that_nothing_was_paid(names, rpc, deployment, status):
    with HttpServer() as server:
        server.routes["/"] = lambda handler: respond(handler, b"{}", status)
        with pytest.raises(RuntimeError, match=f"the server answered {status}, and took no payment"):
            asyncio.run(names["buy"](server.url + "/", rpc, deployment, Account.create()))
