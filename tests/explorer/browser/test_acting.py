"""Visitors act with their own wallets: each action from its page to the row that the index shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.api.world import ERIN
from tests.explorer.browser.market import running_market
from tests.explorer.browser.wallet import Wallet, install


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    with running_market(tmp_path_factory.mktemp("market")) as market:
        yield market


@pytest.fixture
def acting(watched, market):
    """Open a window with wallets on a page of the market."""

    def open_with(path, *wallets, size="laptop"):
        window = watched(size, at=market.site)
        install(window.context, *wallets)
        return window.open(path)

    return open_with


def confirm(page, market):
    """Sign what a page prepared, and wait for its row."""
    page.get_by_role("button", name="Sign in the wallet").click()
    expect(page.get_by_text("The index has it.")).to_be_visible()
    market.node("anvil_mine", "0x2")
    expect(page.get_by_text("Confirmed by 3 blocks.")).to_be_visible()
    page.get_by_role("link", name="See it on its page").click()
    return page


def test_a_visitor_gives_feedback_and_sees_it_on_its_page(acting, market):
    wallet = Wallet(market.url, ERIN)
    page = acting("/31337/1", wallet)
    page.get_by_role("link", name="Rate it").click()
    page.get_by_label("Value").fill("90")
    page.get_by_label("Words").fill("Sunny, as it said.")
    expect(page.get_by_role("region", name="Its file")).to_contain_text("Sunny, as it said.")
    page.get_by_role("button", name="Connect a wallet").click()
    expect(page.get_by_text("Rate agent 31337:1 with 90 under the tag starred.")).to_be_visible()
    expect(page.get_by_text("gwei by the node's numbers")).to_be_visible()
    expect(page.get_by_text("stays on the chain for ever")).to_be_visible()
    confirm(page, market)
    expect(page.locator("h1")).to_have_text("90")
    expect(page.get_by_text("Sunny, as it said.")).to_be_visible()
