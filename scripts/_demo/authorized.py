"""Chapter: the server authorises feedback, and the client uses it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ape
from eth_utils.crypto import keccak

from bilateral.core.signatures import Domain, FeedbackAuth, encode_feedback_auth

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

ONE_HOUR = 3600
SCORES = (90, 80, 95)
TAG_QUALITY = b"quality".ljust(32, b"\0")
TAG_FINANCE = b"finance".ljust(32, b"\0")
REPORT_URI = "https://client.example/report.json"


def play(stage: Stage) -> None:
    """Authorise three, use three, refuse the fourth and what comes too late.

    Args:
        stage: The stage.
    """
    stage.chapter("Authorised feedback")
    registry = stage.registry("AuthorizedReputationRegistry")
    _use_up(stage, registry)
    _come_too_late(stage, registry)
    with stage.step("Anyone reads the summary on chain.") as step:
        summary = registry.getSummary(stage.agents["server"])
        step.check("feedback", summary.count, len(SCORES))
        step.check("average score", summary.averageScore, sum(SCORES) // len(SCORES))


def _authorize(stage: Stage, registry: ContractInstance, more: int) -> tuple[FeedbackAuth, bytes]:
    """Let the client give some more feedback, for an hour."""
    client, agent_id = stage.account("client"), stage.agents["server"]
    chain_id = registry.provider.chain_id
    auth = FeedbackAuth(
        agent_id=agent_id,
        client_address=client.address,
        index_limit=registry.getLastIndex(agent_id, client) + more,
        expiry=stage.now() + ONE_HOUR,
        chain_id=chain_id,
    )
    signature = stage.account("server").sign_message(auth.signable(Domain(chain_id, registry.address)))
    return auth, encode_feedback_auth(auth, signature.encode_rsv())


def _use_up(stage: Stage, registry: ContractInstance) -> None:
    client, stranger, agent_id = stage.account("client"), stage.account("stranger"), stage.agents["server"]
    auth, feedback_auth = _authorize(stage, registry, more=len(SCORES))

    def give(score: int, sender: object) -> None:
        report_hash = keccak(text=f"score {score}")
        registry.giveFeedback(
            agent_id, score, TAG_QUALITY, TAG_FINANCE, REPORT_URI, report_hash, feedback_auth, sender=sender
        )

    with stage.step("The server signs, off chain, that the client may give feedback three times.") as step:
        signed = auth.digest(Domain(auth.chain_id, registry.address))
        fields = (auth.agent_id, auth.client_address, auth.index_limit, auth.expiry, auth.chain_id)
        step.check("digest that the contract will check", registry.hashFeedbackAuth(fields), signed)
    with stage.refused(
        registry.ClientNotAuthorized,
        "A stranger has got hold of it and wants to rate the server.",
        caller=stranger,
        authorizedClient=client,
    ):
        give(0, stranger)
    for number, score in enumerate(SCORES, start=1):
        with stage.step(f"The client gives its feedback number {number}.") as step:
            give(score, client)
            stored = registry.getFeedback(agent_id, number - 1)
            step.check("by", stored.clientAddress, client)
            step.check("score", stored.score, score)
            step.check("the client's index", registry.getLastIndex(agent_id, client), number)
    with stage.refused(
        registry.IndexLimitReached,
        "The client wants to give a fourth.",
        lastIndex=len(SCORES),
        indexLimit=auth.index_limit,
    ):
        give(100, client)


def _come_too_late(stage: Stage, registry: ContractInstance) -> None:
    client, agent_id = stage.account("client"), stage.agents["server"]
    auth, feedback_auth = _authorize(stage, registry, more=1)
    too_late = auth.expiry + 1
    ape.chain.mine(timestamp=too_late - 1)
    ape.chain.pending_timestamp = too_late
    with stage.refused(
        registry.FeedbackAuthExpired,
        "The server authorises one more; the client uses it a second too late.",
        expiry=auth.expiry,
        timestamp=too_late,
    ):
        registry.giveFeedback(agent_id, 100, TAG_QUALITY, TAG_FINANCE, "", b"\0" * 32, feedback_auth, sender=client)
