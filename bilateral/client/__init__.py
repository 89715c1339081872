"""The client of the registries: `Client` blocks, `AsyncClient` does not; both have the same methods."""

from bilateral.client.aio.batch import AsyncWriteBatch
from bilateral.client.aio.chains import AsyncClients
from bilateral.client.aio.client import AsyncClient
from bilateral.client.aio.handle import AsyncHandle, AsyncSignalBatch
from bilateral.client.inputs import (
    AgentLike,
    FeedbackAuthorization,
    ResponseLink,
    Signal,
    SignedFeedback,
    TransactionSigner,
    week_of,
)
from bilateral.client.results import (
    Agent,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    AuthorizedFeedbackEntry,
    AuthorizedSummary,
    DirectoryEntry,
    FeedbackEntry,
    FeedbackEvent,
    FeedbackResponse,
    FeedbackRevocation,
    MetadataChanged,
    PrimaryAgentChosen,
    Rater,
    Rating,
    RatingKind,
    Registered,
    ReputationSummary,
    ValidationAnswered,
    ValidationRequested,
    ValidationStatus,
    ValidationSummary,
    VoidedSignatures,
)
from bilateral.client.sync.batch import WriteBatch
from bilateral.client.sync.chains import Clients
from bilateral.client.sync.client import Client
from bilateral.client.sync.handle import Handle, SignalBatch

__all__ = [
    "Agent",
    "AgentLike",
    "AgentTransferred",
    "AgentUriSet",
    "AgentWalletChanged",
    "AsyncClient",
    "AsyncClients",
    "AsyncHandle",
    "AsyncSignalBatch",
    "AsyncWriteBatch",
    "AuthorizedFeedbackEntry",
    "AuthorizedSummary",
    "Client",
    "Clients",
    "DirectoryEntry",
    "FeedbackAuthorization",
    "FeedbackEntry",
    "FeedbackEvent",
    "FeedbackResponse",
    "FeedbackRevocation",
    "Handle",
    "MetadataChanged",
    "PrimaryAgentChosen",
    "Rater",
    "Rating",
    "RatingKind",
    "Registered",
    "ReputationSummary",
    "ResponseLink",
    "Signal",
    "SignalBatch",
    "SignedFeedback",
    "TransactionSigner",
    "ValidationAnswered",
    "ValidationRequested",
    "ValidationStatus",
    "ValidationSummary",
    "VoidedSignatures",
    "WriteBatch",
    "week_of",
]
