"""What the registries' refusals mean to whoever made the call."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "Not authorized": ("not_authorized", "Send it from the agent's owner, or an account that it approved."),
        "reserved key": ("reserved_key", "The agent's wallet is set by set_agent_wallet, which proves it."),
        "bad wallet": ("bad_wallet", "Name a wallet other than the zero address."),
        "expired": ("expired", "Sign again, with a later deadline."),
        "deadline too far": ("deadline_too_far", "The deadline is at most five minutes ahead of the chain's time."),
        "invalid wallet sig": ("invalid_wallet_signature", "The new wallet must sign, for the present owner."),
        "bad identity": ("bad_identity", "Name the address of an identity registry."),
        "bad validator": ("bad_validator", "Name a validator other than the zero address."),
        "exists": ("request_exists", "Use another request hash; this one is taken."),
        "unknown": ("unknown_request", "No validation was requested under this hash on this chain."),
        "not validator": ("not_validator", "Only the validator that the request names may respond."),
        "resp>100": ("response_too_high", "A response is 0 to 100."),
        "too many decimals": ("too_many_decimals", "A value has 18 decimals at most."),
        "value too large": ("value_too_large", "A value is at most 1e38 either side of zero."),
        "Self-feedback not allowed": ("self_feedback", "An agent's owner and operators may not rate it."),
        "index must be > 0": ("index_zero", "On chain, feedback counts from 1."),
        "index out of bounds": ("index_out_of_bounds", "The client has given less feedback than that."),
        "Already revoked": ("already_revoked", "The feedback is revoked, which is final."),
        "Empty URI": ("empty_uri", "A response needs a URI."),
        "clientAddresses required": ("clients_required", "Name the clients whose feedback is to count."),
    }
)  # fmt: skip
"""The texts with which the surface of ERC-8004 refuses, with their reason for machines and what to do."""

ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        # identity
        "AgentNotFound": "Look the agent up again: no agent has this id, domain or address.",
        "UnauthorizedRegistration": "Send it from the address that is to be the agent's.",
        "UnauthorizedUpdate": "Send it from the agent's owner.",
        "InvalidDomain": "Name a domain.",
        "InvalidAddress": "Name an address other than zero.",
        "DomainAlreadyRegistered": "Choose another domain; another agent holds this one.",
        "AddressAlreadyRegistered": "Use an address that neither owns an agent nor speaks as one.",
        "NotOwnerOrWallet": "An account speaks only as an agent that it owns or is the wallet of.",
        "EtherNotAccepted": "Send no ether with it.",
        "ERC721NonexistentToken": "There is no agent with this id.",
        "ERC721IncorrectOwner": "Name the agent's present owner as the one that it is taken from.",
        "ERC721InsufficientApproval": "Send it from the agent's owner, or from an account that the owner approved.",
        "ERC721InvalidApprover": "Send it from the agent's owner, or from an operator of the owner.",
        "ERC721InvalidOperator": "Name an operator other than zero.",
        "ERC721InvalidOwner": "Name an owner other than zero.",
        "ERC721InvalidReceiver": "The receiver is zero, or a contract that does not take agents.",
        "ERC721InvalidSender": "Name a sender other than zero.",
        "AccountBalanceOverflow": "The account owns as many agents as the registry can count.",
        "BalanceQueryForZeroAddress": "Ask for an account other than zero.",
        "NotOwnerNorApproved": "Send it from the agent's owner, or from an account that the owner approved.",
        "TokenAlreadyExists": "The agent exists already.",
        "TokenDoesNotExist": "There is no agent with this id.",
        "TransferFromIncorrectOwner": "Name the agent's present owner as the one that it is taken from.",
        "TransferToNonERC721ReceiverImplementer": "The receiver is a contract that does not take agents.",
        "TransferToZeroAddress": "Name a receiver other than zero.",
        # feedback
        "InvalidSignature": "The client itself must sign, for this registry on this chain.",
        "SignatureExpired": "Sign again, with a later deadline.",
        "UnexpectedFeedbackIndex": "Sign again for the client's next feedback, or send the earlier ones first.",
        "TooMuchFeedback": "The client has given this agent all the feedback that the registry can hold.",
        "TagsExhausted": "Use a tag that was used before; the registry has no room for new ones.",
        "SummaryTooLarge": "Ask for the summary with a tag or fewer clients, so that values of like size are averaged.",
        # ratings
        "RaterNotRegistered": "Send it from an account that speaks as an agent: its owner or wallet.",
        "SubjectNotRegistered": "Rate an agent that exists.",
        "RatingTooHigh": "Rate within 0 to 100.",
        "CannotRateSelf": "Rate another agent.",
        "AlreadyRated": "Ratings are final; read the one that was given.",
        "EmptyBatch": "Name at least one agent.",
        "UnequalBatch": "Give exactly one rating for each agent.",
        "RatingRefused": "Take that rating out of the batch.",
        "UnauthorizedFeedback": "Send it from the server's owner or wallet.",
        "FeedbackAlreadyAuthorized": "The client is authorised already; there is nothing to do.",
        "SelfFeedbackNotAllowed": "An agent and those who may act for it do not rate it.",
        # authorised feedback
        "ScoreTooHigh": "Score within 0 to 100.",
        "FeedbackAuthTooShort": "Pass the authorisation whole: five words of 32 bytes and the signature.",
        "ClientAddressOutOfRange": "Have the authorisation encoded anew; its client is no address.",
        "IndexLimitOutOfRange": "Have the authorisation encoded anew; its index limit is no uint64.",
        "AgentNotAuthorized": "Ask the agent's owner for an authorisation for this agent.",
        "ClientNotAuthorized": "Send it from the client that the authorisation is for.",
        "ChainNotAuthorized": "Ask the agent's owner for an authorisation for this chain.",
        "FeedbackAuthExpired": "Ask the agent's owner for a new authorisation.",
        "IndexLimitReached": "Ask the agent's owner for an authorisation with a higher index limit.",
        "SignatureLengthInvalid": "An account without code signs with 65 bytes.",
        "SignatureMalleable": "Have it signed by a signer that keeps s in the lower half of the curve's order.",
        "SignatureUnrecoverable": "Have the authorisation signed anew; this is nobody's signature.",
        "SignerNotOwner": "Have it signed by the agent's present owner, for this registry on this chain.",
        "SignatureRefused": "The contract that owns the agent does not accept the signature.",
        "PositionOutOfBounds": "Positions count from 0, and the agent has less feedback than that.",
        # validation
        "SafeCastOverflowedUintDowncast": "A number is too large for the registry.",
    }
)
"""What to do about each custom error of the registries, by its name."""
