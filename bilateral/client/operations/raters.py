"""Which agent stands behind an address that gave feedback (best practices, "Agent-as-Rater")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eth_utils.crypto import keccak

from bilateral.client.operations import agents, registries
from bilateral.client.results import Rater
from bilateral.core.contracts import Registry
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import MissingFunctionError, UnexpectedAnswerError
from bilateral.core.events import MetadataSet
from bilateral.core.events.agents import WALLET_KEY
from bilateral.core.identifiers import checksummed

if TYPE_CHECKING:
    from bilateral.client.state import ClientState
    from bilateral.node.steps import Operation

_WALLET_TOPIC: Final = "0x" + keccak(text=WALLET_KEY).hex()


def resolve(state: ClientState, address: str, *, load_file: bool) -> Operation[Rater]:
    """See `Client.resolve_rater`."""
    rater = checksummed(address)
    deployment = yield from registries.connect(state)
    try:
        (primary,) = yield from registries.call(state, deployment.directory_registry, "agentOf", rater)
        agent_id = primary or None
        if agent_id is None and deployment.directory is not None:  # few accounts have chosen one there
            agent_id = yield from _first_by_wallet(state, rater)
    except (ContractRevertError, MissingFunctionError, UnexpectedAnswerError):  # a registry without a directory
        agent_id = yield from _first_by_wallet(state, rater)
    if agent_id is None:
        return Rater(rater, None)
    return Rater(rater, (yield from agents.load(state, agent_id, load_file=load_file)))


def _first_by_wallet(state: ClientState, address: str) -> Operation[int | None]:
    """Return the first agent whose wallet an address is now, found by the logs."""
    events = yield from registries.events(state, Registry.IDENTITY, MetadataSet, [None, _WALLET_TOPIC])
    wallet = bytes.fromhex(address[2:])
    for agent_id in dict.fromkeys(event.agent_id for event in events if event.metadata_value == wallet):
        (now,) = yield from registries.call(state, Registry.IDENTITY, "getAgentWallet", agent_id)
        if now == address:
            return agent_id
    return None
