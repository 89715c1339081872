"""The examples of a paid agent and its client work together."""

from __future__ import annotations

from pathlib import Path

import pytest
from eth_account import Account

import examples
from bilateral.client import Client
from examples.paid_weather_agent import make_app
from examples.paid_weather_client import buy
from scripts._x402 import serving
from tests.x402.world import PRICE, SIGNING_KEY


def test_paid_weather_agent_and_its_client_trade(
    monkeypatch, rpc, deployment, facilitator, token, seller, agent, buyer
):
    settings = {
        "AGENT_KEY": SIGNING_KEY.secret.hex(),
        "CLIENT_KEY": buyer.key.hex(),
        "RPC_URL": rpc,
        "AGENT_ID": str(agent),
        "PAY_TO": seller.address,
        "FACILITATOR_URL": facilitator,
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    domain = {"name": "Test Dollar", "version": "2"}
    price = {"asset": token.address, "amount": str(PRICE), "extra": domain}
    with serving(make_app(deployment, price)) as url:
        answer, feedback = buy(f"{url}/weather?city=Oslo", deployment, spend_controls=False)
    assert answer == '{"city":"Oslo","weather":"snow"}'
    with Client(rpc, deployment=deployment) as client:
        entry = client.get_feedback(feedback)
    assert (entry.value, entry.id.client) == (95, Account.from_key(buyer.key).address)


@pytest.mark.parametrize("name", sorted(path.name for path in Path(examples.__file__).parent.glob("*.py")))
def test_example_has_at_most_forty_lines(name):
    text = Path(examples.__file__).with_name(name).read_text()
    assert len(text.splitlines()) <= 40
