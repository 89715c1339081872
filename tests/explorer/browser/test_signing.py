"""Answers of the service are altered on their way: the page asks no wallet for anything that the form does not say."""

from __future__ import annotations

import base64
import copy
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak
from playwright.sync_api import expect

from bilateral.core.contracts import Registry, selectors
from bilateral.documents import RegistrationFile
from bilateral.explorer.acting import FORMS
from tests.api.world import ALICE, BOB, CAROL, ERIN, FRANK, GRACE, TREASURY
from tests.explorer.browser.market import FILES, IMAGE
from tests.explorer.browser.test_acting import CONNECT, SIGN, paid_statement, press
from tests.explorer.browser.wallet import Wallet

SIGNING = {"eth_sendTransaction", "eth_signTypedData_v4", "personal_sign"}
STRANGER = f"0x{'ee' * 20}"
MOST = 2**256 - 1
_FUNCTIONS = {selector: entry for registry in Registry for selector, entry in selectors(registry, "function").items()}


@dataclass
class Tampering:
    """Alters what the service answers to a page.

    Attributes:
        change: Returns the altered answer; None while answers pass as they are.
        real: The last answer of the service, which later requests get, too.
    """

    change: Any = None
    real: dict[str, Any] | None = field(default=None)

    def __call__(self, route):
        """Answer a request of the page."""
        if "account" not in (route.request.post_data_json or {}):
            route.continue_()
            return
        if self.change is None or self.real is None:
            answer = route.fetch()
            assert answer.ok, answer.text()
            self.real = answer.json()
        altered = copy.deepcopy(self.real)
        route.fulfill(json=altered if self.change is None else self.change(altered) or altered)


def tampered(page):
    tampering = Tampering()
    page.route("**/v1/transactions", tampering)
    return tampering


def problem(page):
    return page.get_by_role("alert")


def call(signature, kinds, *arguments):
    """Encode a call of any contract."""
    return f"0x{(keccak(text=signature)[:4] + encode(kinds, arguments)).hex()}"


def sends(**fields):
    """Return the change of a transaction's fields."""
    return lambda answer: answer["transaction"].update(fields)


def asks(**fields):
    """Return the change of the fields of a request for a signature."""
    return lambda answer: answer["signature"].update(fields)


def permit(market, **_):
    """Return a typed message that gives away all dollars."""
    kinds = [("owner", "address"), ("spender", "address"), ("value", "uint256"), ("nonce", "uint256")]
    kinds.append(("deadline", "uint256"))
    domain = {"name": "Test Dollar", "version": "1", "chainId": 31337, "verifyingContract": market.token}
    message = {"owner": ERIN.address, "spender": STRANGER, "value": str(MOST), "nonce": "0", "deadline": str(MOST)}
    domain_kinds = [("name", "string"), ("version", "string"), ("chainId", "uint256")]
    domain_kinds.append(("verifyingContract", "address"))
    return {
        "types": {
            "EIP712Domain": [{"name": name, "type": kind} for name, kind in domain_kinds],
            "Permit": [{"name": name, "type": kind} for name, kind in kinds],
        },
        "primaryType": "Permit",
        "domain": domain,
        "message": message,
    }


def instead_of_transaction(**fields):
    """Return the change of an answer from a transaction to a signature."""

    def change(answer):
        transaction = answer.pop("transaction")
        signature = {"account": transaction["from"], "typed_data": None, "message": None, "path": "/v1/transactions"}
        answer |= {"transaction": None, "signature": {**signature, "body": {}, "place": "signature", **fields}}

    return change


def with_another_file(uri):
    """Return a data URI whose file has one more field."""
    content = json.loads(base64.b64decode(uri.partition(",")[2]))
    return f"data:application/json;base64,{base64.b64encode(json.dumps({**content, 'more': 1}).encode()).decode()}"


def others(kind, value):
    """Return other values of an argument."""
    if kind == "address":
        return [STRANGER]
    if kind == "string":
        files = [with_another_file(value)] if value.startswith("data:application/json") else []
        return [f"{value}x", *files]
    if kind == "bytes32":
        return [keccak(value)]
    return [value + b"\1"] if kind == "bytes" else [value + 1]


def altered_calls(data):
    """Return the call of a transaction with each argument altered, and encoded in another way."""
    raw = bytes.fromhex(data[2:])
    entry = _FUNCTIONS[raw[:4]]
    kinds = [part["type"] for part in entry["inputs"]]
    values = decode(kinds, raw[4:])
    calls = {"more data": f"{data}{'00' * 32}"}
    for place, (part, value) in enumerate(zip(entry["inputs"], values, strict=True)):
        for number, other in enumerate(others(part["type"], value)):
            arguments = [*values[:place], other, *values[place + 1 :]]
            if isinstance(other, str) and other.startswith("data:") and entry["inputs"][-1]["type"] == "bytes32":
                arguments[-1] = keccak(base64.b64decode(other.partition(",")[2] + "==="))  # its hash fits
            calls[f"{part['name']} {number}"] = f"0x{(raw[:4] + encode(kinds, arguments)).hex()}"
    return calls


def altered_messages(typed):
    """Return a typed message with each part altered."""
    kind = typed["primaryType"]
    for part in typed["types"][kind]:
        name, value = part["name"], typed["message"][part["name"]]
        if part["type"] == "string" or part["type"] == "address":
            new = others(part["type"], value)
        else:
            new = [f"0x{'12' * 32}"] if part["type"] == "bytes32" else [str(int(value) + 10**6)]
        for number, other in enumerate(new):
            yield f"{name} {number}", {**typed, "message": {**typed["message"], name: other}}
    for name, other in (("name", "x"), ("version", "2"), ("chainId", 1), ("verifyingContract", STRANGER)):
        yield f"domain {name}", {**typed, "domain": {**typed["domain"], name: other}}
    more = [*typed["types"][kind], {"name": "more", "type": "uint256"}]
    yield "another type", {**typed, "types": {**typed["types"], kind: more}, "message": {**typed["message"], "more": 1}}
    yield "another field", {**typed, "message": {**typed["message"], "more": 1}}
    yield "another kind", {**typed, "primaryType": "EIP712Domain", "message": typed["domain"]}


def require_refusals(page, tampering, changes, button=CONNECT):
    """Press a button with each change of the answer: the page says what differs, and shows nothing to sign."""
    for name, change in changes.items():
        tampering.change = change
        page.evaluate("document.getElementById('problem').hidden = true")
        press(page, button)
        expect(problem(page), name).to_contain_text("It was not passed to your wallet", timeout=10_000)
        expect(problem(page), name).to_contain_text("The service prepared something that does not match this form")
        expect(page.get_by_role("region", name="What you sign"), name).to_be_hidden()
    tampering.change = None


def test_a_transaction_of_an_attacker_reaches_no_wallet(acting, market):
    wallet = Wallet(market.url, ERIN)
    page = acting("/act/give_feedback?agent=31337:1&value=90", wallet)
    tampering = tampered(page)
    press(page, CONNECT)
    expect(page.get_by_role("button", name=SIGN)).to_be_visible()
    identity, approval = (
        market.deployment.identity,
        call("approve(address,uint256)", ["address", "uint256"], STRANGER, MOST),
    )
    everything = call("setApprovalForAll(address,bool)", ["address", "bool"], STRANGER, True)
    attacks = {
        "approve": sends(to=market.token, data=approval),
        "approve at a registry": sends(data=approval),
        "ether to a stranger": sends(to=STRANGER, data="0x", value=hex(10**18)),
        "ether to a registry": sends(value="0x1"),
        "all agents": sends(to=identity, data=everything),
        "from another account": sends(**{"from": FRANK.address}),
        "no contract": sends(to=None),
        "another field": sends(authorizationList=[]),
        "gas": sends(gas=hex(10**9)),
        "permit": instead_of_transaction(typed_data=permit(market)),
        "bytes": instead_of_transaction(message=f"0x{'12' * 32}"),
        "both": lambda answer: answer.update(signature={"typed_data": permit(market)}),
        "nothing": lambda answer: answer.update(transaction=None),
        "another chain": lambda answer: answer.update(chain_id=1),
    }
    require_refusals(page, tampering, attacks)
    assert SIGNING.isdisjoint(wallet.asked)


def test_words_of_the_service_do_not_replace_those_of_the_page(acting, market):
    page = acting("/act/give_feedback?agent=31337:1&value=90", Wallet(market.url, ERIN))
    tampered(page).change = lambda answer: {**answer, "summary": ["Get 100 dollars."], "final": "It is a gift."}
    press(page, CONNECT)
    expect(page.get_by_text("Rate agent 31337:1 with 90 under the tag starred.")).to_be_visible()
    expect(page.get_by_text("It is a gift.")).to_be_hidden()
    assert page.get_by_text("stays on the chain permanently").is_visible()


@pytest.fixture(scope="module")
def scene(market):
    """The feedback, the validation request and the primary agents that actions are about."""
    request = f"0x{secrets.token_hex(32)}"  # the market outlives this module, which a worker may run in parts
    with market.client(FRANK) as client:
        feedback = client.give_feedback(1, 55, "starred").wait().id
    with market.client(BOB) as client:
        own = client.register_agent(file=RegistrationFile.new("Own", "For tests", IMAGE)).wait().agent.token_id
    with market.client(ALICE) as client:
        client.request_validation(1, CAROL.address, "https://agent.example/work", request).wait()
        client.set_primary_agent(1).wait()
    payment = market.pay(FRANK, ALICE.address, 1_500_000)
    market.await_page(f"/31337/validations/{request}")
    market.await_page(f"/31337/{own}")
    return {"feedback": feedback, "request": request, "payment": payment, "own": own}


ACTIONS = {
    "register_agent": (
        GRACE,
        "chain=31337&name=A&description=B&image=https://a.example/i.png&services=MCP https://a.example",
    ),
    "edit_registration": (BOB, "agent=31337:{own}&description=Another"),
    "set_primary_agent": (BOB, "agent=31337:{own}"),
    "give_feedback": (
        FRANK,
        "agent=31337:1&value=80.5&tag2=day&endpoint=https://a.example&text=Fine&payment={payment}",
    ),
    "revoke_feedback": (FRANK, "feedback={feedback}&at=1-1"),
    "append_response": (ALICE, "feedback={feedback}&at=1-1&text=Thanks"),
    "rate_client": (ALICE, "agent=31337:{own}&rating=70"),
    "rate_validator": (ALICE, "agent=31337:{own}&rating=70"),
    "respond_to_validation": (CAROL, "chain=31337&request={request}&response=90&tag=x&uri=https://a.example"),
    "set_agent_wallet": (BOB, f"agent=31337:{{own}}&wallet={TREASURY.address}"),
    "authorize_feedback": (ALICE, f"agent=31337:1&client={GRACE.address}&count=2"),
    "publish_review": (FRANK, "agent=31337:1&payment={payment}&score=75&note=Good"),
}
"""The account and the query of each action that a market without an aggregator has."""


@pytest.mark.parametrize("action", ACTIONS)
def test_no_part_of_a_transaction_or_message_can_be_altered(acting, market, scene, action):
    account, query = ACTIONS[action]
    wallet = Wallet(market.url, account, TREASURY)
    page = acting(f"/act/{action}?{query.format(**scene)}", wallet)
    tampering = tampered(page)
    press(page, CONNECT)
    expect(page.get_by_role("button", name=SIGN)).to_be_visible()
    if tampering.real["transaction"]:
        changes = {
            name: sends(data=data) for name, data in altered_calls(tampering.real["transaction"]["data"]).items()
        }
    else:
        typed = tampering.real["signature"]["typed_data"]
        changes = {name: asks(typed_data=message) for name, message in altered_messages(typed)}
        changes |= {"account": asks(account=STRANGER), "path": asks(path="/v1/elsewhere")}
        changes |= {"permit": asks(typed_data=permit(market)), "bytes": asks(typed_data=None, message=f"0x{'12' * 32}")}
    require_refusals(page, tampering, changes)
    assert SIGNING.isdisjoint(wallet.asked)


def test_the_second_step_of_a_batch_is_checked_like_the_first(acting, market, scene):
    wallet = Wallet(market.url, BOB, TREASURY)
    page = acting(f"/act/set_agent_wallet?agent=31337:{scene['own']}&wallet={TREASURY.address}", wallet)
    tampering = tampered(page)
    for change in (sends(to=STRANGER), instead_of_transaction(typed_data=permit(market)), altered_deadline):
        tampering.change, tampering.real = None, None
        press(page, CONNECT)
        expect(page.get_by_text(f"You are signing as {TREASURY.address}.")).to_be_visible()
        tampering.change, tampering.real = change, None
        press(page, SIGN)
        expect(problem(page)).to_contain_text("It was not passed to your wallet")
    assert (wallet.asked.count("eth_signTypedData_v4"), "eth_sendTransaction" in wallet.asked) == (3, False)


def altered_deadline(answer):
    """Alter the deadline of `setAgentWallet`."""
    sends(data=altered_calls(answer["transaction"]["data"])["deadline 0"])(answer)


def test_both_signatures_for_feedback_without_gas_are_checked(acting, market):
    wallet = Wallet(market.url, GRACE)
    page = acting("/act/sponsored_feedback?agent=31337:1&value=80&text=Snow", wallet)
    page.get_by_label("Signed statement").fill(json.dumps(paid_statement(market, GRACE)))
    tampering = tampered(page)
    press(page, CONNECT)
    expect(page.get_by_role("region", name="The file")).to_contain_text('"comment": "Snow"')
    expect(page.get_by_role("region", name="What you sign")).to_contain_text("and the byte 80")
    require_refusals(
        page,
        tampering,
        {
            "other bytes": asks(message=f"0x{'12' * 32}"),
            "permit": asks(message=None, typed_data=permit(market)),
            "account": asks(account=STRANGER),
        },
    )
    tampering.real = None
    press(page, CONNECT)
    expect(page.get_by_text("First sign whom you rate, for which payment, and the value.")).to_be_visible()
    tampering.real = None
    press(page, SIGN)
    expect(page.get_by_text("Then sign the feedback itself.")).to_be_visible()
    typed = tampering.real["signature"]["typed_data"]
    for name, message in altered_messages(typed):
        refused = page.evaluate(
            """async (answer) => {
                try { await checking.check(answer); } catch (error) { return error.words; }
            }""",
            {**tampering.real, "signature": {**tampering.real["signature"], "typed_data": message}},
        )
        assert "prepared something that does not match" in (refused or ""), name
    assert "eth_signTypedData_v4" not in wallet.asked


def test_a_file_that_the_service_keeps_is_that_of_the_form(acting, market):
    """The account signs it first, and the transaction names it."""
    wallet = Wallet(market.url, GRACE)
    page = acting("/act/register_agent?chain=31337&name=A&description=B&image=https://a.example/i.png", wallet)
    page.get_by_label("Store its file on this service").check()
    tampering = tampered(page)
    press(page, CONNECT)
    expect(page.get_by_role("region", name="The file that you sign")).to_contain_text('"name":"A"')
    altered = altered_messages(tampering.real["signature"]["typed_data"])
    require_refusals(page, tampering, {name: asks(typed_data=message) for name, message in altered})
    assert SIGNING.isdisjoint(wallet.asked)
    other = RegistrationFile.new("Another", "B", IMAGE).to_bytes()
    market.files.mkdir(exist_ok=True)
    (market.files / f"{keccak(other).hex()}.json").write_bytes(other)
    for uri in (f"{FILES}/{keccak(other).hex()}.json", "https://evil.example/agent.json"):
        tampering.change, tampering.real = None, None
        press(page, CONNECT)
        expect(page.get_by_text("It lets this service store and publish the file.")).to_be_visible()
        tampering.change, tampering.real = sends(data=call("register(string)", ["string"], uri)), None
        press(page, SIGN)
        expect(problem(page)).to_contain_text("It was not passed to your wallet")
    assert "eth_sendTransaction" not in wallet.asked


def test_every_action_is_attacked():
    assert ACTIONS.keys() | {"sponsored_feedback"} == FORMS.keys()
