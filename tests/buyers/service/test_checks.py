"""Checks of clients use the record of a buyer where there is one, and models can ask for it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.buyers.service.world import SAMPLE, SELLER_ID, STRANGER, WASHER

pytestmark = pytest.mark.one_engine

COMMAND = str(Path(sys.executable).with_name("bilateral"))


def check(buyers, buyer, **more):
    return buyers.get("/v1/checks/client", params={"client": buyer.address, "chain": 31337, **more}).json()


@pytest.mark.parametrize(("minimum", "is_low"), [(46, False), (47, True)])
def test_check_of_a_client_asks_for_the_score_of_the_buyer(buyers, minimum, is_low):
    refusal = check(buyers, SAMPLE, minimum_buyer_score=minimum)
    assert ("low_buyer_score" in [reason["code"] for reason in refusal["reasons"]]) is is_low


def test_check_ignores_wash_payments(buyers):
    text = json.dumps(check(buyers, WASHER, minimum_buyer_score=1))
    assert "low_buyer_score" not in text
    assert json.dumps(check(buyers, STRANGER, minimum_buyer_score=1)).count("low_buyer_score") == 0


def test_every_way_to_check_a_client_uses_the_record(buyers, buyers_database):
    async def ask():
        async with Client(f"{str(buyers.base_url).rstrip('/')}/mcp") as session:
            return await session.call_tool("check_client", {"client": SAMPLE.address})

    asked = check(buyers, SAMPLE)
    posted = buyers.post("/v1/checks/client", json={"client": SAMPLE.address, "chain": 31337}).json()
    told = json.loads(asyncio.run(ask()).content[0].text)["check"]
    command = [COMMAND, "check", "client", SAMPLE.address, "--database", buyers_database, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603  # ours
    for answer in (asked, posted, told, json.loads(ran.stdout)):
        assert answer["figures"]["buyer"] == {"score": "46", "payments": 20}  # of 47: one seller's count up to 20


def test_record_is_that_of_the_block(buyers):
    payments = [check(buyers, WASHER, at_block=block)["figures"].get("buyer") for block in (60, 100)]
    first = check(buyers, SAMPLE, at_block=10, payments=10)["figures"]["buyer"]
    assert payments == [None, None]
    assert check(buyers, SAMPLE, at_block=10)["figures"]["buyer"] is None  # the index read them all later
    assert 0 < first["payments"] < 20


def test_models_ask_for_buyers_and_discounts(buyers):
    async def ask():
        async with Client(f"{str(buyers.base_url).rstrip('/')}/mcp") as session:
            profile = await session.call_tool("get_buyer", {"address": SAMPLE.address})
            discount = await session.call_tool("get_discount", {"address": STRANGER.address, "seller": SELLER_ID})
            wrong = await session.call_tool("get_buyer", {"address": SAMPLE.address, "chain": 5})
        return profile, discount, wrong

    profile, discount, wrong = asyncio.run(ask())
    parsed = json.loads(profile.content[0].text)
    assert (parsed["buyerAddress"], parsed["reputation"]["tier"]) == (SAMPLE.address, "trusted")
    assert json.loads(discount.content[0].text)["percentage"] == 0
    assert wrong.is_error
    assert "unsupported_chain" in wrong.content[0].text


def test_models_get_the_policy_of_the_settings(buyers_with, buyers_database, tmp_path):
    async def ask(target):
        async with Client(target) as session:
            return [await session.call_tool("get_buyer", {"address": WASHER.address, **option}) for option in options]

    options = ({}, {"policy": "brp-1.0"})
    settings = tmp_path / "index.toml"
    settings.write_text(f'database = "{buyers_database}"\n[api.buyers]\npolicy = "independent-1.0"\n', encoding="utf-8")
    with buyers_with(policy="independent-1.0") as url:
        answers = asyncio.run(ask(f"{url}/mcp"))
    answers += asyncio.run(
        ask(stdio_client(StdioServerParameters(command=COMMAND, args=["mcp", "--settings", str(settings)])))
    )
    reputations = [json.loads(answer.content[0].text)["reputation"] for answer in answers]
    policies = [(reputation["scoringPolicy"], reputation["tier"]) for reputation in reputations]
    assert policies == [("independent-1.0", "new"), ("brp-1.0", "premium")] * 2
