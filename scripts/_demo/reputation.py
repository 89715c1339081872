"""Chapter: clients rate the server, one of them without gas; the server answers; a client takes feedback back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils.crypto import keccak

from bilateral.core.signatures import Domain, Feedback

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

ENDPOINT = "https://mcp.server.example"
FILE_URI = "https://client.example/feedback/1.json"
ANSWER_URI = "https://server.example/answers/1.json"
NO_FILE = ("", b"\0" * 32)
STARS, SPONSORED_STARS = 87, 95
UPTIME, UPTIME_DECIMALS = 9977, 2
ONE_HOUR = 3600


def play(stage: Stage) -> None:
    """Give open and sponsored feedback, answer, revoke, and summarise it on chain.

    Args:
        stage: The stage.
    """
    stage.chapter("Open feedback")
    registry = stage.registry("BidirectionalReputationRegistry")
    _give(stage, registry)
    _sponsor(stage, registry)
    _answer(stage, registry)
    _revoke(stage, registry)
    with stage.step("Anyone reads on chain how the clients that it trusts have starred the server.") as step:
        clients = [stage.account("client"), stage.account("penniless client")]
        summary = registry.getSummary(stage.agents["server"], clients, "starred", "")
        step.check("feedback", summary.count, len(clients))
        step.check("average", summary.summaryValue, (STARS + SPONSORED_STARS) // len(clients))


def _give(stage: Stage, registry: ContractInstance) -> None:
    client, server, agent_id = stage.account("client"), stage.account("server"), stage.agents["server"]
    file_hash = keccak(text="what the client has to say")
    with stage.step("The client rates the server: 87 of 100, for finance.") as step:
        registry.giveFeedback(agent_id, STARS, 0, "starred", "finance", ENDPOINT, FILE_URI, file_hash, sender=client)
        feedback = registry.readFeedback(agent_id, client, 1)
        step.check("value", feedback.value, STARS)
        step.check("tags", f"{feedback.tag1}, {feedback.tag2}", "starred, finance")
    with stage.step("It has measured the server's uptime as well: 99.77 %.") as step:
        registry.giveFeedback(agent_id, UPTIME, UPTIME_DECIMALS, "uptime", "", ENDPOINT, *NO_FILE, sender=client)
        feedback = registry.readFeedback(agent_id, client, 2)
        step.check("value", feedback.value, UPTIME)
        step.check("decimals", feedback.valueDecimals, UPTIME_DECIMALS)
    with stage.refused("Self-feedback not allowed", "The server wants to rate itself."):
        registry.giveFeedback(agent_id, 100, 0, "starred", "", ENDPOINT, *NO_FILE, sender=server)


def _sponsor(stage: Stage, registry: ContractInstance) -> None:
    client, aggregator = stage.account("penniless client"), stage.account("aggregator")
    agent_id = stage.agents["server"]
    feedback = Feedback(
        agent_id=agent_id,
        client_address=client.address,
        feedback_index=1,
        value=SPONSORED_STARS,
        value_decimals=0,
        tag1="starred",
        tag2="",
        endpoint=ENDPOINT,
        feedback_uri="",
        feedback_hash=b"\0" * 32,
        deadline=stage.now() + ONE_HOUR,
    )
    domain = Domain(registry.provider.chain_id, registry.address)
    signature = client.sign_message(feedback.signable(domain)).encode_rsv()
    fields = (agent_id, 1, SPONSORED_STARS, 0, "starred", "", ENDPOINT, *NO_FILE)

    with stage.step("Another client signs its feedback; an aggregator sends it and pays the gas.") as step:
        nonce = client.nonce
        registry.giveFeedbackBySig(client, fields, feedback.deadline, signature, sender=aggregator)
        step.check("value", registry.readFeedback(agent_id, client, 1).value, SPONSORED_STARS)
        step.check("transactions of the client", client.nonce - nonce, 0)
    with stage.refused(
        registry.UnexpectedFeedbackIndex, "The aggregator wants to send it once more.", given=1, expected=2
    ):
        registry.giveFeedbackBySig(client, fields, feedback.deadline, signature, sender=aggregator)


def _answer(stage: Stage, registry: ContractInstance) -> None:
    client, server, agent_id = stage.account("client"), stage.account("server"), stage.agents["server"]
    with stage.step("The server answers the client's first feedback.") as step:
        registry.appendResponse(agent_id, client, 1, ANSWER_URI, keccak(text="thank you"), sender=server)
        step.check("answers", registry.getResponseCount(agent_id, client, 1, []), 1)


def _revoke(stage: Stage, registry: ContractInstance) -> None:
    client, agent_id = stage.account("client"), stage.agents["server"]
    with stage.step("The client takes the uptime back.") as step:
        registry.revokeFeedback(agent_id, 2, sender=client)
        step.check("revoked", registry.readFeedback(agent_id, client, 2).isRevoked, expected=True)
    with stage.refused("Already revoked", "It wants to take it back again."):
        registry.revokeFeedback(agent_id, 2, sender=client)
