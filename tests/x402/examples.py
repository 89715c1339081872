"""The specification's examples, with values of the right form in place of its placeholders and wrong checksums."""

from __future__ import annotations

import copy

BASE = "eip155:8453"
SOLANA = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
IDENTITY = "0x8004a818bfb912233c491871b3d84c89a494bd9e"
REPUTATION = "0x8004b663c4a7e45d78f2d05c8e4a5a3d3d5e7890"
MINT = "7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q"
PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
SOLANA_TRANSACTION = "5wHu1qwD7q5ifaN5nwdcDqNFo53GJqa7nLp2BeeEpcHCusb4GzARz4GjgzsEHMkBMgCJMGa6GSQ1VG96Exv8kt2W"

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "version": {"type": "string", "pattern": "^\\d+\\.\\d+\\.\\d+$"},
        "registrations": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "agentRegistry": {"type": "string"},
                    "agentId": {"type": "string"},
                    "reputationRegistry": {"type": "string"},
                },
                "required": ["agentRegistry", "agentId", "reputationRegistry"],
            },
        },
        "endpoint": {"type": "string", "format": "uri"},
        "feedbackAggregator": {"type": "string", "format": "uri"},
    },
    "required": ["version", "registrations"],
}

SINGLE_CHAIN = {
    "x402Version": 2,
    "resource": {"url": "https://agent.example/weather", "description": "Weather data API"},
    "accepts": [
        {
            "scheme": "exact",
            "network": BASE,
            "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            "payTo": "0x1234567890123456789012345678901234567890",
            "amount": "1000",
            "maxTimeoutSeconds": 60,
        }
    ],
    "extensions": {
        "8004-reputation": {
            "info": {
                "version": "1.0.0",
                "registrations": [
                    {
                        "agentRegistry": f"{BASE}:{IDENTITY}",
                        "agentId": "42",
                        "reputationRegistry": f"{BASE}:{REPUTATION}",
                    }
                ],
                "endpoint": "https://agent.example/weather",
                "feedbackAggregator": "https://feedback.example/submit",
            },
            "schema": SCHEMA,
        }
    },
}

MULTI_CHAIN_INFO = {
    "version": "1.0.0",
    "registrations": [
        {"agentRegistry": f"{BASE}:{IDENTITY}", "agentId": "42", "reputationRegistry": f"{BASE}:{REPUTATION}"},
        {
            "agentRegistry": f"{SOLANA}:{PROGRAM}",
            "agentId": MINT,
            "reputationRegistry": f"{SOLANA}:{PROGRAM}",
        },
    ],
}

PAYMENT_RESPONSE = {
    "settlementResponse": {
        "success": True,
        "txHash": SOLANA_TRANSACTION,
        "networkId": SOLANA,
        "payer": MINT,
    },
    "extensions": {
        "8004-reputation": {
            "networkId": SOLANA,
            "agentId": MINT,
            "taskRef": f"{SOLANA}:{SOLANA_TRANSACTION}",
            "interactionHash": "0x" + "12" * 32,
            "agentSignature": "a1" * 64,
            "timestamp": 1737763200,
        }
    },
}

CLIENT_PAYLOAD = {
    "8004-reputation": {"clientAgentRegistry": f"{BASE}:{IDENTITY}", "clientAgentId": "99"},
}


def changed(message, path, value):
    """Return a copy of a message in which one field is another; `None` removes it."""
    message = copy.deepcopy(message)
    *parents, name = path
    holder = message
    for parent in parents:
        holder = holder[parent]
    if value is None:
        del holder[name]
    else:
        holder[name] = value
    return message
