"""Writes `message_vectors.json`: signed messages and credentials for implementations in any language.

Run as a module to renew it. The hashes and signatures are those of eth-account, rfc8785 and eth-hash; no code of the
package takes part. `texts` has what the hashes among the values are of: JSON arrays by RFC 8785, texts in UTF-8.
"""

from __future__ import annotations

import json
from pathlib import Path

import rfc8785
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

FILE = Path(__file__).with_name("message_vectors.json")
KEY = keccak(text="a key for vectors")
CHAIN = 8453
BUYER, HOLDER = (Account.from_key(keccak(text=name)).address for name in ("buyer", "holder"))
IDENTITY = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"
REGISTRY = "0x742d35Cc6634C0532925a3b844Bc9e7595f2bD58"
NOBODY = "0x" + "00" * 20
TRANSACTION = "0x" + keccak(text="transaction").hex()
POLICY = "brp-1.0"
TAGS, NOTE = ["prompt-payment", "clear-requirements"], "Great client, clear task description. Grüße"
BODY = {"globalId": f"eip155:{CHAIN}:{IDENTITY}#247", "serviceName": "Solidity Audit API", "issuedAt": 1_773_000_000}


def json_hash(value):
    return "0x" + keccak(rfc8785.dumps(value)).hex()


def text_hash(text):
    return "0x" + keccak(text.encode()).hex()


SCORED = (
    "address buyer,address sellerRegistry,uint256 sellerAgentId,uint8 score,bytes32 tagsHash,bytes32 noteHash,"
    "bytes32 txHash,uint256 chainId"
)
SCORES = [BUYER, IDENTITY, 247, 90]
CASES = {
    "BuyerFeedback": (SCORED, [*SCORES, json_hash(TAGS), text_hash(NOTE), TRANSACTION, CHAIN]),
    "AgentReview": (SCORED, [*SCORES, json_hash(["quality", ""]), text_hash(""), TRANSACTION, CHAIN]),
    "BuyerDispute": (
        "address buyer,address sellerRegistry,uint256 sellerAgentId,string state,bytes32 reasonHash,bytes32 txHash,"
        "uint256 chainId",
        [BUYER, IDENTITY, 2**255 + 1, "filed", text_hash("charged back"), TRANSACTION, CHAIN],
    ),
    "AgentEnrichment": (
        "address registry,uint256 agentId,bytes32 contentHash,uint64 issuedAt,uint256 chainId",
        [IDENTITY, 247, json_hash(BODY), BODY["issuedAt"], CHAIN],
    ),
    "BuyerReply": (
        "address buyer,bytes32 messageId,bytes32 textHash,uint256 chainId",
        [BUYER, text_hash("an id"), text_hash("I paid in time"), CHAIN],
    ),
    "CredentialRequest": (
        "address buyer,address holder,string policy,bytes32 scope,uint256 chainId,uint64 expiresAt",
        [BUYER, HOLDER, POLICY, text_hash("a scope"), CHAIN, 1_773_000_600],
    ),
    "TierCredential": (
        "address holder,uint64 issuedAt,uint64 validUntil,bytes32 policy,uint8 tier,bytes32 scope,bytes32 pseudonym",
        [HOLDER, 1_773_000_000, 1_773_003_600, text_hash(POLICY), 2, text_hash("a scope"), text_hash("a pseudonym")],
    ),
}
TEXTS = {
    "BuyerFeedback": {"tagsHash": TAGS, "noteHash": NOTE},
    "AgentReview": {"tagsHash": ["quality", ""], "noteHash": ""},
    "BuyerDispute": {"reasonHash": "charged back"},
    "AgentEnrichment": {"contentHash": BODY},
    "BuyerReply": {"messageId": "an id", "textHash": "I paid in time"},
    "CredentialRequest": {"scope": "a scope"},
    "TierCredential": {"policy": POLICY, "scope": "a scope", "pseudonym": "a pseudonym"},
}
DOMAINS = {"CredentialRequest": ("BilateralBuyers", NOBODY), "TierCredential": ("BuyerReputationRegistry", REGISTRY)}


def written():
    """Yield each vector."""
    for kind, (fields, values) in CASES.items():
        name, contract = DOMAINS.get(kind, ("BilateralBuyers", IDENTITY))
        domain = {"name": name, "version": "1", "chainId": CHAIN, "verifyingContract": contract}
        types = [dict(zip(("type", "name"), field.split(), strict=True)) for field in fields.split(",")]
        message = dict(zip((type_["name"] for type_ in types), values, strict=True))
        signable = encode_typed_data(domain, {kind: types}, message)
        signed = Account.sign_message(signable, KEY)
        yield {
            "domain": domain,
            "primaryType": kind,
            "types": {kind: types},
            "message": {
                key: str(value) if isinstance(value, int) and value >= 2**53 else value
                for key, value in message.items()
            },
            "texts": TEXTS.get(kind, {}),
            "structHash": "0x" + signable.body.hex(),
            "digest": "0x" + signed.message_hash.hex(),
            "signer": Account.from_key(KEY).address,
            "signature": "0x" + signed.signature.hex(),
        }


if __name__ == "__main__":
    FILE.write_text(json.dumps(list(written()), indent=2, ensure_ascii=False) + "\n")
