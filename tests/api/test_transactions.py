"""The service prepares what a visitor's wallet signs, with the checks of the SDK, and holds no key."""

from __future__ import annotations

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from web3 import HTTPProvider, Web3

from bilateral.api.settings import ApiSettings
from tests.api.described import comparing_client
from tests.api.world import ALICE, ERIN, served

AGENT = "31337:1"


@pytest.fixture(scope="module")
def acting(api_world, api_sqlite):
    """A client of a service that has a node."""
    nodes = {"31337": api_world.url}
    settings = ApiSettings(database=api_sqlite, rate=None, query_seconds=60.0, max_silence=10**9, nodes=nodes)
    with served(settings) as url, comparing_client(url) as client:
        yield client


def prepare(client, action, **fields):
    """Ask for the preparation of an action."""
    return client.post("/v1/transactions", json={"action": action, **fields})


def refusal(answer):
    """Return status, code and words of a refusal."""
    problem = answer.json()
    return answer.status_code, problem["code"], problem["detail"]


def test_feedback_is_prepared_as_the_sdk_would_send_it(acting, api_world):
    fields = {"agent": AGENT, "account": ERIN.address, "value": "90.5", "tag1": "starred"}
    prepared = prepare(acting, "give_feedback", **fields).json()
    with api_world.client(ERIN) as client:
        client.state.dry_run = True
        sent = client.give_feedback(AGENT, "90.5", "starred")
    assert prepared["transaction"] == {
        "from": ERIN.address,
        "to": api_world.deployment.reputation,
        "data": sent.transaction["data"],
        "value": "0x0",
        "gas": hex(sent.transaction["gas"]),
    }
    assert prepared["cost"]["gas"] == sent.gas
    assert prepared["summary"][0] == "Rate agent 31337:1 with 90.5 under the tag starred."
    assert "gwei), and at most 0.0" in prepared["cost"]["sentence"]
    mark = Web3(HTTPProvider(api_world.url)).eth.get_block(prepared["block"]["number"])
    assert prepared["block"]["hash"] == mark["hash"].to_0x_hex()


def test_payment_of_feedback_names_the_agents_wallet_in_its_file(acting):
    fields = {"agent": AGENT, "account": ERIN.address, "value": 90, "payment": f"0x{'ab' * 32}"}
    data = bytes.fromhex(prepare(acting, "give_feedback", **fields).json()["transaction"]["data"][2:])
    assert b"data:application/json" in data
    payment = prepare(acting, "give_feedback", **fields).json()["document"]["proofOfPayment"]
    assert (payment["fromAddress"], payment["txHash"]) == (ERIN.address, f"0x{'ab' * 32}")


@pytest.mark.parametrize(
    ("fields", "status", "code", "words"),
    [
        ({"account": ALICE.address, "value": 90}, 409, "self_feedback", "that is neither owner nor operator"),
        (
            {"account": ERIN.address, "value": 101, "tag1": "starred"},
            400,
            "unrepresentable_value",
            "at most",
        ),
        ({"value": 101, "tag1": "starred"}, 400, "unrepresentable_value", "starred must be at most 100, not 101"),
        ({"account": Account.create().address, "value": 90}, 409, "insufficient_funds", "cannot pay"),
        ({"account": ERIN.address, "value": "much"}, 400, "invalid_argument", "value"),
        ({"account": "0x12", "value": 1}, 400, "invalid_argument", "account"),
        ({"account": ERIN.address, "value": 1, "key": "0x01"}, 400, "invalid_argument", "key"),
        (
            {"agent": "31337:999", "account": ERIN.address, "value": 1},
            409,
            "erc721_nonexistent_token",
            "no agent has it",
        ),
        ({"agent": "8453:1", "account": ERIN.address, "value": 1}, 404, "chain_not_indexed", "8453"),
        ({"agent": "weather", "value": 1}, 400, "malformed_identifier", "weather"),
    ],
)
def test_refusal_is_in_words(acting, fields, status, code, words):
    answered = refusal(prepare(acting, "give_feedback", **{"agent": AGENT, **fields}))
    assert answered[:2] == (status, code)
    assert words in answered[2]


def test_file_is_kept_only_for_an_account_that_signed_it(api_world, api_sqlite, tmp_path):
    settings = ApiSettings(
        database=api_sqlite,
        rate=None,
        query_seconds=60.0,
        max_silence=10**9,
        nodes={"31337": api_world.url},
        store=str(tmp_path),
        store_url="https://explorer.example/files",
    )
    file = {"name": "Kept", "description": "Its file is here.", "image": "https://agent.example/kept.png"}
    fields = file | {"chain": 31337, "account": ERIN.address, "keep": True}
    with served(settings) as url, comparing_client(url) as client:
        prepared = prepare(client, "register_agent", **fields).json()
        assert (prepared["transaction"], prepared["signature"]["account"]) == (None, ERIN.address)
        typed, body = (prepared["signature"][name] for name in ("typed_data", "body"))
        assert typed["primaryType"] == "KeptFile"
        signatures = {
            signer: signer.sign_message(encode_typed_data(full_message=typed)).signature.to_0x_hex()
            for signer in (ALICE, ERIN)
        }
        attempts = [
            {"signature": signatures[ALICE]},
            {"signature": signatures[ERIN], "name": "Another"},
            {"signature": signatures[ERIN], "deadline": body["deadline"] + 3_600},
            {"signature": signatures[ERIN], "deadline": 1},
        ]
        for change in attempts:
            assert refusal(client.post("/v1/transactions", json=body | change))[:2] == (400, "invalid_argument")
        assert not list(tmp_path.rglob("*.json"))
        sent = client.post("/v1/transactions", json=body | {"signature": signatures[ERIN]}).json()["transaction"]
        (path,) = tmp_path.rglob("*.json")
        assert path.name.encode().hex() in sent["data"]
        assert client.get(f"/files/{path.name}").content == path.read_bytes() == typed["message"]["file"].encode()


def test_review_that_the_service_would_refuse_is_not_signed_first(acting):
    fields = {"agent": AGENT, "account": ERIN.address, "score": 75, "payment": "0x" + "ab" * 32}
    assert refusal(prepare(acting, "publish_review", **fields, note="<b>Good"))[:2] == (422, "markup")
    assert refusal(prepare(acting, "publish_review", **fields))[:2] == (422, "payment_not_found")


def test_contract_account_without_ether_gets_its_call_data(api_world, acting):
    wallet = Account.create().address
    Web3(HTTPProvider(api_world.url)).provider.make_request("anvil_setCode", [wallet, "0x00"])
    answer = prepare(acting, "give_feedback", agent=AGENT, account=wallet, value=90)
    assert (answer.status_code, answer.json()["transaction"]["from"]) == (200, wallet)


def test_chain_without_a_node_is_for_readers_only(api):
    answered = refusal(prepare(api, "give_feedback", agent=AGENT, account=ERIN.address, value=90))
    assert answered[:2] == (422, "no_node")
    assert "Rate it" not in api.get("/31337/1", headers={"Accept": "text/html"}).text


def test_node_that_fails_is_not_named(api_sqlite):
    nodes = {"31337": "http://127.0.0.1:1/secret-key"}
    settings = ApiSettings(database=api_sqlite, rate=None, max_silence=10**9, nodes=nodes)
    with served(settings) as url, comparing_client(url) as client:
        answered = refusal(prepare(client, "give_feedback", agent=AGENT, account=ERIN.address, value=90))
    assert answered == (503, "node_failed", "the node for this chain did not respond correctly: try again later")


def test_document_of_an_edit_is_the_whole_file_that_is_signed(acting, api_world):
    with api_world.client(ALICE) as client:
        before = client.load_agent(1).file.to_object()
    fields = {"agent": AGENT, "description": "Another text."}
    assert prepare(acting, "edit_registration", **fields).json()["document"] == {"description": "Another text."}
    whole = prepare(acting, "edit_registration", **fields, account=ALICE.address).json()["document"]
    assert {name: value for name, value in whole.items() if name != "registrations"} == {
        **{name: value for name, value in before.items() if name != "registrations"},
        "description": "Another text.",
    }


def test_document_names_no_account_that_is_not_known_yet(acting):
    fields = {"agent": AGENT, "value": 90, "payment": f"0x{'ab' * 32}"}
    early = prepare(acting, "give_feedback", **fields).json()["document"]["proofOfPayment"]
    assert early == {"chainId": "31337", "txHash": f"0x{'ab' * 32}"}
    whole = prepare(acting, "give_feedback", **fields, account=ERIN.address).json()["document"]
    assert whole["proofOfPayment"] == {**early, "fromAddress": ERIN.address, "toAddress": ALICE.address}
    assert whole["clientAddress"] == f"eip155:31337:{ERIN.address}"
