"""Results of the client: frozen, typed, and safe to make of any data that strangers put on chain.

Values are `Decimal`, moments are `datetime` in UTC, addresses are in checksum form, texts are `ChainText`. Somebody
else's entry never keeps a result from being made: a document that cannot be loaded is None, with its problem beside it.
"""

from bilateral.client.results.agents import (
    Agent,
    AgentProven,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    DirectoryEntry,
    MetadataChanged,
    PrimaryAgentChosen,
    Rater,
    Registered,
)
from bilateral.client.results.authorized import AuthorizedFeedbackEntry, AuthorizedSummary
from bilateral.client.results.buyers import (
    Anchor,
    AttestedRecord,
    BuyerRecords,
    BuyerStanding,
    RoleHolder,
    SettledPayment,
    SettledRecord,
)
from bilateral.client.results.deployments import DeploymentReport, RegistryReport
from bilateral.client.results.feedback import (
    FeedbackEntry,
    FeedbackEvent,
    FeedbackResponse,
    FeedbackRevocation,
    ReputationSummary,
    VoidedSignatures,
)
from bilateral.client.results.ratings import Rating, RatingKind
from bilateral.client.results.validation import (
    ValidationAnswered,
    ValidationRequested,
    ValidationStatus,
    ValidationSummary,
)

__all__ = [
    "Agent",
    "AgentProven",
    "AgentTransferred",
    "AgentUriSet",
    "AgentWalletChanged",
    "Anchor",
    "AttestedRecord",
    "AuthorizedFeedbackEntry",
    "AuthorizedSummary",
    "BuyerRecords",
    "BuyerStanding",
    "DeploymentReport",
    "DirectoryEntry",
    "FeedbackEntry",
    "FeedbackEvent",
    "FeedbackResponse",
    "FeedbackRevocation",
    "MetadataChanged",
    "PrimaryAgentChosen",
    "Rater",
    "Rating",
    "RatingKind",
    "Registered",
    "RegistryReport",
    "ReputationSummary",
    "RoleHolder",
    "SettledPayment",
    "SettledRecord",
    "ValidationAnswered",
    "ValidationRequested",
    "ValidationStatus",
    "ValidationSummary",
    "VoidedSignatures",
]
