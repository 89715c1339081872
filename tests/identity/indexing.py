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

    def forget_former_speakers():
        for account, agent_id in list(primary.items()):
            if account not in (owners[agent_id], wallets[agent_id]):
                del primary[account]

    following = [*events[1:], ("", {})]
    for (name, fields), (next_name, next_fields) in zip(events, following, strict=True):
        if name == "Transfer":
            agent_id, receiver = fields["id"], fields["to"]
            owners[agent_id] = receiver
            if fields["from"] == ZERO_ADDRESS:
                wallets[agent_id] = receiver
                primary.setdefault(receiver, agent_id)
            forget_former_speakers()
        elif name == "MetadataSet" and fields["metadataKey"] == "agentWallet":
            agent_id, value = fields["agentId"], fields["metadataValue"]
            wallets[agent_id] = to_checksum_address(value) if value else ZERO_ADDRESS
            # A transfer clears the wallet just before it moves the token, and the wallet may be who receives that.
            if (next_name, next_fields.get("id")) != ("Transfer", agent_id):
                forget_former_speakers()
            if value:
                primary.setdefault(wallets[agent_id], agent_id)
        elif name == "PrimaryAgentSet":
            primary[fields["account"]] = fields["agentId"]
    return primary
