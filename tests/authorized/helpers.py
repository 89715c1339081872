"""Helpers that sign and send authorised feedback, and that read the errors of the registry."""

from __future__ import annotations

from dataclasses import dataclass, fields

from eth_abi.abi import decode
from eth_account import Account
from eth_utils import keccak, to_checksum_address

from bilateral.core.signatures import Domain, FeedbackAuth, sign_feedback_auth

FIELDS_LENGTH = 160
"""The length of the five fields before the signature in `feedbackAuth`, in bytes."""

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1. `s` and `CURVE_ORDER - s` are both valid for the same message."""

MAX_UINT64 = 2**64 - 1
MAX_UINT256 = 2**256 - 1


def tag(text):
    """Encode a tag for the registry: UTF-8, padded on the right with zeros."""
    return text.encode().ljust(32, b"\0")


@dataclass(frozen=True)
class Given:
    """Arguments of `giveFeedback`, with defaults.

    `list(given)` has them in the contract's order.
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
        """Return the whole event that this feedback must log."""
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        arguments["agentId"] = arguments.pop("agent_id")
        del arguments["feedback_auth"]
        return "NewFeedback", {"clientAddress": client.address, **arguments}

    def record(self, client, position, timestamp):
        """Return the record that the registry must store."""
        return {
            "position": position,
            "clientAddress": client.address,
            "score": self.score,
            "tag1": self.tag1,
            "tag2": self.tag2,
            "timestamp": timestamp,
        }


def plain(feedback):
    """Convert a `Feedback` of the registry to a dictionary."""
    return {
        "position": feedback.position,
        "clientAddress": feedback.clientAddress,
        "score": feedback.score,
        "tag1": bytes(feedback.tag1),
        "tag2": bytes(feedback.tag2),
        "timestamp": feedback.timestamp,
    }


def key_of(account):
    """Return the `eth-account` key of one of Ape's test accounts."""
    return Account.from_key(account.private_key)


def domain_of(registry, chain):
    return Domain(chain.chain_id, registry.address)


def sign(account, message, domain):
    """Return a 65-byte signature of any message, also of messages that `sign_feedback_auth` refuses."""
    return bytes(key_of(account).sign_message(message.signable(domain)).signature)


def authorization(registry, chain, owner, agent_id, client, limit, expiry=MAX_UINT256):
    """Return a valid `feedbackAuth`."""
    auth = FeedbackAuth(agent_id, client.address, limit, expiry, chain.chain_id)
    return sign_feedback_auth(auth, domain_of(registry, chain), key_of(owner))


def refusal(registry, sender, arguments, gas=None):
    """Simulate `giveFeedback`, which is faster than a transaction.

    Returns:
        None if the call succeeds, else the name and the arguments of the registry's error.

    Raises:
        KeyError: The call reverts without an error of the registry's ABI, as by a panic or a bare revert.
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
    """Call a view that returns one number, several times faster than Ape."""
    data = f"0x{bytes(method.encode_input(*arguments)).hex()}"
    return int(method.contract.provider.make_request("eth_call", [{"to": method.contract.address, "data": data}]), 16)
