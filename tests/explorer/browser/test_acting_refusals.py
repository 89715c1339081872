"""Wallets refuse, lie and fail, chains reorganise: the page says so in words, and sends nothing twice."""

from __future__ import annotations

import pytest
from eth_account import Account
from playwright.sync_api import expect

from scripts._anvil import running_anvil
from tests.api.world import ALICE, BOB, DAVE, ERIN, FRANK, GRACE
from tests.explorer.browser.test_acting import CONNECT, SIGN, press
from tests.explorer.browser.wallet import Wallet

RATE = "/act/give_feedback?agent=31337:1&value=90"


@pytest.fixture
def held(market):
    """Hold the chain's blocks back until the test mines one."""
    market.node("evm_setAutomine", False)
    yield lambda: market.node("anvil_mine", "0x1")
    market.node("anvil_dropAllTransactions")
    market.node("evm_setAutomine", True)


def problem(page):
    return page.get_by_role("alert")


def prepared(acting, wallet, path=RATE, **options):
    """Open a form, and let it prepare the action."""
    page = acting(path, wallet, **options)
    press(page, CONNECT)
    expect(page.get_by_role("button", name=SIGN)).to_be_focused()
    return page


def test_a_visitor_rejects_in_the_wallet(acting, market):
    wallet = Wallet(market.url, ERIN)
    wallet.rejects = {"eth_requestAccounts"}
    page = acting(RATE, wallet)
    press(page, CONNECT)
    expect(problem(page)).to_have_text("You rejected it in the wallet. Nothing was sent.")
    wallet.rejects = {"eth_sendTransaction"}
    press(page, CONNECT)
    press(page, SIGN)
    expect(problem(page)).to_have_text("You rejected it in the wallet. Nothing was sent.")
    assert wallet.sent == []


def test_a_wallet_on_another_chain_is_asked_to_switch(acting, market):
    wallet = Wallet(market.url, ERIN)
    wallet.chain, wallet.known = 1, set()
    page = acting(RATE, wallet)
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("Your wallet does not know 31337 (chain 31337): add this chain to it")
    wallet.rejects = {"wallet_switchEthereumChain"}
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("Your wallet stays on another chain.")
    wallet.rejects, wallet.known = set(), {31337}
    press(page, CONNECT)
    expect(page.get_by_role("button", name=SIGN)).to_be_visible()
    assert "eth_sendTransaction" not in wallet.asked


def test_an_account_without_money_learns_it_before_it_signs(acting, market):
    page = acting(RATE, Wallet(market.url, Account.create()), refused=True)
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("cannot pay for the transaction")
    expect(page.get_by_role("button", name=SIGN)).to_be_hidden()


def test_a_refusal_of_the_registry_is_in_words(acting, market):
    page = acting(RATE, Wallet(market.url, ALICE), refused=True)
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("Rate from an account that is not the owner or an operator.")


def test_a_transaction_that_fails_in_its_block_is_told(acting, market):
    with market.client(DAVE) as client:
        client.register_agent().wait()
    page = prepared(acting, Wallet(market.url, DAVE), "/act/rate_client?agent=31337:1&rating=60")
    with market.client(DAVE) as client:
        client.rate_client(1, 50).wait()
    press(page, SIGN)
    expect(problem(page)).to_contain_text("and failed: the contract refused it. The gas is spent")


def test_a_transaction_survives_a_reload(acting, market, held):
    page = prepared(acting, Wallet(market.url, FRANK))
    press(page, SIGN)
    expect(page.get_by_text("Pending: it waits for a block.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Pending: it waits for a block.")).to_be_visible()
    held()
    expect(page.get_by_text("The index has it.")).to_be_visible()


def test_a_replaced_transaction_is_told(acting, market, held):
    wallet = Wallet(market.url, FRANK)
    page = prepared(acting, wallet)
    press(page, SIGN)
    expect(page.get_by_text("Pending: it waits for a block.")).to_be_visible()
    wallet.replace(wallet.sent[-1])
    held()
    expect(problem(page)).to_contain_text("it was replaced, and this one never happens")


def test_a_reorganisation_is_told(acting, market):
    page = prepared(acting, Wallet(market.url, GRACE))
    press(page, SIGN)
    expect(page.get_by_text("The index has it.")).to_be_visible()
    market.node("anvil_reorg", 1, [])
    expect(page.get_by_text("A reorganisation took it back out of block")).to_be_visible()


def test_a_wallet_that_lies_about_its_chain_is_found_out(acting, market):
    with running_anvil() as other:
        wallet = Wallet(other, ERIN)
        page = prepared(acting, wallet)
        press(page, SIGN)
        expect(problem(page)).to_contain_text("Nothing was sent", timeout=20_000)
        wallet._node("anvil_mine", [hex(market.head)])
        press(page, CONNECT)
        press(page, SIGN)
        expect(problem(page)).to_contain_text("is another one. Nothing was sent")
    assert "eth_sendTransaction" not in wallet.asked


def test_a_wallet_that_sends_from_another_account_is_found_out(acting, market):
    wallet = Wallet(market.url, ERIN)
    wallet.sends_as = BOB
    page = prepared(acting, wallet)
    press(page, SIGN)
    expect(problem(page)).to_have_text(
        f"The wallet sent it from {BOB.address.lower()}, not from {ERIN.address} as it said."
    )


def test_the_visitor_chooses_among_several_wallets(acting, market):
    first, second = Wallet(market.url, ERIN, name="First"), Wallet(market.url, FRANK, name="<b>Second</b>")
    page = acting(RATE, first, second)
    page.get_by_label("<b>Second</b>").check()
    press(page, CONNECT)
    expect(page.get_by_text(f"You sign as {FRANK.address}.")).to_be_visible()
    assert first.asked == []
    assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


def test_a_visitor_acts_by_keyboard_alone_on_a_phone(acting, market):
    page = acting("/act/give_feedback?agent=31337:1", Wallet(market.url, FRANK), size="phone")
    page.get_by_label("Value").focus()
    page.keyboard.type("70")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=SIGN)).to_be_focused()
    window = acting.windows[-1]
    assert window.overflow() == []
    assert window.violations() == []
    page.keyboard.press("Enter")
    expect(page.get_by_text("The index has it.")).to_be_visible()
    assert window.violations() == []


def test_without_a_wallet_the_form_says_so(acting):
    page = acting(RATE)
    expect(page.get_by_text("No wallet announces itself to this page yet.")).to_be_visible()
    expect(page.get_by_role("button", name=CONNECT)).to_be_disabled()
