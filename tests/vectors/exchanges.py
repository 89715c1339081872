"""Writes `exchanges.json`: paid exchanges with the answers of a node, and the outcome and the code of each check.

A case is one of `BASES` with changes, each a path and a value; null leaves the field out. Python's verifier judges them
when the file is written, and the tests of both languages judge them again. `RecordedNode` says how a node answers.

The changes are those that `changes` lists, and each fault of each field of each message, see `FAULTS`.
"""

from __future__ import annotations

import copy
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bilateral.core.contracts import Deployment
from bilateral.core.payments.contracts import AUTHORIZATION_USED, EXACT_PROXY, PERMIT2, TRANSFER, UPTO_PROXY
from bilateral.x402 import Ed25519Key, PaidRequest, Secp256k1Key, Verification, Verifier
from bilateral.x402.proof.profiles import draft_data_hash, draft_interaction_hash, interaction_hash

NETWORK = "eip155:8453"
IDENTITY = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"
REPUTATION = "0x8004BAa17C55a88189AE136b182e5fdA19dE9b63"
DEPLOYMENT = Deployment(8453, IDENTITY, REPUTATION)
TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"  # noqa: S105  # of money
PAYER, PAYEE, OTHER = "0x" + "11" * 20, "0x" + "22" * 20, "0x" + "33" * 20
FACILITATOR = "0x" + "44" * 20
TRANSACTION, EARLIER = "0x" + "ab" * 32, "0x" + "cd" * 32
NONCE = "0x" + "5e" * 32
AGENT, PRICE, CEILING, TIME = 247, 1000, 5000, 1_900_000_000
KEY, OTHER_KEY = Secp256k1Key(bytes(range(1, 33))), Secp256k1Key(bytes(range(2, 34)))
EDWARDS_KEY = Ed25519Key(bytes(range(1, 33)))
REQUEST, RESPONSE = b'{"city":"Oslo"}', '{"weather":"snø"}'.encode()
TARGET = "POST https://agent.example/weather?units=metric"
INFO = {
    "version": "1.0.0",
    "registrations": [
        {
            "agentRegistry": f"{NETWORK}:{IDENTITY}",
            "agentId": str(AGENT),
            "reputationRegistry": f"{NETWORK}:{REPUTATION}",
        }
    ],
    "endpoint": "https://agent.example",
    "feedbackAggregator": "https://aggregator.example",
}


class RecordedNode:
    """A node that answers from a record: the providers of both languages do the same.

    The record has `latest`, the number of the latest block, `times`, the times of blocks by number, `wallet` and `uri`
    of the agent, the `identity` that the reputation registry names, `receipts`, `transactions` and `traces` by hash,
    `used`, true if the payment's nonce is used, and `logs`. A URI that is an object is a `data:` URI of it. What the
    record lacks is refused, and so is a call of another contract.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    def make_request(self, method: str, params: Any) -> dict[str, Any]:
        """Answer one question."""
        try:
            return {"result": self._answer(str(method), list(params))}
        except (KeyError, TypeError):
            return {"error": {"code": -32000, "message": "not recorded"}}

    def _answer(self, method: str, params: list[Any]) -> Any:  # noqa: PLR0911  # one a question
        record = self.record
        match method:
            case "eth_chainId":
                return "0x2105"
            case "eth_blockNumber":
                return hex(record["latest"])
            case "eth_getBlockByNumber":
                block = record["latest"] if params[0] == "latest" else int(params[0], 16)
                return {"number": hex(block), "timestamp": hex(record["times"][str(block)])}
            case "eth_getTransactionReceipt":
                return record["receipts"].get(params[0])
            case "eth_getTransactionByHash":
                return record["transactions"][params[0]]
            case "debug_traceTransaction":
                return record["traces"][params[0]]
            case "eth_getLogs":
                return record["logs"]
            case "eth_call":
                return self._call(params[0]["to"].lower(), params[0].get("data") or params[0]["input"])
        raise KeyError(method)

    def _call(self, to: str, data: str) -> str:
        record, views = (
            self.record,
            {(IDENTITY.lower(), "0x00339509"): "wallet", (IDENTITY.lower(), "0xc87b56dd"): "uri"},
        )
        views |= {(REPUTATION.lower(), "0xbc4d861b"): "identity", (PERMIT2.lower(), "0x4fe02b44"): "used"}
        views[TOKEN.lower(), "0xe94a0102"] = "used"
        name = views[to, data[:10]]
        if name in {"wallet", "uri"} and int(data[10:], 16) != AGENT:
            raise KeyError(data)
        if name == "used":
            return "0x" + ("f" if record["used"] else "0") * 64
        if name == "uri":
            return "0x" + encode(("string",), (uri_of(record["uri"]),)).hex()
        return "0x" + record[name][2:].lower().rjust(64, "0")


def uri_of(uri: Any) -> str:
    """Return a URI as the chain has it."""
    if isinstance(uri, str):
        return uri
    return "data:application/json;base64," + b64encode(json.dumps(uri).encode()).decode()


def word(value: int | str | bytes) -> str:
    """Return a word of the contract ABI in hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return (value.removeprefix("0x").lower() if isinstance(value, str) else f"{value:x}").rjust(64, "0")


def log(index: int, address: str, *topics: Any, data: str = "") -> dict[str, Any]:
    """Return a log of a receipt."""
    return {
        "address": address,
        "topics": ["0x" + word(topic) for topic in topics],
        "data": "0x" + data,
        "logIndex": hex(index),
    }


def transfer(
    index: int, payer: str = PAYER, payee: str = PAYEE, amount: int = PRICE, token: str = TOKEN
) -> dict[str, Any]:
    """Return the log of a transfer."""
    return log(index, token, TRANSFER, payer, payee, data=word(amount))


def authorized(index: int, nonce: str = NONCE, payer: str = PAYER, token: str = TOKEN) -> dict[str, Any]:
    """Return the log of a used authorization."""
    return log(index, token, AUTHORIZATION_USED, payer, nonce)


def settled(index: int, proxy: str = EXACT_PROXY) -> dict[str, Any]:
    """Return the event of a proxy."""
    return log(index, proxy, keccak(text="Settled()"))


def receipt(*logs: dict[str, Any], status: str = "0x1") -> dict[str, Any]:
    """Return the receipt of the payment's transaction."""
    return {"status": status, "blockNumber": "0x64", "logs": list(logs)}


def settle_call(kind: str, amount: int = CEILING, **changes: Any) -> dict[str, str]:
    """Return the call by which a proxy settles the payment of a kind."""
    is_upto = kind == "permit2-upto"
    values = {"token": TOKEN, "ceiling": CEILING if is_upto else PRICE, "nonce": NONCE, "deadline": 2**40}
    values |= {"amount": amount} if is_upto else {}
    values |= {"owner": PAYER, "payee": PAYEE} | ({"facilitator": FACILITATOR} if is_upto else {}) | {"after": 0}
    words = "".join(word(value) for value in (values | changes).values())
    to, selector = (UPTO_PROXY, "ff11e7b4") if is_upto else (EXACT_PROXY, "13cd3b53")
    return {"to": to, "input": "0x" + selector + words + word(1)}


def signer_entry(key: Any) -> dict[str, Any]:
    """Return a key as a registration file lists it."""
    entry = {"publicKey": key.public_key, "algorithm": key.algorithm, "role": "delegate"}
    return entry | {"validFrom": 0, "validUntil": 2**40, "comment": "hot"}


def registration_file(*keys: Any) -> dict[str, Any]:
    """Return the agent's registration file."""
    return {
        "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
        "name": "Weather",
        "description": "It forecasts",
        "image": "https://agent.example/i.png",
        "services": [{"name": "web", "endpoint": "https://agent.example/"}],
        "registrations": [{"agentId": AGENT, "agentRegistry": f"{NETWORK}:{IDENTITY}"}],
        "signers": [signer_entry(key) for key in keys],
    }


def statement(key: Any = KEY, transaction: str = TRANSACTION) -> dict[str, Any]:
    """Return the signed statement."""
    task_ref = f"{NETWORK}:{transaction}"
    digest = interaction_hash(task_ref, REQUEST, RESPONSE)
    return {
        "networkId": NETWORK,
        "agentId": str(AGENT),
        "agentRegistry": f"{NETWORK}:{IDENTITY}",
        "taskRef": task_ref,
        "interactionHash": "0x" + digest.hex(),
        "agentSignature": key.sign(digest).hex(),
        "timestamp": TIME,
    }


def draft_statement(key: Any = KEY) -> dict[str, Any]:
    """Return the signed statement in the form of the draft."""
    task_ref = f"{NETWORK}:{TRANSACTION}"
    data = draft_data_hash(REQUEST, RESPONSE)
    digest = draft_interaction_hash(task_ref, data)
    return {
        "agentRegistry": f"{NETWORK}:{IDENTITY}",
        "agentId": str(AGENT),
        "taskRef": task_ref,
        "dataHash": "0x" + data.hex(),
        "interactionHash": "0x" + digest.hex(),
        "agentSignerPublicKey": "0x" + key.public_key,
        "agentSignature": "0x" + key.sign(digest).hex(),
        "agentSignatureAlgorithm": key.algorithm,
        "feedbackEndpoint": "https://agent.example/feedback",
    }


def exchange(kind: str) -> dict[str, Any]:
    """Return an exchange whose proof passes every check."""
    is_upto, part = kind == "permit2-upto", "authorization" if kind == "eip3009" else "permit2Authorization"
    extra: dict[str, Any] = (
        {"name": "USD Coin", "version": "2"} if kind == "eip3009" else {"assetTransferMethod": "permit2"}
    )
    extra |= {"facilitatorAddress": FACILITATOR} if is_upto else {}
    amount = str(CEILING if is_upto else PRICE)
    signed: dict[str, Any] = {
        "from": PAYER,
        "to": PAYEE,
        "value": amount,
        "validAfter": "0",
        "validBefore": str(2**40),
        "nonce": NONCE,
    }
    logs = [authorized(1), transfer(2)]
    if kind != "eip3009":
        witness = {"to": PAYEE, "validAfter": "0"} | ({"facilitator": FACILITATOR} if is_upto else {})
        proxy = UPTO_PROXY if is_upto else EXACT_PROXY
        permitted = {"token": TOKEN, "amount": amount}
        signed = {"from": PAYER, "permitted": permitted, "spender": proxy, "nonce": str(int(NONCE, 16))}
        signed |= {"deadline": str(2**40), "witness": witness}
        logs = [transfer(1, amount=int(amount)), settled(2, proxy)]
    terms = {
        "scheme": "upto" if is_upto else "exact",
        "network": NETWORK,
        "asset": TOKEN,
        "amount": amount,
        "payTo": PAYEE,
    }
    return {
        "payment": {
            "x402Version": 2,
            "accepted": terms | {"maxTimeoutSeconds": 600, "extra": extra},
            "payload": {"signature": "0x" + "5a" * 65, part: signed},
            "extensions": {"8004-reputation": {"info": INFO}},
        },
        "settlement": {
            "success": True,
            "network": NETWORK,
            "transaction": TRANSACTION,
            "payer": PAYER,
            "amount": amount,
            "extensions": {"8004-reputation": statement()},
        },
        "request": b64encode(REQUEST).decode(),
        "response": b64encode(RESPONSE).decode(),
        "target": TARGET,
        "terms": {},
        "node": {
            "latest": 100,
            "times": {"99": TIME - 2, "100": TIME},
            "wallet": PAYEE,
            "uri": registration_file(OTHER_KEY, KEY, EDWARDS_KEY),
            "identity": IDENTITY,
            "receipts": {TRANSACTION: receipt(*logs)},
            "transactions": {TRANSACTION: settle_call(kind)} if kind != "eip3009" else {},
            "traces": {},
            "used": True,
            "logs": [],
        },
    }


def bases() -> dict[str, dict[str, Any]]:
    """Return the exchanges whose proofs pass every check."""
    made = {kind: exchange(kind) for kind in ("eip3009", "permit2-exact", "permit2-upto")}
    draft = exchange("eip3009")
    registrations = [{name: INFO["registrations"][0][name] for name in ("agentRegistry", "agentId")}]  # type: ignore[index]
    draft["payment"]["extensions"] = {"reputation": {"info": {"version": "1.0.0", "registrations": registrations}}}
    draft["settlement"]["extensions"] = {"reputation": draft_statement()}
    return made | {"draft": draft}


Changes = list[list[Any]]
STATEMENT = ["settlement", "extensions", "8004-reputation"]
DECLARED = ["payment", "extensions", "8004-reputation", "info"]
SIGNED, PERMIT = ["payment", "payload", "authorization"], ["payment", "payload", "permit2Authorization"]
RECEIPT, FILE = ["node", "receipts", TRANSACTION], ["node", "uri"]
LONG = {"$repeat": ["A", 3000]}

FAULTS: dict[type, list[Any]] = {
    bool: [None, "yes", 1],
    str: [None, 7, ["x"], "", "?", LONG],
    int: [None, "7", 1.5, -1, True],
    list: [None, {}, [], "x"],
    dict: [None, [], {}, "x"],
}
"""The values that stand in place of a field of each type."""


def faults_of(base: str, path: list[Any], value: Any) -> Iterator[tuple[str, str, Changes]]:
    """Yield each fault of each field of a message."""
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        here = [*path, name]
        for number, fault in enumerate(FAULTS[type(inner)]):
            yield base, f"{'.'.join(map(str, here))}: fault {number}", [[here, fault]]
        if isinstance(inner, (dict, list)):
            yield from faults_of(base, here, inner)


def anew(key: Any = KEY, **changes: Any) -> dict[str, Any]:
    """Return a statement by another key, or with other fields and a signature that fits them."""
    made = statement(key) | changes
    digest = interaction_hash(made["taskRef"], REQUEST, RESPONSE)
    return made | {"interactionHash": digest.hex(), "agentSignature": key.sign(digest).hex()} | changes


def case_of(address: str) -> str:
    """Return an address in mixed case with a wrong checksum."""
    return "0x" + "".join(digit.upper() if at % 2 else digit for at, digit in enumerate(address[2:].lower()))


def forms() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases whose forms are read all the same."""
    one = "eip3009"
    yield one, "signature of ed25519", [[STATEMENT, statement(EDWARDS_KEY)]]
    yield (
        one,
        "signature with v of 27",
        [
            [
                [*STATEMENT, "agentSignature"],
                statement()["agentSignature"][:128] + f"{27 + int(statement()['agentSignature'][128:], 16):x}",
            ]
        ],
    )
    yield one, "signature without v", [[[*STATEMENT, "agentSignature"], "0x" + statement()["agentSignature"][:128]]]
    yield (
        one,
        "settlement of the specification",
        [
            [
                ["settlement"],
                {
                    "settlementResponse": {
                        "success": True,
                        "txHash": TRANSACTION,
                        "networkId": NETWORK,
                        "payer": PAYER,
                    },
                    "extensions": {"8004-reputation": statement()},
                },
            ]
        ],
    )
    yield one, "statement inside info", [[STATEMENT, {"info": statement()}]]
    yield one, "statement inside info.interaction", [[STATEMENT, {"info": {"interaction": statement()}}]]
    yield one, "statement without a registry", [[[*STATEMENT, "agentRegistry"], None]]
    yield one, "timestamp with a point", [[[*STATEMENT, "timestamp"], 1.0]]
    yield one, "sealed rating that is passed through", [[[*STATEMENT, "sealedRating"], {"any": 1}]]
    yield (
        one,
        "addresses in small letters",
        [
            [[*DECLARED, "registrations", 0, "agentRegistry"], f"{NETWORK}:{IDENTITY.lower()}"],
            [[*SIGNED, "to"], PAYEE.lower()],
        ],
    )
    yield one, "addresses in capitals", [[["payment", "accepted", "asset"], "0x" + TOKEN[2:].upper()]]
    yield (
        one,
        "registry with a wrong checksum in the file",
        [[[*FILE, "registrations", 0, "agentRegistry"], f"{NETWORK}:{case_of(IDENTITY)}"]],
    )
    yield one, "agent id as text in the file", [[[*FILE, "registrations", 0, "agentId"], str(AGENT)]]
    yield one, "agent id with zeros in the file", [[[*FILE, "registrations", 0, "agentId"], f"00{AGENT}"]]
    yield (
        one,
        "agent without an id beside the agent",
        [[[*FILE, "registrations"], [{"agentRegistry": "x"}, *registration_file()["registrations"]]]],
    )
    yield (
        one,
        "several registrations, the second trusted",
        [
            [
                [*DECLARED, "registrations"],
                [{**INFO["registrations"][0], "agentRegistry": f"{NETWORK}:{OTHER}"}, *INFO["registrations"]],
            ]
        ],
    )  # type: ignore[dict-item, misc, index]
    yield one, "compressed key", [[[*FILE, "signers"], [signer_entry(KEY) | {"publicKey": compressed(KEY)}]]]
    yield one, "signer without a role", [[[*FILE, "signers", 1, "role"], None]]
    yield one, "key that never ends", [[[*FILE, "signers", 1, "validUntil"], {"$null": True}]]
    yield one, "64 signers", [[[*FILE, "signers"], [*[signer_entry(OTHER_KEY)] * 63, signer_entry(KEY)]]]
    yield one, "65 signers", [[[*FILE, "signers"], [*[signer_entry(OTHER_KEY)] * 64, signer_entry(KEY)]]]


def keys() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about keys and signatures."""
    one = "eip3009"
    yield one, "key that is not valid yet", [[[*FILE, "signers"], [signer_entry(KEY) | {"validFrom": 2**39}]]]
    yield one, "key that is no longer valid", [[[*FILE, "signers"], [signer_entry(KEY) | {"validUntil": 1}]]]
    yield one, "file without signers", [[[*FILE, "signers"], None]]
    yield one, "file with an empty list of signers", [[[*FILE, "signers"], []]]
    yield one, "signature of an unlisted key", [[STATEMENT, statement(Secp256k1Key(bytes(range(3, 35))))]]
    yield (
        one,
        "signature of another statement",
        [[[*STATEMENT, "agentSignature"], statement(transaction=EARLIER)["agentSignature"]]],
    )
    yield (
        one,
        "wallet's signature, not allowed",
        [[[*FILE, "signers"], None], [["terms"], {"allowWalletSigner": False}]],
    )
    wallet = [
        [["node", "wallet"], address_of(KEY)],
        [["payment", "accepted", "payTo"], address_of(KEY)],
        [[*SIGNED, "to"], address_of(KEY)],
    ]
    wallet += [
        [[*RECEIPT, "logs"], [authorized(1), transfer(2, payee=address_of(KEY))]],
        [["terms"], {"allowWalletSigner": True}],
    ]
    yield one, "wallet's signature, allowed", [*wallet, [[*FILE, "signers"], None]]
    yield one, "wallet's signature, allowed, an empty list", [*wallet, [[*FILE, "signers"], []]]
    yield (
        one,
        "wallet's signature, allowed, another listed key",
        [*wallet, [[*FILE, "signers"], [signer_entry(OTHER_KEY)]]],
    )
    yield (
        one,
        "wallet's signature, allowed, by another key",
        [*wallet, [[*FILE, "signers"], None], [STATEMENT, statement(OTHER_KEY)]],
    )
    yield (
        "draft",
        "another key named",
        [[["settlement", "extensions", "reputation", "agentSignerPublicKey"], OTHER_KEY.public_key]],
    )
    yield (
        "draft",
        "compressed key named",
        [[["settlement", "extensions", "reputation", "agentSignerPublicKey"], compressed(KEY)]],
    )
    yield "draft", "statement of ed25519", [[["settlement", "extensions", "reputation"], draft_statement(EDWARDS_KEY)]]
    yield "draft", "another data hash", [[["settlement", "extensions", "reputation", "dataHash"], "0x" + "00" * 32]]
    yield "draft", "another target with a body", [[["target"], "POST https://agent.example/other"]]
    yield "draft", "no body, so the target is hashed", [[["request"], ""]]


def agents() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about the agent, its declaration and its file."""
    one = "eip3009"
    yield one, "statement of another agent", [[STATEMENT, anew(agentId="248")]]
    yield one, "statement of another registry", [[STATEMENT, anew(agentRegistry=f"{NETWORK}:{OTHER}")]]
    yield (
        one,
        "declaration of another registry",
        [[[*DECLARED, "registrations", 0, "agentRegistry"], f"{NETWORK}:{OTHER}"]],
    )
    yield (
        one,
        "declaration of another reputation registry",
        [[[*DECLARED, "registrations", 0, "reputationRegistry"], f"{NETWORK}:{OTHER}"]],
    )
    yield (
        one,
        "declaration of another chain",
        [
            [
                [*DECLARED, "registrations", 0],
                {
                    "agentRegistry": f"eip155:1:{IDENTITY}",
                    "agentId": "247",
                    "reputationRegistry": f"eip155:1:{REPUTATION}",
                },
            ]
        ],
    )
    yield (
        one,
        "declaration of two chains",
        [[[*DECLARED, "registrations", 0, "reputationRegistry"], f"eip155:1:{REPUTATION}"]],
    )
    yield (
        one,
        "declaration with a wrong checksum",
        [[[*DECLARED, "registrations", 0, "agentRegistry"], f"{NETWORK}:{case_of(IDENTITY)}"]],
    )
    yield one, "declaration of version 2", [[[*DECLARED, "version"], "2.0.0"]]
    yield one, "declaration of version 1.9", [[[*DECLARED, "version"], "1.9.9"]]
    yield one, "declaration of 33 agents", [[[*DECLARED, "registrations"], INFO["registrations"] * 33]]  # type: ignore[operator]
    yield one, "declaration with an id too large", [[[*DECLARED, "registrations", 0, "agentId"], str(2**256)]]
    yield one, "declaration with an id with zeros", [[[*DECLARED, "registrations", 0, "agentId"], "0247"]]
    yield one, "endpoint without a host", [[[*DECLARED, "endpoint"], "https:agent"]]
    yield one, "endpoint with a space", [[[*DECLARED, "endpoint"], "https://agent.example/a b"]]
    yield one, "endpoint that is not ASCII", [[[*DECLARED, "endpoint"], "https://snø.example"]]
    yield one, "terms of blind ratings", [[[*DECLARED, "blind"], {"after": 1, "lifetime": 60}]]
    yield one, "terms of blind ratings out of range", [[[*DECLARED, "blind"], {"after": 0, "lifetime": 60}]]
    yield one, "no declaration", [[["payment", "extensions"], None]]
    yield one, "file of another agent", [[[*FILE, "registrations", 0, "agentId"], 248]]
    yield one, "file of another registry", [[[*FILE, "registrations", 0, "agentRegistry"], f"{NETWORK}:{OTHER}"]]
    yield one, "file of another chain", [[[*FILE, "registrations", 0, "agentRegistry"], f"eip155:1:{IDENTITY}"]]
    for name, uri in {
        "no URI": "",
        "URI of ftp": "ftp://agent.example",
        "URI of nothing": "agent",
        "URI of no JSON": "data:application/json,snow",
        "URI of a list": "data:application/json,[]",
        "URI with a name twice": 'data:application/json,{"name":1,"name":2}',
        "URI of no base 64": "data:application/json;base64,?",
        "URI without a comma": "data:application/json",
        "bare JSON": json.dumps(registration_file(KEY)),
        "bare base 64": b64encode(json.dumps(registration_file(KEY)).encode()).decode(),
        "URI of bare text": "data:," + json.dumps(registration_file(KEY)),
        "URI with the wrong label": "data:application/json;base64," + json.dumps(registration_file(KEY)),
        "URI of web base 64": "data:application/json;base64,"
        + b64encode(json.dumps(registration_file(KEY)).encode())
        .decode()
        .rstrip("=")
        .replace("+", "-")
        .replace("/", "_"),
        "URI with white space around": "  " + uri_of(registration_file(KEY)) + "\n",
        "URI of 65 levels": "data:application/json," + '{"a":' + "[" * 64 + "]" * 64 + "}",
    }.items():
        yield one, name, [[["node", "uri"], uri]]


def messages() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about networks, transactions, hashes and settlements."""
    one = "eip3009"
    for name, network in {
        "another chain": "eip155:1",
        "no EVM chain": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        "no chain": "base",
    }.items():
        yield one, f"payment on {name}", [[["payment", "accepted", "network"], network]]
        yield one, f"settlement on {name}", [[["settlement", "network"], network]]
        yield one, f"statement on {name}", [[[*STATEMENT, "networkId"], network]]
    yield (
        one,
        "statement on another chain all over",
        [
            [
                STATEMENT,
                anew(networkId="eip155:1", taskRef=f"eip155:1:{TRANSACTION}", agentRegistry=f"eip155:1:{IDENTITY}"),
            ]
        ],
    )
    yield one, "statement of another transaction", [[STATEMENT, statement(transaction=EARLIER)]]
    yield (
        one,
        "transaction in capitals in the statement",
        [[STATEMENT, statement(transaction=TRANSACTION.upper().replace("X", "x"))]],
    )
    yield (
        one,
        "transaction in capitals everywhere",
        [
            [STATEMENT, statement(transaction=TRANSACTION.upper().replace("X", "x"))],
            [["settlement", "transaction"], TRANSACTION.upper().replace("X", "x")],
        ],
    )
    yield one, "another request", [[["request"], b64encode(b"{}").decode()]]
    yield one, "another response", [[["response"], b64encode(RESPONSE + b" ").decode()]]
    yield (
        one,
        "boundary moved",
        [[["request"], b64encode(REQUEST + RESPONSE[:3]).decode()], [["response"], b64encode(RESPONSE[3:]).decode()]],
    )
    yield one, "response that cannot be decoded", [[["response"], None]]
    yield one, "body not kept", [[["response"], None], [["isBodyLost"], True]]
    yield one, "no settlement", [[["settlement"], None]]
    yield one, "settlement that failed", [[["settlement", "success"], False]]
    yield one, "error without a settlement", [[["settlement"], None], [["unpaidStatus"], 404]]
    yield one, "amount as the payment", [[["settlement", "amount"], str(PRICE)]]
    yield one, "another amount", [[["settlement", "amount"], "1"]]
    yield one, "empty amount", [[["settlement", "amount"], ""]]
    yield (
        one,
        "nothing taken",
        [[["settlement"], {"success": True, "network": NETWORK, "transaction": "", "amount": "0"}]],
    )


def receipts() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about the payment on chain."""
    one = "eip3009"
    yield one, "no receipt", [[["node", "receipts"], {}], [["terms"], {"receiptSeconds": 0}]]
    yield one, "transaction that failed", [[[*RECEIPT, "status"], "0x0"]]
    yield one, "malformed status", [[[*RECEIPT, "status"], "yes"]]
    yield one, "malformed logs", [[[*RECEIPT, "logs"], {}]]
    yield one, "no logs", [[[*RECEIPT, "logs"], []]]
    yield one, "confirmations missing", [[["terms"], {"confirmations": 2, "receiptSeconds": 0}]]
    yield (
        one,
        "confirmations enough",
        [[["terms"], {"confirmations": 2}], [["node", "latest"], 101], [["node", "times", "101"], TIME + 2]],
    )
    for name, logs in {
        "transfer first": [transfer(1), authorized(2)],
        "transfer alone": [transfer(1)],
        "authorization alone": [authorized(1)],
        "another nonce": [authorized(1, "0x" + "6f" * 32), transfer(2)],
        "authorization of another token": [authorized(1, token=OTHER), transfer(2)],
        "authorization of another payer": [authorized(1, payer=OTHER), transfer(2)],
        "transfer from another": [authorized(1), transfer(2, payer=OTHER)],
        "transfer to another": [authorized(1), transfer(2, payee=OTHER)],
        "transfer of another token": [authorized(1), transfer(2, token=OTHER)],
        "transfer of less": [authorized(1), transfer(2, amount=PRICE - 1)],
        "transfer of more": [authorized(1), transfer(2, amount=PRICE + 1)],
        "transfer of nothing": [authorized(1), transfer(2, amount=0)],
        "a log between": [authorized(1), log(2, TOKEN, keccak(text="Other()")), transfer(3)],
        "two payments, ours first": [authorized(1), transfer(2), authorized(3, "0x" + "6f" * 32), transfer(4)],
        "two payments, ours last": [authorized(1, "0x" + "6f" * 32), transfer(2, amount=7), authorized(3), transfer(4)],
        "two payments, transfers first": [
            transfer(1),
            authorized(2),
            transfer(3, amount=7),
            authorized(4, "0x" + "6f" * 32),
        ],
        "a plain transfer before": [transfer(1, amount=7), authorized(2), transfer(3)],
        "a plain transfer after": [authorized(1), transfer(2), transfer(3, amount=7)],
        "a transfer to another beside": [transfer(0, payee=OTHER), authorized(1), transfer(2)],
        "a transfer to another takes the authorization": [transfer(1), authorized(2), transfer(3, payee=OTHER)],
        "an authorization after both": [authorized(1, "0x" + "6f" * 32), transfer(2), authorized(3)],
        "a short transfer": [authorized(1), log(2, TOKEN, TRANSFER, PAYER, PAYEE, data="01")],
        "a transfer with a topic more": [authorized(1), log(2, TOKEN, TRANSFER, PAYER, PAYEE, 1, data=word(PRICE))],
        "an address that is none": [{**authorized(1), "address": "?"}, transfer(2)],
    }.items():
        yield one, f"logs: {name}", [[[*RECEIPT, "logs"], logs]]
    yield one, "settled through a contract", [[["node", "transactions"], {TRANSACTION: {"to": OTHER, "input": "0x"}}]]
    for name, change in {
        "another amount": ["value", "999"],
        "another payee": ["to", OTHER],
        "another payer": ["from", OTHER],
        "a payee with a wrong checksum": ["to", case_of("0x" + "ab" * 20)],
        "a value in hexadecimal digits": ["value", "0x3e8"],
        "a value with a zero": ["value", "01000"],
        "a value too large": ["value", str(2**256)],
        "a value as a number": ["value", PRICE],
        "a nonce without 0x": ["nonce", NONCE[2:]],
        "a nonce with spaces": ["nonce", "0x" + " ".join([NONCE[2:34], NONCE[34:]])],
        "a short nonce": ["nonce", "0x5e"],
        "a long nonce": ["nonce", NONCE + "00"],
        "an odd nonce": ["nonce", NONCE[:-1]],
        "a nonce as a number": ["nonce", 1000],
        "an expired deadline": ["validBefore", "1"],
        "a deadline as a number": ["validBefore", 1],
    }.items():
        yield one, f"payment with {name}", [[[*SIGNED, change[0]], change[1]]]
    yield one, "price of zero", [[["payment", "accepted", "amount"], "0"], [[*SIGNED, "value"], "0"]]
    yield one, "price as a number", [[["payment", "accepted", "amount"], PRICE]]
    yield one, "two signed parts", [[PERMIT, exchange("permit2-exact")["payment"]["payload"]["permit2Authorization"]]]
    yield one, "no signed part", [[SIGNED, None]]
    yield one, "a salt", [[["payment", "payload", "salt"], "0x1"]]
    yield one, "payee that is a collector of escrows", [[[*SIGNED, "to"], "0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88"]]
    for scheme in ("upto", "batch-settlement", "auth-capture", "other"):
        yield one, f"scheme {scheme}", [[["payment", "accepted", "scheme"], scheme]]
    for method in ("eip3009", "default", "permit2", "erc7710", "", 7):
        yield one, f"method {method!r}", [[["payment", "accepted", "extra", "assetTransferMethod"], method]]


def permits() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about payments by Permit2."""
    for kind in ("permit2-exact", "permit2-upto"):
        is_upto = kind == "permit2-upto"
        whole, proxy = CEILING if is_upto else PRICE, UPTO_PROXY if is_upto else EXACT_PROXY
        call = settle_call(kind)
        yield (
            kind,
            "scheme exact without a method",
            [[["payment", "accepted", "scheme"], "exact"], [["payment", "accepted", "extra"], {}]],
        )
        yield kind, "another spender", [[[*PERMIT, "spender"], OTHER]]
        yield kind, "spender in small letters", [[[*PERMIT, "spender"], proxy.lower()]]
        yield kind, "facilitator of nobody", [[[*PERMIT, "witness", "facilitator"], "0x" + "00" * 20]]
        yield kind, "another facilitator", [[[*PERMIT, "witness", "facilitator"], OTHER]]
        yield kind, "another token permitted", [[[*PERMIT, "permitted", "token"], OTHER]]
        yield kind, "another amount permitted", [[[*PERMIT, "permitted", "amount"], "7"]]
        yield kind, "another payee", [[[*PERMIT, "witness", "to"], OTHER]]
        yield kind, "nonce in hexadecimal digits", [[[*PERMIT, "nonce"], NONCE]]
        yield kind, "transaction unknown to the node", [[["node", "transactions"], {}]]
        yield kind, "malformed transaction", [[["node", "transactions", TRANSACTION], []]]
        through = [[["node", "transactions", TRANSACTION], {"to": OTHER, "input": "0x01"}]]
        trace = {"type": "CALL", "to": OTHER, "input": "0x01", "calls": [{"type": "CALL", **call, "calls": []}]}
        yield kind, "through a contract, without a trace", through
        yield kind, "through a contract, with a trace", [*through, [["node", "traces", TRANSACTION], trace]]
        yield (
            kind,
            "through a contract, by a delegated call",
            [*through, [["node", "traces", TRANSACTION], {**trace, "calls": [{**call, "type": "DELEGATECALL"}]}]],
        )
        yield (
            kind,
            "through a contract, a call that failed",
            [
                *through,
                [["node", "traces", TRANSACTION], {**trace, "calls": [{**call, "type": "CALL", "error": "reverted"}]}],
            ],
        )
        yield (
            kind,
            "through a contract, a malformed trace",
            [*through, [["node", "traces", TRANSACTION], {**trace, "calls": [7]}]],
        )
        yield (
            kind,
            "through a contract, two calls and one event",
            [*through, [["node", "traces", TRANSACTION], {**trace, "calls": [{**call, "type": "CALL"}] * 2}]],
        )
        for name, made in {
            "another nonce": settle_call(kind, nonce=1),
            "another payee": settle_call(kind, payee=OTHER),
            "another owner": settle_call(kind, owner=OTHER),
            "another token": settle_call(kind, token=OTHER),
            "another ceiling": settle_call(kind, ceiling=whole + 1),
            "another deadline": settle_call(kind, deadline=7),
            "another time": settle_call(kind, after=1),
            "an address that is too long": settle_call(kind, owner="01" + "00" * 11 + "11" * 20),
            "words missing": {**call, "input": call["input"][: 10 + 64 * 5]},
            "more words": {**call, "input": call["input"] + "00" * 32},
            "another selector": {**call, "input": "0x12345678" + call["input"][10:]},
            "another contract": {**call, "to": OTHER},
            "the other proxy": {**call, "to": EXACT_PROXY if is_upto else UPTO_PROXY},
            "no contract": {**call, "to": {"$null": True}},
        }.items():
            yield kind, f"calldata with {name}", [[["node", "transactions", TRANSACTION], made]]
        for name, logs in {
            "event first": [settled(1, proxy), transfer(2, amount=whole)],
            "no event": [transfer(1, amount=whole)],
            "event of another": [transfer(1, amount=whole), settled(2, OTHER)],
            "two events": [transfer(1, amount=whole), settled(2, proxy), settled(3, proxy)],
            "less": [transfer(1, amount=whole - 1), settled(2, proxy)],
            "more": [transfer(1, amount=whole + 1), settled(2, proxy)],
            "nothing": [transfer(1, amount=0), settled(2, proxy)],
            "an authorization beside": [authorized(0), transfer(1, amount=whole), settled(2, proxy)],
            "two transfers": [transfer(0, amount=whole), transfer(1, amount=whole), settled(2, proxy)],
            "event with data": [transfer(1, amount=whole), {**settled(2, proxy), "data": "0x00"}],
        }.items():
            yield kind, f"logs: {name}", [[[*RECEIPT, "logs"], logs]]


def metered() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about payments of the scheme `upto`, of which a seller may take a part."""
    upto = "permit2-upto"
    part = [
        [["node", "transactions", TRANSACTION], settle_call(upto, 1234)],
        [[*RECEIPT, "logs"], [transfer(1, amount=1234), settled(2, UPTO_PROXY)]],
    ]
    yield upto, "a part", [*part, [["settlement", "amount"], "1234"]]
    yield upto, "a part, and no amount named", [*part, [["settlement", "amount"], None]]
    yield upto, "a part, and the ceiling named", part
    nothing = [
        [["settlement"], {"success": True, "network": NETWORK, "transaction": "", "amount": "0"}],
        [["node", "used"], False],
    ]
    yield upto, "nothing taken so far", nothing
    yield upto, "nothing taken, and never any more", [*nothing, [[*PERMIT, "deadline"], str(TIME - 1)]]
    yield upto, "nothing reported, and used", [*nothing, [["node", "used"], True]]
    yield (
        upto,
        "nothing reported, and the ceiling taken",
        [
            *nothing,
            [["node", "used"], True],
            [["node", "logs"], [{**transfer(1, amount=CEILING), "transactionHash": TRANSACTION}]],
        ],
    )
    yield upto, "nothing reported, and the node does not say", [*nothing, [["node", "used"], None]]


def nodes() -> Iterator[tuple[str, str, Changes]]:
    """Yield cases about the wallet, about nodes that fail, and about the past."""
    one = "eip3009"
    yield one, "another wallet", [[["node", "wallet"], OTHER]]
    yield one, "no wallet", [[["node", "wallet"], "0x" + "00" * 20]]
    yield one, "malformed wallet", [[["node", "wallet"], "0x" + "ff" * 32]]
    for name in ("latest", "times", "wallet", "uri", "receipts"):
        yield one, f"node without {name}", [[["node", name], None]]
    yield one, "node without the payment's block", [[["node", "times"], {}]]
    # Wallets that the file names for a chain, if the terms accept them.
    services = [["terms"], {"walletServices": True}]
    other = [["node", "wallet"], OTHER]
    for name, entry in {
        "the payee": {"name": "agentWallet", "endpoint": f"{NETWORK}:{PAYEE}"},
        "another account": {"name": "agentWallet", "endpoint": f"{NETWORK}:{OTHER}"},
        "the payee on another chain": {"name": "agentWallet", "endpoint": f"eip155:1:{PAYEE}"},
        "no account": {"name": "agentWallet", "endpoint": f"{NETWORK}:wallet"},
        "the payee, as another service": {"name": "web", "endpoint": f"{NETWORK}:{PAYEE}"},
        "the payee, by other names of the fields": {"type": "agentWallet", "url": f"{NETWORK}:{PAYEE}"},
    }.items():
        for wallet, changed_wallet in (("its own wallet", []), ("another wallet", [other])):
            yield (
                one,
                f"a service that is {name}, and {wallet}",
                [services, *changed_wallet, [[*FILE, "services"], [entry]]],
            )
    yield (
        one,
        "a service that counts for nothing",
        [other, [[*FILE, "services", 0], {"name": "agentWallet", "endpoint": f"{NETWORK}:{PAYEE}"}]],
    )
    yield one, "services without a file", [services, [["node", "uri"], ""]]
    past = [["terms"], {"historical": True}]
    yield one, "historical", [past]
    yield one, "historical, a key that ended since", [past, [[*FILE, "signers", 1, "validUntil"], TIME + 1]]
    yield one, "historical, a key that ended before", [past, [[*FILE, "signers", 1, "validUntil"], TIME]]
    yield one, "historical, no receipt", [past, [["node", "receipts"], {}]]
    yield one, "historical, another chain", [past, [["payment", "accepted", "network"], "eip155:1"]]


def changes() -> Iterator[tuple[str, str, Changes]]:
    """Yield (base, name, changes) of cases that are told by hand."""
    for base in bases():
        yield base, "as it is", []
    for part in (forms, keys, agents, messages, receipts, permits, metered, nodes):
        yield from part()


def compressed(key: Secp256k1Key) -> str:
    """Return a public key in its compressed form."""
    x, y = key.public_key[2:66], key.public_key[66:]
    return f"{2 + int(y, 16) % 2:02x}{x}"


def address_of(key: Secp256k1Key) -> str:
    """Return the address of a key."""
    return "0x" + keccak(bytes.fromhex(key.public_key[2:]))[12:].hex()


def cases() -> Iterator[tuple[str, str, Changes]]:
    """Yield (base, name, changes) of all cases."""
    yield from changes()
    yield from faults_of("eip3009", STATEMENT, statement())
    yield from faults_of("draft", ["settlement", "extensions", "reputation"], draft_statement())
    yield from faults_of("eip3009", DECLARED, INFO)
    yield from faults_of("eip3009", FILE, registration_file(KEY))
    made = exchange("eip3009")
    yield from faults_of("eip3009", ["settlement"], {**made["settlement"], "extensions": {}})
    yield from faults_of("eip3009", SIGNED, made["payment"]["payload"]["authorization"])
    yield from faults_of("eip3009", ["payment", "accepted"], made["payment"]["accepted"])
    made = exchange("permit2-upto")
    yield from faults_of("permit2-upto", PERMIT, made["payment"]["payload"]["permit2Authorization"])


def value_of(value: Any) -> Any:
    """Return a value of a change: a long text or null may be written in short."""
    if isinstance(value, dict) and "$repeat" in value:
        text, count = value["$repeat"]
        return text * count
    if isinstance(value, dict):
        return None if "$null" in value else {name: value_of(part) for name, part in value.items()}
    return [value_of(part) for part in value] if isinstance(value, list) else value


def changed(base: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Return an exchange with changes."""
    made = copy.deepcopy(base)
    for path, value in changes:
        holder: Any = made
        for name in path[:-1]:
            holder = holder[name]
        if value is None:
            del holder[path[-1]]
        elif isinstance(holder, list):
            holder[path[-1]] = value_of(value)
        else:
            holder[path[-1]] = value_of(value)
    return made


def paid_of(made: dict[str, Any]) -> PaidRequest:
    """Return the paid request of an exchange."""
    response = made.get("response")
    return PaidRequest(
        payment=made["payment"],
        settlement=made.get("settlement"),
        request=b64decode(made["request"]),
        response=None if response is None else b64decode(response),
        target=made["target"],
        is_body_lost=made.get("isBodyLost", False),
        unpaid_status=made.get("unpaidStatus"),
    )


def judge(made: dict[str, Any]) -> Verification:
    """Let Python's verifier judge an exchange."""
    terms, options = made["terms"], {}
    if "allowWalletSigner" in terms:
        options["allow_wallet_signer"] = terms["allowWalletSigner"]
    if "walletServices" in terms:
        options["wallet_services"] = terms["walletServices"]
    if "confirmations" in terms:
        options["confirmations"] = terms["confirmations"]
    seconds = terms.get("receiptSeconds", 0)
    with Verifier({RecordedNode(made["node"]): DEPLOYMENT}, receipt_seconds=seconds, **options) as verifier:
        return verifier.verify(paid_of(made), historical=terms.get("historical", False))


def verdict(verification: Verification) -> dict[str, Any]:
    """Return what the tests of all languages compare: each check that did not pass, and the problems' number."""
    judged: dict[str, Any] = {
        "isVerified": verification.is_verified,
        "checks": {
            check.name.value: [check.outcome.value, check.code, check.field]
            for check in verification.checks
            if check.outcome.value != "passed"
        },
        "problems": len(verification.problems),
    }
    if verification.payment is not None:
        judged["amount"] = str(verification.payment.amount)
    if verification.now is not None:
        judged["now"] = verdict(verification.now)
    return judged


def vectors() -> dict[str, Any]:
    """Return the content of the file."""
    made = bases()
    return {
        "registries": {"IdentityRegistry": IDENTITY, "ReputationRegistry": REPUTATION},
        "bases": made,
        "cases": [
            {"base": base, "name": name, "changes": listed, **verdict(judge(changed(made[base], listed)))}
            for base, name, listed in cases()
        ],
    }
