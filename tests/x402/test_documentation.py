"""The examples of docs/x402.md run."""

from __future__ import annotations

import asyncio
import re

import pytest
from eth_account import Account

from bilateral.x402.server.failures import FailedSettlement
from scripts._build import ROOT
from tests.sdk.servers import HttpServer, respond
from tests.x402.world import NETWORK, SIGNING_KEY

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


def test_example_of_a_seller_undoes_the_order_of_a_failed_payment(names, verifier):
    canceled = []
    _, failures = names["counting_extension"](SIGNING_KEY, verifier, canceled.append)
    failures._on_failure(FailedSettlement(b"k" * 32, NETWORK, "0x", 0.0, "made_up", {}, 1, target="/orders/7"))
    assert canceled == ["/orders/7"]


@pytest.mark.parametrize("status", [200, 500])
def test_example_of_a_buyer_says_that_nothing_was_paid(names, rpc, deployment, status):
    with HttpServer() as server:
        server.routes["/"] = lambda handler: respond(handler, b"{}", status)
        with pytest.raises(RuntimeError, match=f"the server answered {status}, and took no payment"):
            asyncio.run(names["buy"](server.url + "/", rpc, deployment, Account.create()))
