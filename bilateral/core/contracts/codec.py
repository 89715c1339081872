"""Calls to the registries: calldata, results, and reverts with a machine-readable reason and advice.

Anyone can put bytes that are not UTF-8 into a tag, a URI or a domain. Strings are therefore decoded as bytes and then
converted to `ChainText`, which accepts any bytes.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import is_address, to_checksum_address

from bilateral.core.contracts import Registry, abi, selectors
from bilateral.core.contracts.abi import selector_of, snake_case, type_of
from bilateral.core.errors import BilateralError, UnexpectedAnswerError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import ChainText, printable

_WORD: Final = 32  # bytes of a word of the contract ABI
_STRING = re.compile(r"\bstring\b")


def encode_call(registry: Registry, function: str, arguments: Sequence[Any]) -> bytes:
    """Return the calldata of a call to a registry.

    Args:
        function: The function's name. Overloads are distinguished by the number of arguments.
    """
    entry = _function(registry, function, len(arguments))
    return selector_of(entry)[:4] + encode([type_of(part) for part in entry["inputs"]], arguments)


def decode_result(registry: Registry, function: str, data: bytes) -> tuple[Any, ...]:
    """Decode the result of a call to a registry.

    Args:
        function: The function's name. All its overloads return the same types.
        data: The data returned by the call.

    Returns:
        The values. Strings become `ChainText`, addresses are checksummed, and structs become dictionaries.

    Raises:
        UnexpectedAnswerError: The data does not match the function. Most likely, the wrong contract is at the address.
    """
    return _decode(_function(registry, function)["outputs"], data, f"{registry} returned the result of {function}")


@cache
def _function(registry: Registry, name: str, count: int | None = None) -> Mapping[str, Any]:
    """Return the ABI entry of a function by name and number of arguments; if `count` is None, of any overload."""
    return next(
        entry
        for entry in abi(registry)
        if entry["type"] == "function" and entry["name"] == name and count in (None, len(entry["inputs"]))
    )


def _decode(parts: Sequence[Mapping[str, Any]], data: bytes, subject: str) -> tuple[Any, ...]:
    problem = UnexpectedAnswerError(f"{subject} in an unexpected format ({len(data)} bytes)")
    if len(data) < _WORD * len(parts):  # with Ape loaded, eth-abi reads zeros beyond the end
        raise problem
    try:
        values = decode([_STRING.sub("bytes", type_of(part)) for part in parts], data)
    except (DecodingError, OverflowError):
        raise problem from None
    return tuple(map(_value, parts, values))


def _value(part: Mapping[str, Any], value: Any) -> Any:
    kind = str(part["type"])
    if kind.endswith("]"):
        element = {**part, "type": kind[: kind.rindex("[")]}
        return [_value(element, inner) for inner in value]
    if kind == "tuple":
        return {
            inner["name"]: _value(inner, inner_value)
            for inner, inner_value in zip(part["components"], value, strict=True)
        }
    if kind == "string":
        return ChainText(value)
    return checksummed(value) if kind == "address" else value


_REASON_TEXT: Final = bytes.fromhex("08c379a0")  # Error(string)
_PANIC: Final = bytes.fromhex("4e487b71")  # Panic(uint256)

_TEXTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "Not authorized": ("not_authorized", "Send it from the agent's owner, or an account that it approved."),
        "reserved key": ("reserved_key", "Set the agent's wallet with set_agent_wallet, which proves it."),
        "bad wallet": ("bad_wallet", "Pass a wallet other than the zero address."),
        "expired": ("expired", "Sign again with a later deadline."),
        "deadline too far": ("deadline_too_far", "Pass a deadline at most five minutes ahead of the chain's time."),
        "invalid wallet sig": ("invalid_wallet_signature", "Have the new wallet sign a consent for the current owner."),
        "bad identity": ("bad_identity", "Pass the address of an identity registry."),
        "bad validator": ("bad_validator", "Pass a validator other than the zero address."),
        "exists": ("request_exists", "Use a different request hash: this one is already in use."),
        "unknown": ("unknown_request", "Check the request hash: no request on this chain has it."),
        "not validator": ("not_validator", "Send it from the validator specified in the request."),
        "resp>100": ("response_too_high", "Use a response from 0 to 100."),
        "too many decimals": ("too_many_decimals", "Use at most 18 decimals."),
        "value too large": ("value_too_large", "Use a value from -1e38 to 1e38."),
        "Self-feedback not allowed": ("self_feedback", "Rate from an account that is neither owner nor operator."),
        "index must be > 0": ("index_zero", "Use an index of 1 or more: on-chain indexes start at 1."),
        "index out of bounds": ("index_out_of_bounds", "Check the index: the client has given fewer feedback entries."),
        "Already revoked": ("already_revoked", "No action is needed: the feedback is already revoked."),
        "Empty URI": ("empty_uri", "Pass the response's URI."),
        "clientAddresses required": ("clients_required", "Pass the clients whose feedback counts."),
    }
)  # fmt: skip
"""The revert strings of ERC-8004, each with a machine-readable reason and advice."""

_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        # identity
        "AgentNotFound": "Check the id, domain or address: no agent has it.",
        "UnauthorizedRegistration": "Send it from the new agent's address.",
        "UnauthorizedUpdate": "Send it from the agent's owner.",
        "InvalidDomain": "Pass a domain.",
        "InvalidAddress": "Pass an address other than the zero address.",
        "DomainAlreadyRegistered": "Choose a different domain: another agent already has this one.",
        "AddressAlreadyRegistered": "Use an address that neither owns an agent nor has a primary agent.",
        "NotOwnerOrWallet": "Choose an agent whose owner or wallet is the account.",
        "EtherNotAccepted": "Do not send ether with this transaction.",
        "ERC721NonexistentToken": "Check the id: no agent has it.",
        "ERC721IncorrectOwner": "Pass the agent's current owner as the sender.",
        "ERC721InsufficientApproval": "Send it from the agent's owner, or from an account that the owner approved.",
        "ERC721InvalidApprover": "Send it from the agent's owner or from one of the owner's operators.",
        "ERC721InvalidOperator": "Pass an operator other than the zero address.",
        "ERC721InvalidOwner": "Pass an owner other than the zero address.",
        "ERC721InvalidReceiver": "Pass a receiver, other than the zero address, that accepts ERC-721 tokens.",
        "ERC721InvalidSender": "Pass a sender other than the zero address.",
        "AccountBalanceOverflow": "Use a different account: this one owns the maximum number of agents.",
        "BalanceQueryForZeroAddress": "Query an account other than the zero address.",
        "NotOwnerNorApproved": "Send it from the agent's owner, or from an account that the owner approved.",
        "TokenAlreadyExists": "No action is needed: the agent already exists.",
        "TokenDoesNotExist": "Check the id: no agent has it.",
        "TransferFromIncorrectOwner": "Pass the agent's current owner as the sender.",
        "TransferToNonERC721ReceiverImplementer": "Pass a receiver that accepts ERC-721 tokens.",
        "TransferToZeroAddress": "Pass a receiver other than the zero address.",
        # companion
        "NotAnIdentityRegistry": "Pass an identity registry: an ERC-721 contract with getAgentWallet.",
        "NoAnswer": "Try again later: the companion's identity registry did not respond.",
        "NotInCompanion": "Use this project's IdentityRegistry for domains, and to register agents by domain.",
        "NobodySpeaksAsAgentZero": "Choose a different agent: id 0 means no agent in this registry.",
        # feedback
        "InvalidSignature": "Have the account shown in the error sign for this registry on this chain.",
        "SignatureExpired": "Sign again with a later deadline.",
        "SignatureVoided": "Sign again with a later deadline: the client has voided signatures up to this one.",
        "DeadlineAlreadyVoided": "Choose a later deadline: signatures up to this one are already void.",
        "UnexpectedFeedbackIndex": "Sign again for the client's next feedback, or send the earlier entries first.",
        "TooMuchFeedback": "Use a different client: this one has given the maximum amount of feedback.",
        "TagsExhausted": "Use a tag that was used before: the registry cannot store new tags.",
        # ratings
        "RaterNotRegistered": "Send it from an account with a primary agent: an agent's owner or wallet.",
        "UnexpectedRater": "Send it from an account whose primary agent is the server, or set the primary agent.",
        "UnexpectedOwner": "Check the agent: its owner is not the expected one. Pass the current owner to rate it.",
        "SubjectNotRegistered": "Rate an agent that exists.",
        "RatingTooHigh": "Use a rating from 0 to 100.",
        "CannotRateSelf": "Rate a different agent.",
        "AlreadyRated": "Ratings are final: read the existing one.",
        "EmptyBatch": "Pass at least one agent.",
        "UnequalBatch": "Pass exactly one rating for each agent.",
        "RatingRefused": "Remove that rating from the batch.",
        "EnvelopeExpired": "Request a new envelope from the side whose deadline has passed.",
        "UnexpectedClient": "Pass the account whose primary agent is the client.",
        "UnknownPair": "Pass the pair exactly as it was sealed. If its feedback is open, open only the rating.",
        "SealMismatch": "Open with the salt and the rating that were sealed.",
        "UnauthorizedFeedback": "Send it from the server's owner or wallet.",
        "FeedbackAlreadyAuthorized": "No action is needed: the client is already authorised.",
        "SelfFeedbackNotAllowed": "Rate from an account that is neither owner nor operator.",
        # authorised feedback
        "ScoreTooHigh": "Use a score from 0 to 100.",
        "FeedbackAuthTooShort": "Pass the complete authorisation: five 32-byte words and the signature.",
        "ClientAddressOutOfRange": "Encode the authorisation again: its client is not an address.",
        "IndexLimitOutOfRange": "Encode the authorisation again: its index limit is not a uint64.",
        "AgentNotAuthorized": "Ask the agent's owner for an authorisation for this agent.",
        "ClientNotAuthorized": "Send it from the client that the authorisation is for.",
        "ChainNotAuthorized": "Ask the agent's owner for an authorisation for this chain.",
        "FeedbackAuthExpired": "Ask the agent's owner for a new authorisation.",
        "IndexLimitReached": "Ask the agent's owner for an authorisation with a higher index limit.",
        "SignatureLengthInvalid": "Pass a 65-byte signature: the owner is not a contract.",
        "SignatureMalleable": "Use a signer that produces s in the lower half of the curve's order.",
        "SignatureUnrecoverable": "Have the authorisation signed again: no signer can be recovered.",
        "SignerNotOwner": "Have the agent's current owner sign it for this registry on this chain.",
        "SignatureRefused": "Have the authorisation signed as required by the contract that owns the agent (ERC-1271).",
        "PositionOutOfBounds": "Count positions from 0: the agent has fewer feedback entries.",
        # buyers
        "TokenNotListed": "Pay in a token that the registry lists: see get_payment_tokens.",
        "PaymentFellShort": "Pay in a different token: this one kept part of the payment.",
        "NotRoleHolder": "Send it from the role's holder: see get_role_holder.",
        "NotNominated": "Have the role's holder nominate the account first.",
        "RoleWithoutHolder": "Pass an account other than the zero address for each role.",
        "PaymentTooHigh": "Pass an amount below 2^56 millionths of a dollar.",
        "PaymentTimeOutOfRange": "Pass the time of the payment's block, which must be above 0 and not in the future.",
        "PaymentAlreadyRecorded": "No action is needed: the payment, or its whole transaction, is already recorded.",
        "ScoreOutOfRange": "Use a score from 0 to 100.",
        "FeedbackOnSelf": "Pass a seller other than the buyer.",
        "ReviewSumTooHigh": "Pass a sum of at most 100 per review.",
        "RecordIsFull": "No vote can be added: the record is full.",
        "UnexpectedEpoch": "Anchor the next epoch: see get_next_epoch.",
        "EmptyRoot": "Pass a root other than zero.",
        "UnknownEpoch": "Pass an epoch that has a root: see get_next_epoch.",
        "TokenCountOutOfRange": "List one to four tokens.",
        "TokenListedTwice": "List each token once.",
        "UnsuitableDecimals": "List dollar tokens with six decimals.",
        # private tiers
        "NotABuyerRegistry": "Pass a BuyerReputationRegistry.",
        "NotAVerifier": "Pass the deployed TierProofVerifier.",
        "NotTheAttestor": "Send it from the attestor: see get_role_holder.",
        "EpochOver": "Post roots only for today (UTC), and prove with the roots for today or yesterday.",
        "RootOutOfRange": "Pass roots above 0 and below the scalar field's order, and 1 for an empty tier.",
        "RootsAlreadyPosted": "No action is needed: the day's roots are already posted and cannot be replaced.",
        "UnknownRoot": "Use a policy, day and tier that have a root: see get_tier_roots.",
        "ProofMalformed": "Pass numbers below their fields' orders.",
        "ProofRefused": "Create the proof again for this tree, scope and holder.",
        # validation
        "SafeCastOverflowedUintDowncast": "Pass a smaller number: the registry cannot store this one.",
    }
)
"""Advice for each of the registries' custom errors, by name."""


class ContractRevertError(BilateralError):
    """A registry reverted a call.

    Attributes:
        error: The Solidity error's name, or the text of `Error(string)`; empty if the revert data contains neither.
        arguments: The error's arguments, keyed by name; addresses are checksummed.
        reason: The machine-readable reason in snake_case, such as a custom error's converted name; `reverted` if
            unknown.
        advice: What the caller can do next; empty if unknown.
        data: The complete revert data.
        __cause__: If a batch of ratings reverted, the error of the rating that caused this; otherwise None.
        transaction: The hash of the mined transaction that reverted; None if a simulation reverted and nothing was
            sent.
    """

    reason = "reverted"
    transaction: str | None = None

    def __init__(self, error: str, arguments: Mapping[str, Any], reason: str, advice: str, data: bytes) -> None:
        values = ", ".join(f"{name}={_formatted(value)}" for name, value in arguments.items())
        label = f"{error}({values})" if arguments else _formatted(error) or "no reason given"
        super().__init__(f"the registry rejected the call: {label}" + (f". {advice}" if advice else ""))
        self.error = error
        self.arguments = MappingProxyType(dict(arguments))
        self.reason = reason  # type: ignore[misc]  # of this revert; other classes have one reason
        self.advice = advice
        self.data = data


def decode_revert(data: bytes) -> ContractRevertError:
    """Create an exception from revert data.

    Args:
        data: The revert data, as returned by a node.

    Returns:
        The exception to raise. Even malformed data yields an exception, because a contract may revert with any bytes.
    """
    selector, payload = data[:4], data[4:]
    try:
        if selector == _REASON_TEXT:
            text = decode(["string"], payload, strict=False)[0]
            reason, advice = _TEXTS.get(text, ("reverted", ""))
            return ContractRevertError(text, {}, reason, advice, data)
        if selector == _PANIC and len(payload) == _WORD:
            return ContractRevertError("Panic", {"code": decode(["uint256"], payload)[0]}, "panic", "", data)
        entry = _errors().get(selector)
        if entry is not None:
            types = [str(part["type"]) for part in entry["inputs"]]
            values = map(_checksummed, types, decode(types, payload))
            arguments = dict(zip((part["name"] for part in entry["inputs"]), values, strict=True))
            inner = _inner(entry["name"], arguments)
            advice = f"Remove that rating from the batch: {inner}" if inner else _ADVICE.get(entry["name"], "")
            refusal = ContractRevertError(entry["name"], arguments, snake_case(entry["name"]), advice, data)
            refusal.__cause__ = inner
            return refusal
    except (DecodingError, OverflowError, UnicodeDecodeError):
        pass  # the data only starts like a known error
    return ContractRevertError("", {"data": data} if data else {}, "reverted", "", data)


@cache
def _errors() -> Mapping[bytes, Mapping[str, Any]]:
    return {selector: entry for registry in Registry for selector, entry in selectors(registry, "error").items()}


def _inner(error: str, arguments: Mapping[str, Any]) -> ContractRevertError | None:
    """Return the error of the rating that made a batch of ratings revert; None if no batch reverted."""
    is_of_batch = error == "RatingRefused" and arguments["reason"][:4] != _selector(error)
    return decode_revert(arguments["reason"]) if is_of_batch else None


def _selector(error: str) -> bytes:
    return next(selector for selector, entry in _errors().items() if entry["name"] == error)


def _checksummed(kind: str, value: Any) -> Any:
    return to_checksum_address(value) if kind == "address" and is_address(value) else value


def _formatted(value: Any) -> str:
    """Format an argument, which may be untrusted, for a message."""
    text = f"0x{value.hex()}" if isinstance(value, bytes) else printable(str(value))
    return text if len(text) <= 140 else f"{text[:140]}…"  # noqa: PLR2004  # a line or two
