"""The x402 extension `8004-reputation`: paid requests whose answers carry a proof.

A server declares its ERC-8004 agent and signs every answer that was paid for. A client checks the agent before it pays
and the proof after it was served, and gives feedback that names the payment. The package needs the extra `x402`.

`proof` has the messages, their hashes and signatures, and the verifiers. `clients` pay by httpx and requests, verify
and rate. `server` signs, behind FastAPI and Flask. `aggregator` sends signed feedback, and pays the gas. A part imports
only those before it. Import adapters by their full names. `docs/x402.md` is the manual.
"""

# ruff: noqa: E402  # imports come after the check of the extra

from __future__ import annotations

from bilateral.core.errors import require_modules

require_modules("x402", "brotli", "jsonschema", "nacl", "prometheus_client", "rfc8785", "x402")

from bilateral.x402.clients.answer_limits import AnswerLimits
from bilateral.x402.clients.client import Reputation8004ClientExtension, ReputationDraftClientExtension, protect_client
from bilateral.x402.clients.feedback import (
    PAYMENT_MISMATCH,
    QUALITY,
    REACHABLE,
    RESOURCE_DELIVERED,
    RESOURCE_MISSING,
    RESPONSE_DELAYED,
    give_paid_feedback,
    give_paid_feedback_async,
    is_signed_by_client,
    is_signed_by_client_async,
    paid_feedback,
    sign_paid_feedback,
)
from bilateral.x402.clients.outstanding import abandon_payment
from bilateral.x402.clients.preflight import Finding, Preflight, check_url
from bilateral.x402.proof.blind import BlindSealer
from bilateral.x402.proof.checking import VerifiedClient
from bilateral.x402.proof.declarations import declare_8004_reputation, declare_reputation_draft, registration_of
from bilateral.x402.proof.errors import (
    BodyTooLargeError,
    DuplicateFeedbackError,
    InvalidKeyError,
    InvalidMessageError,
    LostAnswerError,
    PaidNotAnsweredError,
    PaymentRefusedError,
    PreflightError,
    RedirectedPaymentError,
    ReputationExtensionError,
    StreamingRouteError,
    TooManyPaymentsError,
    UnreadFeedbackError,
    UnsupportedBodyError,
)
from bilateral.x402.proof.interactions import (
    client_message_hash,
    draft_data_hash,
    draft_interaction_hash,
    draft_reviewer_hash,
    interaction_hash,
)
from bilateral.x402.proof.keys import (
    Ed25519Key,
    InteractionKey,
    RemoteKey,
    Secp256k1Key,
    key_from_environment,
    key_from_keystore,
    key_from_secret,
)
from bilateral.x402.proof.profiles import (
    PROFILE_8004,
    PROFILE_DRAFT,
    REPUTATION_DRAFT,
    Profile,
    reputation_8004_schema,
    reputation_draft_schema,
)
from bilateral.x402.proof.readers import RegistryReader
from bilateral.x402.proof.types import (
    REPUTATION_8004,
    AgentRegistration,
    BlindTerms,
    ClientAgent,
    InteractionData,
    ReputationInfo,
    SettlementReceipt,
)
from bilateral.x402.proof.verdicts import Check, CheckName, EnvelopeCheck, Outcome, PaidRequest, Payment, Verification
from bilateral.x402.proof.verifier import AsyncVerifier, Verifier
from bilateral.x402.server.rotation import add_signer, list_signers, retire_signer
from bilateral.x402.server.server import Reputation8004ResourceServerExtension, ReputationDraftResourceServerExtension

__all__ = [
    "PAYMENT_MISMATCH",
    "PROFILE_8004",
    "PROFILE_DRAFT",
    "QUALITY",
    "REACHABLE",
    "REPUTATION_8004",
    "REPUTATION_DRAFT",
    "RESOURCE_DELIVERED",
    "RESOURCE_MISSING",
    "RESPONSE_DELAYED",
    "AgentRegistration",
    "AnswerLimits",
    "AsyncVerifier",
    "BlindSealer",
    "BlindTerms",
    "BodyTooLargeError",
    "Check",
    "CheckName",
    "ClientAgent",
    "DuplicateFeedbackError",
    "Ed25519Key",
    "EnvelopeCheck",
    "Finding",
    "InteractionData",
    "InteractionKey",
    "InvalidKeyError",
    "InvalidMessageError",
    "LostAnswerError",
    "Outcome",
    "PaidNotAnsweredError",
    "PaidRequest",
    "Payment",
    "PaymentRefusedError",
    "Preflight",
    "PreflightError",
    "Profile",
    "RedirectedPaymentError",
    "RegistryReader",
    "RemoteKey",
    "Reputation8004ClientExtension",
    "Reputation8004ResourceServerExtension",
    "ReputationDraftClientExtension",
    "ReputationDraftResourceServerExtension",
    "ReputationExtensionError",
    "ReputationInfo",
    "Secp256k1Key",
    "SettlementReceipt",
    "StreamingRouteError",
    "TooManyPaymentsError",
    "UnreadFeedbackError",
    "UnsupportedBodyError",
    "Verification",
    "VerifiedClient",
    "Verifier",
    "abandon_payment",
    "add_signer",
    "check_url",
    "client_message_hash",
    "declare_8004_reputation",
    "declare_reputation_draft",
    "draft_data_hash",
    "draft_interaction_hash",
    "draft_reviewer_hash",
    "give_paid_feedback",
    "give_paid_feedback_async",
    "interaction_hash",
    "is_signed_by_client",
    "is_signed_by_client_async",
    "key_from_environment",
    "key_from_keystore",
    "key_from_secret",
    "list_signers",
    "paid_feedback",
    "protect_client",
    "registration_of",
    "reputation_8004_schema",
    "reputation_draft_schema",
    "retire_signer",
    "sign_paid_feedback",
]
