"""Asks the service through the published Python SDK, and prints the answers as JSON.

It runs in the environment of `interop/requirements.lock`. Arguments: the service's URL, the node's URL, the addresses
of the identity and the reputation registry, of a client, and of an agent's wallet.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from agent0_sdk import SDK

CHAIN = 31337


def main() -> None:
    """Run every question, and print the answers by name."""
    service, node, identity, reputation, client, wallet = sys.argv[1:]
    sdk = SDK(
        chainId=CHAIN,
        rpcUrl=node,
        subgraphOverrides={CHAIN: f"{service}/graphql/{CHAIN}"},
        registryOverrides={CHAIN: {"IDENTITY": identity, "REPUTATION": reputation}},
    )
    here = {"chains": [CHAIN]}

    def found(**filters: Any) -> list[str]:
        return sorted(it.agentId for it in sdk.searchAgents(**here, **filters))

    def given(**filters: Any) -> list[float]:
        return sorted(it.value for it in sdk.searchFeedback(**filters))

    agent = sdk.getAgent("31337:1")
    feedback = sdk.getFeedback("31337:1", client, 13)
    answers = {
        "all": found(),
        "name": found(name="WEATHER"),
        "description": found(description="forty languages"),
        "mcp": found(hasMCP=True),
        "a2a": found(hasA2A=True, a2aContains="translate.example"),
        "web": found(webContains="weather.example"),
        "oasf": found(hasOASF=True),
        "tools": found(mcpTools=["forecast", "nothing"]),
        "skills": found(a2aSkills=["translate"]),
        "oasf skills": found(oasfSkills=["images/generation"], oasfDomains=["media"]),
        "trust": found(supportedTrust=["crypto-economic"]),
        "active": found(active=True),
        "inactive": found(active=False),
        "x402": found(x402support=True),
        "owner": found(owners=[agent.owners[0]]),
        "wallet": found(walletAddress=wallet),
        "ids": found(agentIds=["31337:2", "31337:4"], hasRegistrationFile=None),
        "without a file": found(hasRegistrationFile=False),
        "metadata key": found(hasMetadataKey="category"),
        "metadata value": found(metadataValue={"key": "category", "value": "weather"}),
        "since": found(registeredAtFrom=1, updatedAtTo=4102444800),
        "rated": found(feedback={"hasFeedback": True}),
        "unrated": found(feedback={"hasNoFeedback": True}),
        "rated well": found(feedback={"minValue": 80, "tag": "starred", "minCount": 2}),
        "rated by": found(feedback={"fromReviewers": [client]}),
        "by name": [it.name for it in sdk.searchAgents({"chains": [CHAIN]}, {"sort": ["name:asc"]})],
        "agent": {it: getattr(agent, it) for it in ("agentId", "name", "mcpTools", "active", "x402support", "mcp")},
        "feedback": {"value": feedback.value, "tags": feedback.tags},
        "feedback file": {"text": feedback.text, "tool": feedback.mcpTool},
        "feedback of agent": given(agentId="31337:1"),
        "feedback of agents": given(agents=["31337:2", "31337:3"]),
        "feedback by client": given(reviewers=[client]),
        "feedback with tag": given(agentId="31337:1", tags=["starred"]),
        "feedback from": given(agentId="31337:1", minValue=95, maxValue=99),
        "feedback with revoked": given(agentId="31337:1", include_revoked=True),
        "answers": [len(it.answers) for it in sdk.searchFeedback(agentId="31337:1") if it.answers],
        "reputation": sdk.getReputationSummary("31337:1"),
    }
    print(json.dumps(answers, default=_plain))


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)


if __name__ == "__main__":
    main()
