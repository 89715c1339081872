"""An MCP tool signs what it was paid for. The hook alone suffices: the SDK shows it the whole call."""

from __future__ import annotations

import asyncio

import pytest
from x402 import x402ResourceServer
from x402.mcp.server_async import PaymentWrapperConfig, create_payment_wrapper
from x402.mcp.types import MCPToolResult
from x402.schemas import PaymentRequired, ResourceConfig

from bilateral.x402 import (
    InteractionData,
    Reputation8004ResourceServerExtension,
    SettlementReceipt,
    declare_8004_reputation,
    interaction_hash,
)
from bilateral.x402.proof.keys import is_signature_of
from bilateral.x402.proof.profiles import tool_request, tool_response
from tests.x402.world import NETWORK, PRICE, SIGNING_KEY, paying_client, resource_server

CONTENT = [{"type": "text", "text": "snø"}]


LIMIT = 2_000


@pytest.fixture(params=[{}])
def paid(request, facilitator, token, seller, agent, deployment):
    """Wraps a tool so that it is paid for."""
    extension = Reputation8004ResourceServerExtension(SIGNING_KEY, limit=LIMIT)
    server = resource_server(x402ResourceServer, facilitator, extension)
    server.initialize()
    price = {
        "asset": token.address,
        "amount": str(PRICE),
        "extra": {"name": "Test Dollar", "version": "2", **request.param},
    }
    accepts = server.build_payment_requirements(
        ResourceConfig(scheme="exact", network=NETWORK, pay_to=seller.address, price=price)
    )
    return create_payment_wrapper(
        server, PaymentWrapperConfig(accepts, extensions=declare_8004_reputation(agent, deployment))
    )


def call(tool, arguments, buyer=None):
    """Call a tool; pay first if there is a buyer."""

    async def run():
        extra = {"toolName": "forecast", "_meta": {}}
        if buyer is not None:
            refused = await tool(arguments, {"toolName": "forecast", "_meta": {}})
            required = PaymentRequired.model_validate(refused.structured_content)
            payload = paying_client(buyer).create_payment_payload(required)
            extra["_meta"] = {"x402/payment": payload.model_dump(by_alias=True, exclude_none=True)}
        return await tool(arguments, extra)

    return asyncio.run(run())


@pytest.mark.parametrize("structured", [None, {"degrees": -4, "city": "Ålesund"}])
def test_paid_tool_call_carries_a_proof_of_its_canonical_form(paid, buyer, structured):
    async def forecast(arguments, _context):
        return MCPToolResult(content=CONTENT, structured_content=structured)

    arguments = {"city": "Ålesund", "days": 3}
    result = call(paid(forecast), arguments, buyer)
    receipt = SettlementReceipt.of(result.meta["x402/payment-response"])
    interaction = InteractionData.of(receipt.interaction)
    assert not result.is_error
    assert interaction.task_ref == f"{NETWORK}:{receipt.transaction}"
    assert interaction.interaction_hash == interaction_hash(
        interaction.task_ref, tool_request("forecast", arguments), tool_response(CONTENT, structured)
    )
    assert is_signature_of(interaction.interaction_hash, interaction.signature, SIGNING_KEY.public_key, "secp256k1")


def test_unpaid_tool_call_gets_the_declaration(paid, agent):
    async def forecast(arguments, _context):
        raise AssertionError("it runs unpaid")

    result = call(paid(forecast), {})
    declared = result.structured_content["extensions"]["8004-reputation"]["info"]
    assert (result.is_error, declared["registrations"][0]["agentId"]) == (True, str(agent))


def test_tool_call_without_canonical_form_takes_no_money(paid, buyer, token):
    ran = []

    async def forecast(arguments, _context):
        ran.append(arguments)
        return {"content": CONTENT, "structuredContent": {"large": 2**60}}

    result = call(paid(forecast), {"large": 2**60}, buyer)
    assert (result.is_error, ran) == (True, [])
    result = call(paid(forecast), {}, buyer)
    assert (result.is_error, ran) == (True, [{}])
    assert "response_not_signable" in str(result.structured_content)
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize("paid", [{"paymentFlow": "upfront"}], indirect=True)
def test_payment_before_a_tool_runs_is_refused(paid, buyer, token):
    async def forecast(arguments, _context):
        raise AssertionError("it runs")

    assert call(paid(forecast), {}, buyer).is_error
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_failed_tool_call_takes_no_money(paid, buyer, token):
    async def forecast(arguments, _context):
        return MCPToolResult(content=CONTENT, is_error=True)

    assert call(paid(forecast), {}, buyer).is_error
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize(("more", "is_served"), [(0, True), (1, False)])
def test_tool_call_has_a_limit_before_it_is_paid(paid, buyer, token, more, is_served):
    ran = []

    async def forecast(arguments, _context):
        ran.append(arguments)
        return MCPToolResult(content=CONTENT)

    size = LIMIT - len(tool_request("forecast", {"city": ""}))
    result = call(paid(forecast), {"city": "a" * (size + more)}, buyer)
    assert (not result.is_error, len(ran)) == (is_served, int(is_served))
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE * is_served


@pytest.mark.parametrize(("more", "is_served"), [(0, True), (1, False)])
def test_tool_result_over_the_limit_takes_no_money(paid, buyer, token, more, is_served):
    size = LIMIT - len(tool_response([{"type": "text", "text": ""}]))

    async def forecast(_arguments, _context):
        return MCPToolResult(content=[{"type": "text", "text": "a" * (size + more)}])

    result = call(paid(forecast), {}, buyer)
    assert result.is_error is not is_served
    assert ("response_too_large" in str(result.structured_content)) is not is_served
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE * is_served
