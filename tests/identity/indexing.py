"""How an indexer that sees nothing but events knows as which agent every account speaks."""

from __future__ import annotations

from ape.utils import ZERO_ADDRESS
from eth_utils import to_checksum_address


def primary_agents(events):
    """Derive `agentOf` from `Transfer`, `MetadataSet` and `PrimaryAgentSet`.

    Args:
        events: All events of the registry, in order, as `(name, {field: value})`.

    Returns:
        The primary agent of every account that has one.
    """
    owners, wallets, primary = {}, {}, {}
    for (name, fields), following in zip(events, [*events[1:], ("", {})], strict=True):
        if name == "PrimaryAgentSet":
            primary[fields["account"]] = fields["agentId"]
            continue
        if name == "Transfer":
            agent_id, speaker = fields["id"], None
            if fields["from"] == ZERO_ADDRESS:
                wallets[agent_id] = speaker = fields["to"]
            owners[agent_id] = fields["to"]
        elif name == "MetadataSet" and fields["metadataKey"] == "agentWallet":
            agent_id, speaker = fields["agentId"], None
            if fields["metadataValue"]:
                speaker = to_checksum_address(fields["metadataValue"])
            wallets[agent_id] = speaker
            # A transfer clears the wallet just before it moves the token, and the wallet may be who receives that.
            if (following[0], following[1].get("id")) == ("Transfer", agent_id):
                continue
        else:
            continue
        entitled = (owners[agent_id], wallets[agent_id])
        primary = {who: which for who, which in primary.items() if which != agent_id or who in entitled}
        if speaker:
            primary.setdefault(speaker, agent_id)
    return primary
