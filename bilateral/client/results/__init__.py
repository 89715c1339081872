"""What the client returns: frozen, typed, and safe to make of whatever strangers have put on chain.

Values are `Decimal`, moments are `datetime` in UTC, addresses are in checksum form, texts are `ChainText`. Nothing here
fails to be made because of somebody else's entry: a document that cannot be had is None, and its problem stands beside.
"""

from bilateral.client.results.agents import (
    Agent,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    DirectoryEntry,
    MetadataChanged,
    PrimaryAgentChosen,
    Rater,
    Registered,
)
from bilateral.client.results.authorized import (
    AuthorizedFeedbackEntry,
    AuthorizedSummary,
)
from bilateral.client.results.feedback import (
    FeedbackEntry,
    FeedbackEvent,
    FeedbackResponse,
    FeedbackRevocation,
    ReputationSummary,
)
from bilateral.client.results.ratings import (
    Rating,
    RatingKind,
)
from bilateral.client.results.validation import (
    ValidationAnswered,
    ValidationRequested,
    ValidationStatus,
    ValidationSummary,
)

__all__ = [
    "Agent",
    "AgentTransferred",
    "AgentUriSet",
    "AgentWalletChanged",
    "AuthorizedFeedbackEntry",
    "AuthorizedSummary",
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
    "ReputationSummary",
    "ValidationAnswered",
    "ValidationRequested",
    "ValidationStatus",
    "ValidationSummary",
]
