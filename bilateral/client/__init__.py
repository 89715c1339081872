"""The client of the registries: `Client` blocks, `AsyncClient` does not; both have the same methods."""

from bilateral.client.aio.client import AsyncClient, AsyncClients, AsyncWriteBatch
from bilateral.client.aio.runner import AsyncHandle, AsyncSignalBatch
from bilateral.client.inputs import (
    AgentLike,
    FeedbackAuthorization,
    ResponseLink,
    Signal,
    SignedFeedback,
    TransactionSigner,
    week_of,
)
from bilateral.client.operations.authorized import AuthorizedFeedbackEntry, AuthorizedSummary, VoidedSignatures
from bilateral.client.operations.directory import AgentProven, DirectoryEntry, PrimaryAgentChosen, Rater
from bilateral.client.operations.inspection import DeploymentReport, RegistryReport
from bilateral.client.operations.ratings import Rating, RatingKind
from bilateral.client.operations.validation import (
    ValidationAnswered,
    ValidationRequested,
    ValidationStatus,
    ValidationSummary,
)
from bilateral.client.results import (
    Agent,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    Anchor,
    AttestedRecord,
    BuyerRecords,
    BuyerStanding,
    FeedbackEntry,
    FeedbackEvent,
    FeedbackResponse,
    FeedbackRevocation,
    MetadataChanged,
    Registered,
    ReputationSummary,
    RoleHolder,
    SettledPayment,
    SettledRecord,
)
from bilateral.client.sync.client import Client, Clients, WriteBatch
from bilateral.client.sync.runner import Handle, SignalBatch

__all__ = ["AsyncClient", "AsyncClients", "AsyncHandle", "AsyncSignalBatch", "AsyncWriteBatch"]
__all__ += ["Client", "Clients", "Handle", "SignalBatch", "TransactionSigner", "WriteBatch"]
__all__ += ["Agent", "AgentLike", "AgentProven", "AgentTransferred", "AgentUriSet", "AgentWalletChanged"]
__all__ += ["DirectoryEntry", "MetadataChanged", "PrimaryAgentChosen", "Registered"]
__all__ += ["FeedbackEntry", "FeedbackEvent", "FeedbackResponse", "FeedbackRevocation", "ResponseLink"]
__all__ += ["Rater", "Rating", "RatingKind", "ReputationSummary", "Signal", "SignedFeedback", "VoidedSignatures"]
__all__ += ["AuthorizedFeedbackEntry", "AuthorizedSummary", "FeedbackAuthorization"]
__all__ += ["ValidationAnswered", "ValidationRequested", "ValidationStatus", "ValidationSummary"]
__all__ += ["Anchor", "AttestedRecord", "BuyerRecords", "BuyerStanding", "RoleHolder"]
__all__ += ["SettledPayment", "SettledRecord", "week_of"]
__all__ += ["DeploymentReport", "RegistryReport"]
