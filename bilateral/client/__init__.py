"""The clients for the registries: `Client` is blocking, `AsyncClient` asynchronous. Both have the same methods."""

from bilateral.client.aio.client import AsyncClient, AsyncClients, AsyncWriteBatch
from bilateral.client.aio.runner import AsyncHandle, AsyncSignalBatch
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
from bilateral.client.state import (
    AgentLike,
    FeedbackAuthorization,
    ResponseLink,
    Signal,
    SignedFeedback,
    TransactionSigner,
    week_of,
)
from bilateral.client.sync.client import Client, Clients, WriteBatch
from bilateral.client.sync.runner import Handle, SignalBatch

__all__ = ["Agent", "AgentLike", "AgentProven", "AgentTransferred", "AgentUriSet", "AgentWalletChanged", "Anchor"]
__all__ += ["AsyncClient", "AsyncClients", "AsyncHandle", "AsyncSignalBatch", "AsyncWriteBatch", "AttestedRecord"]
__all__ += ["AuthorizedFeedbackEntry", "AuthorizedSummary", "BuyerRecords", "BuyerStanding", "Client", "Clients"]
__all__ += ["DeploymentReport", "DirectoryEntry", "FeedbackAuthorization", "FeedbackEntry", "FeedbackEvent"]
__all__ += ["FeedbackResponse", "FeedbackRevocation", "Handle", "MetadataChanged", "PrimaryAgentChosen", "Rater"]
__all__ += ["Rating", "RatingKind", "Registered", "RegistryReport", "ReputationSummary", "ResponseLink", "RoleHolder"]
__all__ += ["SettledPayment", "SettledRecord", "Signal", "SignalBatch", "SignedFeedback", "TransactionSigner"]
__all__ += ["ValidationAnswered", "ValidationRequested", "ValidationStatus", "ValidationSummary", "VoidedSignatures"]
__all__ += ["WriteBatch", "week_of"]
