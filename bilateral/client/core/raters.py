"""Which agent stands behind an address that gave feedback (best practices, "Agent-as-Rater")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eth_utils.crypto import keccak

from bilateral.client.core import agents, chain
from bilateral.client.results import Rater
from bilateral.contracts import Registry
from bilateral.errors import UnexpectedAnswerError
from bilateral.identifiers import checksummed
from bilateral.reverts import ContractRevertError

if TYPE_CHECKING:
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation

_WALLET_TOPIC: Final = "0x" + keccak(text=agents.WALLET_KEY).hex()


def resolve(session: Session, address: str, *, load_file: bool) -> Operation[Rater]:
    """See `Client.resolve_rater`."""
    rater = checksummed(address)
    try:
        (primary,) = yield from chain.call(session, Registry.IDENTITY, "agentOf(address)", rater)
        agent_id = primary or None
    except (ContractRevertError, UnexpectedAnswerError):  # a registry without a directory
        agent_id = yield from _first_by_wallet(session, rater)
    if agent_id is None:
        return Rater(rater, None)
    return Rater(rater, (yield from agents.load(session, agent_id, load_file=load_file)))


def _first_by_wallet(session: Session, address: str) -> Operation[int | None]:
    """The agent that an address is the wallet of, the first of several, according to the logs and to what holds now."""
    logs = yield from chain.logs(session, Registry.IDENTITY, "MetadataSet", [None, _WALLET_TOPIC])
    wallet = bytes.fromhex(address[2:])
    for agent_id in dict.fromkeys(int(it.fields["agentId"]) for it in logs if it.fields["metadataValue"] == wallet):
        (now,) = yield from chain.call(session, Registry.IDENTITY, "getAgentWallet(uint256)", agent_id)
        if now == address:
            return agent_id
    return None
