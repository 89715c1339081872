"""Every registry event as a frozen type, made from logs by `decode_log`, and the state of agents that events tell."""

from bilateral.events.agents import AgentStates
from bilateral.events.base import Event, Undecodable, UndecodedLog
from bilateral.events.buyers import (
    Anchored,
    FeedbackAttested,
    PaymentAttested,
    PaymentNotCounted,
    PaymentSettled,
    ReviewsAttested,
    RoleTaken,
    SuccessorNominated,
)
from bilateral.events.decoder import EVENTS, decode_log, decode_logs, field_name, topic_of
from bilateral.events.identity import (
    AgentCountRaised,
    AgentRegistered,
    AgentUpdated,
    Approval,
    ApprovalForAll,
    MetadataSet,
    MetadataUpdate,
    PrimaryAgentSet,
    Registered,
    Transfer,
    URIUpdated,
)
from bilateral.events.reputation import (
    AuthFeedback,
    ClientRated,
    FeedbackRevoked,
    NewAuthorizedFeedback,
    NewFeedback,
    ResponseAppended,
    SignaturesVoided,
    ValidatorRated,
)
from bilateral.events.validation import ValidationRequest, ValidationResponse
from bilateral.logs import LogPosition, RawLog

__all__ = [
    "EVENTS",
    "AgentCountRaised",
    "AgentRegistered",
    "AgentStates",
    "AgentUpdated",
    "Anchored",
    "Approval",
    "ApprovalForAll",
    "AuthFeedback",
    "ClientRated",
    "Event",
    "FeedbackAttested",
    "FeedbackRevoked",
    "LogPosition",
    "MetadataSet",
    "MetadataUpdate",
    "NewAuthorizedFeedback",
    "NewFeedback",
    "PaymentAttested",
    "PaymentNotCounted",
    "PaymentSettled",
    "PrimaryAgentSet",
    "RawLog",
    "Registered",
    "ResponseAppended",
    "ReviewsAttested",
    "RoleTaken",
    "SignaturesVoided",
    "SuccessorNominated",
    "Transfer",
    "URIUpdated",
    "Undecodable",
    "UndecodedLog",
    "ValidationRequest",
    "ValidationResponse",
    "ValidatorRated",
    "decode_log",
    "decode_logs",
    "field_name",
    "topic_of",
]
