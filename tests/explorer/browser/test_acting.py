"""Visitors act with their own wallets: each action from its page to the row that the index shows."""

from __future__ import annotations

import json
import re

import httpx
from playwright.sync_api import expect

from bilateral.documents.hashing import document_hash
from bilateral.explorer.acting import FORMS
from bilateral.x402 import interaction_hash
from tests.api.world import ALICE, BOB, CAROL, DAVE, ERIN, FRANK, GRACE, TREASURY
from tests.explorer.browser.market import FILES, IMAGE
from tests.explorer.browser.wallet import Wallet
from tests.waiting import wait_until
from tests.x402.world import NETWORK, SIGNING_KEY, signer_entry

CONNECT = "Connect a wallet"
SIGN = "Sign in the wallet"


def press(page, name):
    page.get_by_role("button", name=name).click()


def confirm(page, market):
    """Sign what a page prepared, wait for its confirmation, and follow the link to its row."""
    press(page, SIGN)
    expect(page.get_by_text("Indexed.")).to_be_visible()
    market.node("anvil_mine", "0x2")
    expect(page.get_by_text("Confirmed by 3 blocks.")).to_be_visible()
    page.get_by_role("link", name="View it on its page").click()


def await_proof(page):
    """Look at a rating again until the index has read its file, which names the payment, after its event."""
    proof = page.get_by_text("Proven: the client paid this agent, as the chain shows")

    def is_shown():
        if not proof.is_visible():
            page.reload()
        return proof.is_visible()

    wait_until(is_shown)


def paid_statement(market, client):
    """Let a client pay agent 1, and return the agent's signed statement about its answer."""
    with market.client(ALICE) as owner:
        if not owner.load_agent(1).file.signers:
            owner.edit_registration(1, fields={"signers": [signer_entry()]}).wait()
    task_ref = f"{NETWORK}:{market.pay(client, ALICE.address, 1_500_000)}"
    signed = interaction_hash(task_ref, b"?city=Oslo", b"snow")
    return {
        "networkId": NETWORK,
        "agentRegistry": str(market.deployment.agent_registry),
        "agentId": "1",
        "taskRef": task_ref,
        "interactionHash": f"0x{signed.hex()}",
        "agentSignature": SIGNING_KEY.sign(signed).hex(),
        "timestamp": 1_700_000_000,
    }


def test_a_visitor_registers_an_agent(acting, market):
    page = acting("/", Wallet(market.url, GRACE), refused=True)
    page.get_by_role("link", name="Register an agent").click()
    page.get_by_label("Name").fill("Lighthouse")
    page.get_by_label("Description").fill("It warns ships.")
    page.get_by_label("Picture").fill("https://agent.example/light.png")
    page.get_by_label("Services").fill("MCP")
    expect(page.get_by_text("line 1 must be a name, an endpoint and optionally a version")).to_be_visible()
    page.get_by_label("Services").fill("MCP https://agent.example/mcp 2025-06-18")
    expect(page.get_by_role("region", name="The file")).to_contain_text('"endpoint": "https://agent.example/mcp"')
    press(page, CONNECT)
    expect(page.get_by_text("Register the agent Lighthouse, which your account owns.")).to_be_visible()
    confirm(page, market)
    page.wait_for_url(re.compile(r"/31337/\d+$"))
    with market.client(GRACE) as client:
        agent = client.load_agent(int(page.url.rpartition("/")[2]))
    assert (agent.owner, agent.file.name, agent.file.active) == (GRACE.address, "Lighthouse", True)
    assert [service.name for service in agent.file.services] == ["MCP"]


def sign_file(page):
    """Sign the file that the service then keeps. The transaction comes next."""
    expect(page.get_by_text("It lets this service store and publish the file.")).to_be_visible()
    press(page, SIGN)
    expect(page.get_by_text("and transfers no money")).to_be_visible()


def test_a_visitor_registers_an_agent_whose_file_the_service_keeps(acting, market):
    page = acting("/act/register_agent?chain=31337", Wallet(market.url, GRACE), refused=True)
    page.get_by_label("Name").fill("Kept")
    page.get_by_label("Description").fill("Its file is not on the chain.")
    page.get_by_label("Picture").fill("https://agent.example/kept.png")
    page.get_by_label("Store its file on this service").check()
    press(page, CONNECT)
    expect(page.get_by_text("Register the agent Kept, which your account owns.")).to_be_visible()
    sign_file(page)
    confirm(page, market)
    agent_id = int(page.url.rpartition("/")[2])
    with market.client(GRACE) as client:
        uri = client.load_agent(agent_id, load_file=False).uri
    assert uri.startswith(f"{FILES}/")
    kept = httpx.get(f"{market.site}/files/{uri.rpartition('/')[2]}")
    assert kept.json()["name"] == "Kept"
    assert uri == f"{FILES}/{document_hash(kept.content).hex()}.json"
    assert (kept.headers["X-Content-Type-Options"], kept.headers["Content-Type"]) == ("nosniff", "application/json")
    for name in ("0" * 64, "..%2Findex", uri.rpartition("/")[2][:-6]):
        assert httpx.get(f"{market.site}/files/{name}.json").status_code == 404


def test_an_owner_edits_one_field_and_keeps_the_others(acting, market):
    page = acting("/31337/2", Wallet(market.url, BOB))
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_label("Name")).to_have_value("Traveller")
    page.get_by_label("Description").fill("It buys forecasts.")
    press(page, CONNECT)
    expect(page.get_by_text("Change description in the registration file of agent 31337:2.")).to_be_visible()
    confirm(page, market)
    with market.client(BOB) as client:
        file = client.load_agent(2).file.to_object()
    assert (file["name"], file["description"]) == ("Traveller", "It buys forecasts.")
    assert file["registrations"][0]["agentId"] == 2
    assert "active" not in file


def test_an_owner_edits_a_file_that_the_service_then_keeps(acting, market):
    page = acting("/act/edit_registration?agent=31337:2", Wallet(market.url, BOB), refused=True)
    page.get_by_label("Name").fill("Wanderer")
    page.get_by_label("Store its file on this service").check()
    press(page, CONNECT)
    expect(page.get_by_text("Change name in the registration file of agent 31337:2.")).to_be_visible()
    sign_file(page)
    confirm(page, market)
    with market.client(BOB) as client:
        uri = client.load_agent(2, load_file=False).uri
    kept = httpx.get(f"{market.site}/files/{uri.rpartition('/')[2]}")
    assert uri == f"{FILES}/{document_hash(kept.content).hex()}.json"
    assert (kept.json()["name"], kept.json()["image"]) == ("Wanderer", IMAGE)


def test_nothing_is_kept_for_a_stranger_who_may_not_edit(market):
    fields = {"action": "edit_registration", "agent": "31337:1", "name": "Mine", "keep": True, "account": ERIN.address}
    files = set(market.files.glob("*"))
    refusal = httpx.post(f"{market.site}/v1/transactions", json=fields)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "not_authorized")
    assert set(market.files.glob("*")) == files


def test_a_new_wallet_signs_first_and_the_owner_sends(acting, market):
    page = acting("/31337/2", Wallet(market.url, BOB, TREASURY))
    page.get_by_role("link", name="Set its wallet").click()
    page.get_by_label("New wallet").fill(TREASURY.address)
    press(page, CONNECT)
    expect(page.get_by_text(f"You are signing as {TREASURY.address}.")).to_be_visible()
    press(page, SIGN)
    expect(page.get_by_text(f"You are signing as {BOB.address}.")).to_be_visible()
    confirm(page, market)
    with market.client(BOB) as client:
        assert client.load_agent(2).wallet == TREASURY.address


def test_an_owner_speaks_as_another_agent(acting, market):
    with market.client(CAROL) as client:
        first, second = (client.register_agent().wait().agent.token_id for _ in range(2))
    market.await_page(f"/31337/{second}")
    page = acting(f"/31337/{second}", Wallet(market.url, CAROL))
    page.get_by_role("link", name="Rate others as it").click()
    press(page, CONNECT)
    confirm(page, market)
    with market.client(CAROL) as client:
        assert client.resolve_by_address(CAROL.address).agent.token_id == second != first


def test_a_client_gives_feedback_with_its_payment_and_revokes_it(acting, market):
    market.pay(ERIN, ALICE.address, 1_500_000)
    page = acting("/31337/1", Wallet(market.url, ERIN))
    page.get_by_role("link", name="Rate it", exact=True).click()
    expect(page.get_by_role("status").first).to_have_text("quality rating: from 0 to 100")
    page.get_by_label("Value").fill("90")
    page.get_by_label("Comment").fill("Sunny, as it said.")
    press(page, "Choose from my payments")
    expect(page.get_by_label("Payment")).to_have_value(re.compile("^0x[0-9a-f]{64}$"))
    press(page, CONNECT)
    expect(page.get_by_text("Rate agent 31337:1 with 90 under the tag starred.")).to_be_visible()
    expect(page.get_by_text(" gwei), and at most")).to_be_visible()
    expect(page.get_by_text("stays on the chain permanently")).to_be_visible()
    confirm(page, market)
    expect(page.locator("h1")).to_have_text("90")
    await_proof(page)
    page.get_by_role("link", name="Revoke it").click()
    press(page, CONNECT)
    expect(page.get_by_text("A revocation is final")).to_be_visible()
    confirm(page, market)
    expect(page.get_by_text("The client revoked it")).to_be_visible()


def test_a_client_rates_a_paid_answer_by_signatures_alone(acting, market):
    statement = paid_statement(market, GRACE)
    wallet, before = Wallet(market.url, GRACE), market.node("eth_getBalance", GRACE.address, "latest")
    page = acting("/act/give_feedback?agent=31337:1", wallet, refused=True)
    page.get_by_role("link", name="Let this service pay the gas.").click()
    page.get_by_label("Value").fill("80")
    page.get_by_label("Signed statement").fill("{")
    expect(page.get_by_text("not valid JSON: copy the whole statement")).to_be_visible()
    page.get_by_label("Signed statement").fill(json.dumps(statement))
    page.get_by_label("Comment").fill("Snow, as it said.")
    press(page, CONNECT)
    expect(page.get_by_text("First sign whom you rate, for which payment, and the value.")).to_be_visible()
    expect(page.get_by_text("it is a signature, not a transaction")).to_be_visible()
    press(page, SIGN)
    expect(page.get_by_text("Then sign the feedback itself.")).to_be_visible()
    confirm(page, market)
    expect(page.locator("h1")).to_have_text("80")
    await_proof(page)
    assert wallet.sent == []
    assert market.node("eth_getBalance", GRACE.address, "latest") == before


def test_an_owner_responds_to_feedback(acting, market):
    with market.client(FRANK) as client:
        client.give_feedback(1, 20, "starred").wait()
    row = market.await_row(
        "/31337/1", lambda content: [row for row in content["feedback"] if row["client"] == FRANK.address]
    )
    page = acting(f"/31337/ratings/{row['block']}-{row['log_index']}", Wallet(market.url, ALICE))
    page.get_by_role("link", name="Respond").click()
    page.get_by_label("Comment").fill("The barometer was broken.")
    press(page, CONNECT)
    confirm(page, market)
    responders = page.get_by_role("link", name=f"{ALICE.address[:6]}")
    expect(responders.first).to_be_visible()


def test_a_server_rates_a_client_and_a_validator(acting, market):
    for link, as_what in (("Rate it as a client", "client"), ("Rate it as a validator", "validator")):
        page = acting("/31337/2", Wallet(market.url, ALICE))
        page.get_by_role("link", name=link).click()
        page.get_by_label("Rating").fill("80")
        press(page, CONNECT)
        expect(page.get_by_text(f"Rate agent 31337:2 as a {as_what} with 80 of 100.")).to_be_visible()
        expect(page.get_by_text("A rating is final")).to_be_visible()
        confirm(page, market)
        expect(page.get_by_text(f"rating of a {as_what}, which is final")).to_be_visible()


def test_a_validator_answers_a_request(acting, market):
    request = f"0x{'5a' * 32}"
    with market.client(ALICE) as client:
        client.request_validation(1, DAVE.address, "https://agent.example/work", request).wait()
    market.await_page(f"/31337/validations/{request}")
    page = acting(f"/31337/validations/{request}", Wallet(market.url, DAVE))
    page.get_by_role("link", name="Respond", exact=True).click()
    page.get_by_label("Response").fill("100")
    press(page, CONNECT)
    confirm(page, market)
    expect(page).to_have_url(re.compile(f"/31337/validations/{request}$"))
    assert market.page(f"/31337/validations/{request}")["records"][0]["answers"][0]["response"] == 100


def test_an_owner_authorises_a_client_by_a_signature(acting, market):
    page = acting("/31337/1", Wallet(market.url, ALICE))
    page.get_by_role("link", name="Let a client rate it").click()
    page.get_by_label("Client").fill(GRACE.address)
    press(page, CONNECT)
    expect(page.get_by_text("it is a signature, not a transaction")).to_be_visible()
    press(page, SIGN)
    result = page.locator("#hash")
    expect(result).to_have_text(re.compile("^0x[0-9a-f]{400,}$"))
    with market.client(GRACE) as client:
        assert client.give_authorized_feedback(1, 70, result.inner_text()).wait().score == 70


def test_a_buyer_publishes_a_review(acting, market):
    market.pay(FRANK, ALICE.address, 2_000_000)
    wallet = Wallet(market.url, FRANK)
    page = acting("/31337/1", wallet)
    page.get_by_role("link", name="Review a purchase").click()
    page.get_by_label("Score").fill("75")
    press(page, "Choose from my payments")
    expect(page.get_by_label("Payment")).to_have_value(re.compile("^0x"))
    press(page, CONNECT)
    press(page, SIGN)
    expect(page.get_by_text("Review recorded.")).to_be_visible()
    assert wallet.sent == []


def test_every_form_is_accessible_on_a_phone(acting):
    about = {
        "revoke_feedback": f"feedback=31337:1:{ERIN.address}:0&at=9-1",
        "append_response": f"feedback=31337:1:{ERIN.address}:0&at=9-1",
        "register_agent": "chain=31337",
        "respond_to_validation": f"chain=31337&request=0x{'5a' * 32}",
    }
    for action in FORMS:
        page = acting(f"/act/{action}?{about.get(action, 'agent=31337:1')}", size="phone", refused=True)
        window = acting.windows[-1]
        assert (action, window.violations(), window.overflow()) == (action, [], [])
        assert page.get_by_role("button", name=CONNECT).is_disabled()


def test_a_page_of_no_action_is_missing(acting, market):
    assert market.page("/act/steal?agent=31337:1") is None
    assert acting("/act/give_feedback", status=400).get_by_role("main").inner_text()
