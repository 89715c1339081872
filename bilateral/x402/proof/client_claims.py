"""A client that claims to be an agent: the check of its claim, and the rating that a server gave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilateral.client.operations.registries import call
from bilateral.client.state import ClientState
from bilateral.core.contracts import Registry
from bilateral.core.identifiers import GlobalAgentId
from bilateral.node.steps import Operation, together
from bilateral.x402.proof.errors import PaymentRefusedError
from bilateral.x402.proof.readers import deployment_of
from bilateral.x402.proof.types import ClientAgent

if TYPE_CHECKING:
    from bilateral.checks import Check


@dataclass(frozen=True)
class VerifiedClient:
    """A client agent whose claim was checked.

    Attributes:
        payer: The account that pays: the agent's wallet or its owner.
        rating: The rating that the server gave it, 0 to 100; None without one.
        check: The answer of an index about the client, with its reasons; None if no index was asked.
    """

    agent: GlobalAgentId
    owner: str
    payer: str
    rating: int | None
    check: Check | None = None


def check_client(
    state: ClientState, claim: ClientAgent, payer: str, server_agent: int, known_rating: int | None = None
) -> Operation[VerifiedClient]:
    """Check that the payer speaks for the claimed agent, and read its rating (EIP-8004a, `getClientRating`).

    Args:
        state: The state of the chain's client.
        payer: The account that pays.
        server_agent: The server's agent.
        known_rating: The rating, if it is known already; it is final.

    Raises:
        PaymentRefusedError: The registry is not on the allow-list, or the payer is not the agent's wallet or owner.
        ContractRevertError: There is no such agent.
    """
    if claim.agent.registry != deployment_of(state).agent_registry:
        raise PaymentRefusedError("unknown_registry", f"{claim.agent.registry} is not on the allow-list")
    token = claim.agent.agent_id.token_id
    calls = [call(state, Registry.IDENTITY, "ownerOf", token), call(state, Registry.IDENTITY, "getAgentWallet", token)]
    if known_rating is None:
        calls.append(call(state, Registry.BIDIRECTIONAL, "getClientRating", token, server_agent))
    (owner,), (wallet,), *read = yield from together(calls)
    if payer.lower() not in {owner.lower(), wallet.lower()}:
        raise PaymentRefusedError("not_the_client_agent", f"{payer} is neither wallet nor owner of {claim.agent}")
    for has_rating, rating in read:
        known_rating = rating if has_rating else None
    return VerifiedClient(claim.agent, owner, payer, known_rating)
