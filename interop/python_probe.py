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

    def agent_ids(**filters: Any) -> list[str]:
        return sorted(agent.agentId for agent in sdk.searchAgents(**here, **filters))

    def scores(**filters: Any) -> list[float]:
        return sorted(feedback.value for feedback in sdk.searchFeedback(**filters))

    agent = sdk.getAgent("31337:1")
    feedback = sdk.getFeedback("31337:1", client, 13)
    answers = {
        "all": agent_ids(),
        "name": agent_ids(name="WEATHER"),
        "description": agent_ids(description="forty languages"),
        "mcp": agent_ids(hasMCP=True),
        "a2a": agent_ids(hasA2A=True, a2aContains="translate.example"),
        "web": agent_ids(webContains="weather.example"),
        "oasf": agent_ids(hasOASF=True),
        "tools": agent_ids(mcpTools=["forecast", "nothing"]),
        "skills": agent_ids(a2aSkills=["translate"]),
        "oasf skills": agent_ids(oasfSkills=["images/generation"], oasfDomains=["media"]),
        "trust": agent_ids(supportedTrust=["crypto-economic"]),
        "active": agent_ids(active=True),
        "inactive": agent_ids(active=False),
        "x402": agent_ids(x402support=True),
        "owner": agent_ids(owners=[agent.owners[0]]),
        "wallet": agent_ids(walletAddress=wallet),
        "ids": agent_ids(agentIds=["31337:2", "31337:4"], hasRegistrationFile=None),
        "without a file": agent_ids(hasRegistrationFile=False),
        "metadata key": agent_ids(hasMetadataKey="category"),
        "metadata value": agent_ids(metadataValue={"key": "category", "value": "weather"}),
        "since": agent_ids(registeredAtFrom=1, updatedAtTo=4102444800),
        "rated": agent_ids(feedback={"hasFeedback": True}),
        "unrated": agent_ids(feedback={"hasNoFeedback": True}),
        "rated well": agent_ids(feedback={"minValue": 80, "tag": "starred", "minCount": 2}),
        "rated by": agent_ids(feedback={"fromReviewers": [client]}),
        "by name": [agent.name for agent in sdk.searchAgents({"chains": [CHAIN]}, {"sort": ["name:asc"]})],
        "agent": {
            name: getattr(agent, name) for name in ("agentId", "name", "mcpTools", "active", "x402support", "mcp")
        },
        "feedback": {"value": feedback.value, "tags": feedback.tags},
        "feedback file": {"text": feedback.text, "tool": feedback.mcpTool},
        "feedback of agent": scores(agentId="31337:1"),
        "feedback of agents": scores(agents=["31337:2", "31337:3"]),
        "feedback by client": scores(reviewers=[client]),
        "feedback with tag": scores(agentId="31337:1", tags=["starred"]),
        "feedback from": scores(agentId="31337:1", minValue=95, maxValue=99),
        "feedback with revoked": scores(agentId="31337:1", include_revoked=True),
        "answers": [len(feedback.answers) for feedback in sdk.searchFeedback(agentId="31337:1") if feedback.answers],
        "reputation": sdk.getReputationSummary("31337:1"),
    }
    print(json.dumps(answers, default=_plain))


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)


if __name__ == "__main__":
    main()
