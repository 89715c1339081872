"""How the tests of authorised feedback sign, give and are refused."""

from __future__ import annotations

from dataclasses import dataclass, fields

from eth_abi.abi import decode
from eth_account import Account
from eth_utils import keccak, to_checksum_address

from bilateral.signatures import Domain, FeedbackAuth, sign_feedback_auth

FIELDS_LENGTH = 160
"""Bytes of the five fields that stand before the signature in `feedbackAuth`."""

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1: `s` and `CURVE_ORDER - s` are the two signatures of a pair."""

MAX_UINT64 = 2**64 - 1
MAX_UINT256 = 2**256 - 1


def tag(text):
    """A tag as the registry takes it: UTF-8, padded on the right with zeros."""
    return text.encode().ljust(32, b"\0")


@dataclass(frozen=True)
class Given:
    """Arguments of `giveFeedback`, with values that a test need not care about.

    `list(given)` is what the contract takes.
    """

    agent_id: int
    feedback_auth: bytes
    score: int = 80
    tag1: bytes = tag("quality")
    tag2: bytes = tag("speed")
    fileuri: str = "ipfs://bafkreidwr2bd5pvbvoesdzgpcsjhmcmvtkvm4yxyrr5yl"
    filehash: bytes = bytes(range(32))

    def __iter__(self):
        yield from (self.agent_id, self.score, self.tag1, self.tag2, self.fileuri, self.filehash, self.feedback_auth)

    def event(self, client):
        """The whole event that this feedback must log."""
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        arguments["agentId"] = arguments.pop("agent_id")
        del arguments["feedback_auth"]
        return "NewFeedback", {"clientAddress": client.address, **arguments}

    def record(self, client, position, timestamp):
        """What the registry must remember of this feedback."""
        return {
            "position": position,
            "clientAddress": client.address,
            "score": self.score,
            "tag1": self.tag1,
            "tag2": self.tag2,
            "timestamp": timestamp,
        }


def plain(feedback):
    """A `Feedback` that the registry returned, as a dictionary."""
    return {
        "position": feedback.position,
        "clientAddress": feedback.clientAddress,
        "score": feedback.score,
        "tag1": bytes(feedback.tag1),
        "tag2": bytes(feedback.tag2),
        "timestamp": feedback.timestamp,
    }


def key_of(account):
    """The `eth-account` key of one of Ape's test accounts."""
    return Account.from_key(account.private_key)


def domain_of(registry, chain):
    return Domain(chain.chain_id, registry.address)


def sign(account, message, domain):
    """A 65-byte signature of any message, also of one that `sign_feedback_auth` would refuse to sign."""
    return bytes(key_of(account).sign_message(message.signable(domain)).signature)


def authorization(registry, chain, owner, agent_id, client, limit, expiry=MAX_UINT256):
    """A good `feedbackAuth`."""
    auth = FeedbackAuth(agent_id, client.address, limit, expiry, chain.chain_id)
    return sign_feedback_auth(auth, domain_of(registry, chain), key_of(owner))


def refusal(registry, sender, arguments, gas=None):
    """Simulate `giveFeedback`, quicker than a transaction.

    Returns:
        None if it would succeed, else the name and the arguments of the registry's error. Anything but an error
        of the registry's ABI, such as a panic or a bare revert, is a KeyError.
    """
    call = {
        "to": registry.address,
        "from": getattr(sender, "address", sender),
        "data": f"0x{bytes(registry.giveFeedback.encode_input(*arguments)).hex()}",
    }
    if gas is not None:
        call["gas"] = hex(gas)
    response = registry.provider.web3.provider.make_request("eth_call", [call, "latest"])
    if "error" not in response:
        return None
    data = bytes.fromhex(response["error"].get("data", "0x")[2:])
    error = {keccak(text=error.selector)[:4]: error for error in registry.contract_type.errors}[data[:4]]
    values = decode([argument.canonical_type for argument in error.inputs], data[4:])
    return error.name, {
        argument.name: to_checksum_address(value) if argument.type == "address" else value
        for argument, value in zip(error.inputs, values, strict=True)
    }


def read_number(method, *arguments):
    """Call a view that returns one number, several times quicker than Ape does."""
    data = f"0x{bytes(method.encode_input(*arguments)).hex()}"
    return int(method.contract.provider.make_request("eth_call", [{"to": method.contract.address, "data": data}]), 16)
