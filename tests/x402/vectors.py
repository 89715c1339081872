"""Writes `interactions.json` and `interactions_draft.json` of tests/vectors. Run as a module to renew.

The first has hashes and signatures of `8004-reputation`, the second those of the upstream draft `reputation`.

The hashes come from pycryptodome and the signatures from OpenSSL and libsecp256k1, none of which the package uses for
them directly.
"""

from __future__ import annotations

import json
from pathlib import Path

import coincurve
from Crypto.Hash import keccak
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.x402 import examples

VECTORS = Path(__file__).parents[1] / "vectors"
"""The vectors that the tests of all languages read."""

FILE = VECTORS / "interactions.json"
DRAFT_FILE = VECTORS / "interactions_draft.json"
SECRET = bytes(range(1, 33))
EVM_TASK = f"{examples.BASE}:0x{'ab' * 32}"
SOLANA_TASK = f"{examples.SOLANA}:{examples.SOLANA_TRANSACTION}"

TARGET = "/weather?city=Troms%C3%B8&units=metric"

CASES = {
    "text": (EVM_TASK, b'{"city":"Oslo"}', '{"weather":"snø","degrees":-4}'.encode()),
    "no request body": (EVM_TASK, b"", b"sunny"),
    "no bodies": (EVM_TASK, b"", b""),
    "binary": (EVM_TASK, bytes(range(256)), b"\xff\xfe\x00"),
    "solana": (SOLANA_TASK, b"", b"sunny"),
    "upper case transaction": (EVM_TASK.replace("ab" * 32, "AB" * 32), b"", b"sunny"),
}


def digest_of(*parts):
    return keccak.new(digest_bits=256, data=b"".join(parts)).digest()


def interactions():
    private, seed = coincurve.PrivateKey(SECRET), Ed25519PrivateKey.from_private_bytes(SECRET)
    for name, (task_ref, request, response) in CASES.items():
        digest = digest_of(task_ref.encode(), request, response)
        yield {
            "name": name,
            "taskRef": task_ref,
            "requestBody": request.hex(),
            "responseBody": response.hex(),
            "interactionHash": "0x" + digest.hex(),
            "secp256k1": private.sign_recoverable(digest, hasher=None).hex(),
            "ed25519": seed.sign(digest).hex(),
        }


def draft_interactions():
    private, seed = coincurve.PrivateKey(SECRET), Ed25519PrivateKey.from_private_bytes(SECRET)
    for name, (task_ref, request, response) in CASES.items():
        content = request or TARGET.encode()
        data = digest_of(len(content).to_bytes(4, "big"), content, response)
        digest = digest_of(b"x402:reputation:v1", task_ref.encode(), data)
        yield {
            "name": name,
            "taskRef": task_ref,
            "requestTarget": TARGET,
            "requestBody": request.hex(),
            "responseBody": response.hex(),
            "dataHash": "0x" + data.hex(),
            "interactionHash": "0x" + digest.hex(),
            "secp256k1": "0x" + private.sign_recoverable(digest, hasher=None).hex(),
            "ed25519": "0x" + seed.sign(digest).hex(),
        }


def client_messages():
    registry = f"{examples.BASE}:0x8004A818BFB912233c491871b3d84c89A494BD9e"
    for value in (0, 95, 100, 255):
        digest = digest_of(registry.encode(), b"42", EVM_TASK.encode(), bytes([value]))
        yield {
            "agentRegistry": registry,
            "agentId": "42",
            "taskRef": EVM_TASK,
            "value": value,
            "clientMessage": "0x" + digest.hex(),
            "clientSignature": coincurve.PrivateKey(SECRET).sign_recoverable(digest, hasher=None).hex(),
        }


def reviews():
    """Yield the messages that clients sign in the draft, built by hand: NUL between texts, numbers in big endian."""
    registry = f"{examples.BASE}:0x8004A818BFB912233c491871b3d84c89A494BD9e"
    data = next(draft_interactions())["dataHash"]
    for value, decimals, tag1 in ((95, 0, "starred"), (1, 0, "reachable"), (995, 1, ""), (-5, 2, "renditeübersicht")):
        named = f"{registry}\0" + "42\0" + f"{EVM_TASK}\0"
        number = value.to_bytes(16, "big", signed=True) + decimals.to_bytes(1, "big")
        digest = digest_of(named.encode(), bytes.fromhex(data[2:]), number, f"{tag1}\0x402".encode())
        yield {
            "agentRegistry": registry,
            "agentId": "42",
            "taskRef": EVM_TASK,
            "dataHash": data,
            "value": value,
            "valueDecimals": decimals,
            "tag1": tag1,
            "tag2": "x402",
            "reviewerMessage": "0x" + digest.hex(),
            "reviewerSignature": "0x" + coincurve.PrivateKey(SECRET).sign_recoverable(digest, hasher=None).hex(),
        }


def keys():
    ed25519 = Ed25519PrivateKey.from_private_bytes(SECRET).public_key()
    secp256k1 = coincurve.PrivateKey(SECRET).public_key
    return {
        "privateKey": SECRET.hex(),
        "publicKeys": {
            "secp256k1": secp256k1.format(compressed=False).hex(),
            "secp256k1 compressed": secp256k1.format().hex(),
            "ed25519": ed25519.public_bytes(Encoding.Raw, PublicFormat.Raw).hex(),
        },
    }


def draft_vectors():
    statement = next(draft_interactions())
    return {
        **keys(),
        "interactions": list(draft_interactions()),
        "reviews": list(reviews()),
        "statement": {
            "agentRegistry": f"{examples.BASE}:0x8004A818BFB912233c491871b3d84c89A494BD9e",
            "agentId": "42",
            "taskRef": EVM_TASK,
            "dataHash": statement["dataHash"],
            "interactionHash": statement["interactionHash"],
            "agentSignerPublicKey": "0x" + keys()["publicKeys"]["secp256k1"],
            "agentSignature": statement["secp256k1"],
            "agentSignatureAlgorithm": "secp256k1",
            "feedbackEndpoint": "https://facilitator.example/feedback",
        },
    }


def vectors():
    return {
        **keys(),
        "interactions": list(interactions()),
        "clientMessages": list(client_messages()),
        "toolCall": {
            "request": {"name": "forecast", "arguments": {"days": 3, "city": "Ålesund", "exact": 1.0}},
            "requestBody": '{"arguments":{"city":"Ålesund","days":3,"exact":1},"name":"forecast"}'.encode().hex(),
            "response": {
                "content": [{"type": "text", "text": "snow"}],
                "structuredContent": {"b": 1, "a": [True, None]},
            },
            "responseBody": (
                b'{"content":[{"text":"snow","type":"text"}],"structuredContent":{"a":[true,null],"b":1}}'.hex()
            ),
        },
    }


if __name__ == "__main__":
    for file, made in ((FILE, vectors()), (DRAFT_FILE, draft_vectors())):
        file.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
