"""Events of the identity registry, in the form of `tests.helpers.logged`."""

from __future__ import annotations

from ape.utils import ZERO_ADDRESS
from eth_utils import keccak, to_canonical_address


def transferred(sender, receiver, agent_id):
    return ("Transfer", {"from": str(sender), "to": str(receiver), "id": agent_id})


def registered(agent_id, uri, owner):
    return ("Registered", {"agentId": agent_id, "agentURI": uri, "owner": str(owner)})


def metadata_set(agent_id, key, value):
    fields = {"indexedMetadataKey": keccak(text=key), "metadataKey": key, "metadataValue": value}
    return ("MetadataSet", {"agentId": agent_id, **fields})


def wallet_set(agent_id, wallet):
    return metadata_set(agent_id, "agentWallet", to_canonical_address(str(wallet)))


def wallet_cleared(agent_id):
    return metadata_set(agent_id, "agentWallet", b"")


def registration(agent_id, owner, uri=""):
    """Return the first events of every registration, in order."""
    return [transferred(ZERO_ADDRESS, owner, agent_id), registered(agent_id, uri, owner), wallet_set(agent_id, owner)]


def handover(agent_id, sender, receiver):
    """Return the events of every transfer: the registry clears the wallet before the token moves."""
    return [wallet_cleared(agent_id), transferred(sender, receiver, agent_id)]


def uri_updated(agent_id, uri, caller):
    return [
        ("MetadataUpdate", {"_tokenId": agent_id}),
        ("URIUpdated", {"agentId": agent_id, "newURI": uri, "updatedBy": str(caller)}),
    ]


def agent_registered(agent_id, domain, address):
    return ("AgentRegistered", {"agentId": agent_id, "agentDomain": domain, "agentAddress": str(address)})


def agent_updated(agent_id, domain, address):
    return ("AgentUpdated", {"agentId": agent_id, "agentDomain": domain, "agentAddress": str(address)})


def primary_agent_set(account, agent_id):
    return ("PrimaryAgentSet", {"account": str(account), "agentId": agent_id})
