"""The functions of the registries, with their methods in the model and their reverts."""

from __future__ import annotations

from typing import NamedTuple


class Function(NamedTuple):
    """A function of a registry.

    Attributes:
        method: The path of the model's method.
        refusals: The rules, as `Refused.rule` names them, by which a call can be refused. Ether is not among them:
            every function refuses it.
    """

    method: str
    refusals: tuple[str, ...] = ()


_FEEDBACK = "(uint256,uint64,int128,uint8,string,string,string,string,bytes32)"

_NO_AGENT = "ERC721NonexistentToken"
_NOT_FOR_STRANGERS = (_NO_AGENT, "Not authorized")
_INSIDERS = ("owner", "operator", "approved")

_TRANSFER = Function(
    "identity.transfer",
    ("ERC721InvalidReceiver", _NO_AGENT, "ERC721InsufficientApproval", "ERC721IncorrectOwner"),
)

_IDENTITY = {
    "register()": Function("identity.register"),
    "register(string)": Function("identity.register"),
    "register(string,(string,bytes)[])": Function("identity.register", ("reserved key",)),
    "newAgent(string,address)": Function(
        "identity.new_agent",
        (
            "UnauthorizedRegistration",
            "InvalidDomain",
            "InvalidAddress",
            "DomainAlreadyRegistered",
            "AddressAlreadyRegistered",
        ),
    ),
    "updateAgent(uint256,string,address)": Function(
        "identity.update_agent",
        ("AgentNotFound", "UnauthorizedUpdate", "DomainAlreadyRegistered", "AddressAlreadyRegistered"),
    ),
    "releaseAgentDomain(uint256)": Function("identity.release_agent_domain", ("AgentNotFound", "UnauthorizedUpdate")),
    "transferFrom(address,address,uint256)": _TRANSFER,
    "safeTransferFrom(address,address,uint256)": _TRANSFER,
    "safeTransferFrom(address,address,uint256,bytes)": _TRANSFER,
    "approve(address,uint256)": Function("identity.approve", (_NO_AGENT, "ERC721InvalidApprover")),
    "setApprovalForAll(address,bool)": Function("identity.set_approval_for_all", ("ERC721InvalidOperator",)),
    "setAgentURI(uint256,string)": Function("identity.set_uri", _NOT_FOR_STRANGERS),
    "setMetadata(uint256,string,bytes)": Function("identity.set_metadata", (*_NOT_FOR_STRANGERS, "reserved key")),
    "setAgentWallet(uint256,address,uint256,bytes)": Function(
        "identity.set_wallet",
        (*_NOT_FOR_STRANGERS, "bad wallet", "expired", "deadline too far", "invalid wallet sig"),
    ),
    "unsetAgentWallet(uint256)": Function("identity.unset_wallet", _NOT_FOR_STRANGERS),
    "setPrimaryAgent(uint256)": Function("identity.set_primary", (_NO_AGENT, "NotOwnerOrWallet")),
}

_NO_FEEDBACK = (
    "too many decimals",
    "value too large",
    _NO_AGENT,
    *(f"Self-feedback not allowed: {role}" for role in _INSIDERS),
)


def _open_feedback(model):
    """The functions of open feedback, which two registries have."""
    return {
        "giveFeedback(uint256,int128,uint8,string,string,string,string,bytes32)": Function(
            f"{model}.give", _NO_FEEDBACK
        ),
        f"giveFeedbackBySig(address,{_FEEDBACK},uint256,bytes)": Function(
            f"{model}.give_by_sig",
            ("SignatureExpired", "SignatureVoided", "UnexpectedFeedbackIndex", "InvalidSignature", *_NO_FEEDBACK),
        ),
        "voidSignaturesThrough(uint256)": Function(f"{model}.void_signatures_through", ("DeadlineAlreadyVoided",)),
        "revokeFeedback(uint256,uint64)": Function(
            f"{model}.revoke", ("index must be > 0", "index out of bounds", "Already revoked")
        ),
        "appendResponse(uint256,address,uint64,string,bytes32)": Function(
            f"{model}.respond", ("index must be > 0", "Empty URI", "index out of bounds")
        ),
    }


_NO_RATING = ("SubjectNotRegistered", "RatingTooHigh", "CannotRateSelf", "AlreadyRated")
_NO_RATER = "RaterNotRegistered"
_NO_BATCH = ("EmptyBatch", "UnequalBatch", _NO_RATER, *(f"RatingRefused: {rule}" for rule in _NO_RATING))

_NO_EXPECTED_BATCH = tuple(rule for rule in _NO_BATCH if rule != "RatingRefused: SubjectNotRegistered")
_UNEXPECTED = ("UnexpectedRater", _NO_AGENT, "UnexpectedOwner")

_RATINGS = {
    "rateClient(uint256,uint8)": Function("ratings.rate_client", (_NO_RATER, *_NO_RATING)),
    "rateValidator(uint256,uint8)": Function("ratings.rate_validator", (_NO_RATER, *_NO_RATING)),
    "rateClients(uint256[],uint8[])": Function("ratings.rate_clients", _NO_BATCH),
    "rateValidators(uint256[],uint8[])": Function("ratings.rate_validators", _NO_BATCH),
    "rateClientAs(uint256,uint8,uint256,address)": Function(
        "ratings.rate_client_as", (*_UNEXPECTED, _NO_RATER, *_NO_RATING[1:])
    ),
    "rateValidatorAs(uint256,uint8,uint256,address)": Function(
        "ratings.rate_validator_as", (*_UNEXPECTED, _NO_RATER, *_NO_RATING[1:])
    ),
    "rateClientsAs(uint256[],uint8[],uint256,address[])": Function(
        "ratings.rate_clients_as", (*_UNEXPECTED, *_NO_EXPECTED_BATCH)
    ),
    "rateValidatorsAs(uint256[],uint8[],uint256,address[])": Function(
        "ratings.rate_validators_as", (*_UNEXPECTED, *_NO_EXPECTED_BATCH)
    ),
    "acceptFeedback(uint256,uint256)": Function(
        "ratings.accept_feedback",
        ("AgentNotFound", "UnauthorizedFeedback", "SelfFeedbackNotAllowed", "FeedbackAlreadyAuthorized"),
    ),
}

_AUTHORISED = {
    "giveFeedback(uint256,uint8,bytes32,bytes32,string,bytes32,bytes)": Function(
        "authorised.give",
        (
            "ScoreTooHigh",
            "FeedbackAuthTooShort",
            "ClientAddressOutOfRange",
            "IndexLimitOutOfRange",
            "AgentNotAuthorized",
            "ClientNotAuthorized",
            "ChainNotAuthorized",
            "FeedbackAuthExpired",
            "IndexLimitReached",
            _NO_AGENT,
            *(f"SelfFeedbackNotAllowed: {role}" for role in _INSIDERS),
            "SignatureRefused",
            "SignatureLengthInvalid",
            "SignatureMalleable",
            "SignatureUnrecoverable",
            "SignerNotOwner",
        ),
    )
}

_VALIDATION = {
    "validationRequest(address,uint256,string,bytes32)": Function(
        "validation.request", ("bad validator", "exists", *_NOT_FOR_STRANGERS)
    ),
    "validationResponse(bytes32,uint8,string,bytes32,string)": Function(
        "validation.respond", ("unknown", "not validator", "resp>100")
    ),
}

FUNCTIONS = {
    "identity": _IDENTITY,
    "open": _open_feedback("open") | _RATINGS,
    "plain": _open_feedback("plain"),
    "authorised": _AUTHORISED,
    "validation": _VALIDATION,
}
"""By registry and signature."""


def signature_of(registry, name):
    """A function's signature by its name, or by itself where there are overloads and for views."""
    if name.endswith(")"):
        return name
    signatures = [entry for entry in FUNCTIONS[registry] if name == entry.partition("(")[0]]
    (signature,) = signatures
    return signature
