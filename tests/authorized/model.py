"""A model of the registry for authorised feedback, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bilateral.core.signatures import FeedbackAuth


@dataclass
class Model:
    """Agents with their owners and operators, and all feedback by agent, in order.

    Attributes:
        chain_id: The chain's id.
        owners: The owner's address, by agent.
        operators: `(owner, operator)` of every approval for all of an owner's tokens.
        feedback: The records of each agent, as `Given.record` makes them.
    """

    chain_id: int
    owners: dict[int, str]
    operators: set[tuple[str, str]] = field(default_factory=set)
    feedback: defaultdict[int, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def refusal(
        self, agent_id: int, score: int, sender: str, auth: FeedbackAuth, signer: str, now: int
    ) -> tuple[str, dict[str, Any]] | None:
        """Return the error, with its arguments, for feedback with a well-formed authorisation; None if it is valid."""
        owner = self.owners.get(agent_id)
        last = self.last_index(agent_id, sender)
        checks = [
            (score <= 100, "ScoreTooHigh", {"score": score, "maximum": 100}),
            (
                agent_id == auth.agent_id,
                "AgentNotAuthorized",
                {"agentId": agent_id, "authorizedAgentId": auth.agent_id},
            ),
            (
                sender == auth.client_address,
                "ClientNotAuthorized",
                {"caller": sender, "authorizedClient": auth.client_address},
            ),
            (
                self.chain_id == auth.chain_id,
                "ChainNotAuthorized",
                {"chainId": self.chain_id, "authorizedChainId": auth.chain_id},
            ),
            (now <= auth.expiry, "FeedbackAuthExpired", {"expiry": auth.expiry, "timestamp": now}),
            (last < auth.index_limit, "IndexLimitReached", {"lastIndex": last, "indexLimit": auth.index_limit}),
            (owner is not None, "ERC721NonexistentToken", {"tokenId": agent_id}),
            (
                sender != owner and (owner, sender) not in self.operators,
                "SelfFeedbackNotAllowed",
                {"agentId": agent_id, "clientAddress": sender},
            ),
            (signer == owner, "SignerNotOwner", {"signer": signer, "owner": owner}),
        ]
        return next(((name, arguments) for holds, name, arguments in checks if not holds), None)

    def give(self, agent_id: int, record: dict[str, Any]) -> None:
        """Store a feedback."""
        self.feedback[agent_id].append(record)

    def of_client(self, agent_id: int, client: str) -> list[dict[str, Any]]:
        """Return one client's feedback on an agent, in order."""
        return [record for record in self.feedback[agent_id] if record["clientAddress"] == client]

    def last_index(self, agent_id: int, client: str) -> int:
        """Return the number of a client's feedbacks on an agent."""
        return len(self.of_client(agent_id, client))

    def summary(self, agent_id: int) -> tuple[int, int]:
        """Return the count, and the average rounded toward zero; zeros without feedback."""
        scores = [record["score"] for record in self.feedback[agent_id]]
        return len(scores), sum(scores) // len(scores) if scores else 0
