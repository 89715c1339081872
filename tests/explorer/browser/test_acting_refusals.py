"""Wallets refuse, lie and fail, chains reorganise: the page says so in words, and sends nothing twice."""

from __future__ import annotations

import json
import re

import pytest
from eth_account import Account
from playwright.sync_api import expect

from bilateral.documents import RegistrationFile
from scripts._anvil import running_anvil
from tests.api.world import ALICE, BOB, DAVE, ERIN, FRANK, GRACE
from tests.explorer.browser.market import IMAGE
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
    expect(problem(page)).to_have_text("You rejected the request in the wallet. Nothing was sent.")
    wallet.rejects = {"eth_sendTransaction"}
    press(page, CONNECT)
    press(page, SIGN)
    expect(problem(page)).to_have_text("You rejected the request in the wallet. Nothing was sent.")
    assert wallet.sent == []


def test_a_wallet_on_another_chain_is_asked_to_switch(acting, market):
    wallet = Wallet(market.url, ERIN)
    wallet.chain, wallet.known = 1, set()
    page = acting(RATE, wallet)
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("Your wallet does not have 31337 (chain 31337): add this chain to the wallet")
    wallet.rejects = {"wallet_switchEthereumChain"}
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("Your wallet is still on another chain.")
    wallet.rejects, wallet.known = set(), {31337}
    press(page, CONNECT)
    expect(page.get_by_role("button", name=SIGN)).to_be_visible()
    assert "eth_sendTransaction" not in wallet.asked


@pytest.mark.parametrize(
    "write", [int, str, "0x{:08x}".format, "0X{:X}".format], ids=["number", "decimal", "padded", "upper case"]
)
def test_a_chain_id_is_read_in_every_form(acting, market, write):
    wallet = Wallet(market.url, ERIN)
    wallet.write_chain = write
    page = prepared(acting, wallet)
    assert "wallet_switchEthereumChain" not in wallet.asked
    assert problem(page).is_hidden()


def test_each_error_of_a_wallet_has_its_own_words(acting, market):
    wallet = Wallet(market.url, ERIN)
    page = acting(RATE, wallet)
    words = {
        4001: "You rejected the request in the wallet",
        4100: "Your wallet is locked, or does not let this page use the account",
        5000: "You rejected the request in the wallet",
        4900: "Your wallet is not connected to any chain",
        -32002: "Your wallet is still waiting for your response to an earlier request",
        -32603: "The wallet reported: Internal error of 0x00[U+202E]",
    }
    for code, expected in words.items():
        wallet.errors = {"eth_requestAccounts": {"code": code, "message": "Internal error of 0x00\u202e"}}
        press(page, CONNECT)
        expect(problem(page)).to_contain_text(expected)
    wallet.chain, nested = 1, {"code": -32603, "message": "Internal error", "data": {"originalError": {"code": 4902}}}
    switching = {
        4001: "Your wallet is still on another chain",
        4100: "Your wallet is locked",
        5000: "Your wallet is still on another chain",
        4200: "Your wallet does not let pages switch chains: select 31337 (chain 31337) in the wallet",
        4902: "Your wallet does not have 31337 (chain 31337): add this chain to the wallet",
        -32002: "Your wallet is still waiting for your response",
        -32603: "The wallet reported: no network",
    }
    for code, expected in switching.items():
        wallet.errors = {"wallet_switchEthereumChain": {"code": code, "message": "no network"}}
        press(page, CONNECT)
        expect(problem(page)).to_contain_text(expected)
    wallet.errors = {"wallet_switchEthereumChain": nested}
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("add this chain to the wallet")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 502, "body": "<html>Bad gateway</html>"}, "The service responded with status 502 and no JSON"),
        ({"status": 503, "json": {"detail": "too busy"}}, "too busy"),
        ({"status": 500, "json": {}}, "The service responded with status 500"),
    ],
)
def test_a_failure_of_the_service_is_not_blamed_on_the_wallet(acting, market, answer, words):
    page = acting(RATE, Wallet(market.url, ERIN), refused=True)
    page.route("**/v1/transactions", lambda route: route.fulfill(**answer))
    press(page, CONNECT)
    expect(problem(page)).to_contain_text(words)
    expect(problem(page)).not_to_contain_text("wallet reported")


def test_a_hash_of_a_stranger_is_not_the_visitors_transaction(acting, market):
    with market.client(FRANK) as client:
        transaction = client.give_feedback(1, 44, "starred").wait().event.transaction
    page = acting(f"{RATE}&tx={transaction}", Wallet(market.url, ERIN))
    expect(page.get_by_text(f"Sent by {FRANK.address.lower()}")).to_be_visible()
    expect(page.get_by_text("It was not sent from this window.")).to_be_visible()
    expect(page.get_by_role("heading", name="The transaction in the link to this page")).to_be_visible()
    assert page.get_by_text("Your transaction").is_hidden()


def test_an_edit_link_sends_the_values_that_it_names(acting, market):
    with market.client(BOB) as client:
        file = RegistrationFile.new("Two\nlines", "\r\nA\r\nB", IMAGE)
        agent = client.register_agent(file=file).wait().agent.token_id
    market.await_row(
        f"/31337/{agent}",
        lambda page: [page["agent"]["registration"]] if page and page["agent"]["registration"] else [],
    )
    page = acting(
        f"/act/edit_registration?agent=31337:{agent}&image=https://b.example/2.png&x402=true", Wallet(market.url, BOB)
    )
    expect(page.get_by_role("region", name="Your changes to the file")).to_have_text(
        re.compile(r'^Your changes to the file\{\s*"image": "https://b.example/2.png",\s*"x402Support": true\s*\}$')
    )
    press(page, CONNECT)
    expect(page.get_by_text("Change image, x402Support in the registration file of agent")).to_be_visible()
    signed = page.get_by_role("region", name="The file that you sign").locator("pre").inner_text()
    assert json.loads(signed) | {"registrations": None} == {
        **file.to_object(),
        "image": "https://b.example/2.png",
        "x402Support": True,
        "registrations": None,
    }


def test_unseen_characters_of_a_text_are_marked_in_what_is_signed(acting, market):
    page = acting(
        "/act/give_feedback?agent=31337:1&value=90&tag2=a%E2%80%AEb&text=c%E2%80%8Bd", Wallet(market.url, ERIN)
    )
    expect(page.get_by_role("region", name="The file")).to_contain_text("c[U+200B]d")
    press(page, CONNECT)
    expect(page.get_by_role("region", name="What you sign")).to_contain_text("a[U+202E]b")
    assert not re.search("[\u202e\u200b]", page.locator("#what").inner_text() + page.locator("#document").inner_text())


def test_an_account_without_money_learns_it_before_it_signs(acting, market):
    page = acting(RATE, Wallet(market.url, Account.create()), refused=True)
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("cannot pay for the transaction")
    expect(page.get_by_role("button", name=SIGN)).to_be_hidden()


def test_a_refusal_of_the_registry_is_in_words(acting, market):
    page = acting(RATE, Wallet(market.url, ALICE), refused=True)
    press(page, CONNECT)
    expect(problem(page)).to_contain_text("Rate from an account that is neither owner nor operator.")


def test_a_transaction_that_fails_in_its_block_is_told(acting, market):
    with market.client(DAVE) as client:
        client.register_agent().wait()
    page = prepared(acting, Wallet(market.url, DAVE), "/act/rate_client?agent=31337:1&rating=60")
    with market.client(DAVE) as client:
        client.rate_client(1, 50).wait()
    press(page, SIGN)
    expect(problem(page)).to_contain_text("because the contract rejected it. The gas was spent")


def test_a_transaction_survives_a_reload(acting, market, held):
    page = prepared(acting, Wallet(market.url, FRANK))
    press(page, SIGN)
    expect(page.get_by_text("Pending: waiting to be included in a block.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Pending: waiting to be included in a block.")).to_be_visible()
    held()
    expect(page.get_by_text("Indexed.")).to_be_visible()


def test_a_replaced_transaction_is_told(acting, market, held):
    wallet = Wallet(market.url, FRANK)
    page = prepared(acting, wallet)
    press(page, SIGN)
    expect(page.get_by_text("Pending: waiting to be included in a block.")).to_be_visible()
    wallet.replace(wallet.sent[-1])
    held()
    expect(problem(page)).to_contain_text("was replaced by another one from your account")


def test_a_reorganisation_is_told(acting, market):
    page = prepared(acting, Wallet(market.url, GRACE))
    press(page, SIGN)
    expect(page.get_by_text("Indexed.")).to_be_visible()
    market.node("anvil_reorg", 1, [])
    expect(page.get_by_text("A reorganisation removed it from block")).to_be_visible()


def test_a_wallet_that_lies_about_its_chain_is_found_out(acting, market):
    with running_anvil() as other:
        wallet = Wallet(other, ERIN)
        page = prepared(acting, wallet)
        press(page, SIGN)
        expect(problem(page)).to_contain_text("Nothing was sent", timeout=20_000)
        wallet._node("anvil_mine", [hex(market.head)])
        press(page, CONNECT)
        press(page, SIGN)
        expect(problem(page)).to_contain_text("differs. Nothing was sent")
    assert "eth_sendTransaction" not in wallet.asked


def test_a_wallet_that_sends_from_another_account_is_found_out(acting, market):
    wallet = Wallet(market.url, ERIN)
    wallet.sends_as = BOB
    page = prepared(acting, wallet)
    press(page, SIGN)
    expect(problem(page)).to_have_text(
        f"The wallet sent the transaction from {BOB.address.lower()}, not from {ERIN.address}, "
        "the account that it provided."
    )


def test_the_visitor_chooses_among_several_wallets(acting, market):
    first, second = Wallet(market.url, ERIN, name="First"), Wallet(market.url, FRANK, name="<b>Second</b>")
    page = acting(RATE, first, second)
    page.get_by_label("<b>Second</b>").check()
    press(page, CONNECT)
    expect(page.get_by_text(f"You are signing as {FRANK.address}.")).to_be_visible()
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
    expect(page.get_by_text("Indexed.")).to_be_visible()
    assert window.violations() == []


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_sentence_of_a_signature_is_in_sight_and_the_focus_follows(acting, market, width, height):
    page = acting("/act/give_feedback?agent=31337:1&text=Sunny", Wallet(market.url, FRANK))
    page.set_viewport_size({"width": width, "height": height})
    page.get_by_label("Value").fill("70")
    press(page, CONNECT)
    expect(page.get_by_role("button", name=SIGN)).to_be_focused()
    assert page.evaluate(_HIDDEN, "#says li") is None
    assert page.evaluate(_HIDDEN, "#sign") is None
    press(page, SIGN)
    expect(page.get_by_role("region", name="Your transaction")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="Indexed.")).to_be_visible()


def test_a_refused_signature_leaves_the_focus_where_it_was(acting, market):
    wallet = Wallet(market.url, FRANK)
    page = prepared(acting, wallet)
    wallet.rejects = {"eth_sendTransaction"}
    page.keyboard.press("Enter")
    expect(problem(page)).to_contain_text("You rejected the request")
    expect(page.get_by_role("button", name=SIGN)).to_be_focused()


@pytest.mark.parametrize("size", ["laptop", "phone"])
def test_no_focused_link_is_behind_the_header(acting, size):
    page = acting("/31337/1", size=size)
    page.evaluate("document.fonts.ready.then(() => scrollTo(0, document.body.scrollHeight))")  # they move lines
    page.locator("footer a").last.focus()
    hidden = []
    for _ in range(25):
        page.keyboard.press("Shift+Tab")
        hidden.append(page.evaluate(_HIDDEN, ":focus"))
    assert [place for place in hidden if place] == []


_HIDDEN = """(selector) => {
  const element = document.querySelector(selector), box = element.getBoundingClientRect();
  const header = document.querySelector("header.top"), bar = header.getBoundingClientRect();
  const top = getComputedStyle(header).position === "sticky" && !header.contains(element) ? bar.bottom : 0;
  const isInSight = box.top >= top - 1 && box.bottom <= innerHeight + 1;
  return isInSight ? null : [element.outerHTML.slice(0, 80), box.top, box.bottom, top, innerHeight];
}"""
"""Returns an element that is out of sight, wholly or in part, with its place."""


def test_without_a_wallet_the_form_says_so(acting):
    page = acting(RATE)
    expect(page.get_by_text("No wallet has been detected yet.")).to_be_visible()
    expect(page.get_by_role("button", name=CONNECT)).to_be_disabled()
