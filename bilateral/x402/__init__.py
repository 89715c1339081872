"""The x402 extension `8004-reputation`: the response to a paid request (the answer) includes a signed proof.

A server declares its ERC-8004 agent and signs every paid answer. A client checks the agent before paying, checks the
proof after receiving the answer, and gives feedback that refers to the payment. The package needs the extra `x402`.

`proof` contains the messages, their hashes and signatures, and the verifiers. `clients` pays for requests sent with
httpx or requests, verifies the answers and rates the agents. `server` signs answers from FastAPI and Flask
applications. `aggregator` sends signed feedback and pays for the gas. Each subpackage imports only the subpackages
listed before it. Import the adapters for HTTP libraries and frameworks from their own modules. `docs/x402.md` is the
manual.

Public names are imported on first use (PEP 562), so the aggregator's database tables can be created without installing
the extra.
"""

# ruff: noqa: F403  # type checkers find the names by their modules

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bilateral.x402.clients.answer_limits import *
    from bilateral.x402.clients.client import *
    from bilateral.x402.clients.feedback import *
    from bilateral.x402.clients.preflight import *
    from bilateral.x402.clients.transports import *
    from bilateral.x402.proof.blind import *
    from bilateral.x402.proof.checking import *
    from bilateral.x402.proof.errors import *
    from bilateral.x402.proof.keys import *
    from bilateral.x402.proof.profiles import *
    from bilateral.x402.proof.readers import *
    from bilateral.x402.proof.types import *
    from bilateral.x402.proof.verdicts import *
    from bilateral.x402.proof.verifier import *
    from bilateral.x402.server.rotation import *
    from bilateral.x402.server.server import *

_NAMES: Final = {
    "clients.answer_limits": "AnswerLimits",
    "clients.client": "Reputation8004ClientExtension ReputationDraftClientExtension protect_client",
    "clients.feedback": (
        "PAYMENT_MISMATCH QUALITY REACHABLE RESOURCE_DELIVERED RESOURCE_MISSING RESPONSE_DELAYED give_paid_feedback "
        "give_paid_feedback_async is_signed_by_client is_signed_by_client_async paid_feedback sign_paid_feedback"
    ),
    "clients.preflight": "Finding Preflight check_url",
    "clients.transports": "abandon_payment",
    "proof.blind": "BlindSealer",
    "proof.checking": "VerifiedClient",
    "proof.errors": (
        "BodyTooLargeError DuplicateFeedbackError InvalidKeyError InvalidMessageError LostAnswerError "
        "PaidNotAnsweredError PaymentRefusedError PreflightError RedirectedPaymentError ReputationExtensionError "
        "StreamingRouteError TooManyPaymentsError UnreadFeedbackError UnsupportedBodyError"
    ),
    "proof.keys": (
        "Ed25519Key InteractionKey RemoteKey Secp256k1Key key_from_environment key_from_keystore key_from_secret"
    ),
    "proof.profiles": (
        "client_message_hash draft_data_hash draft_interaction_hash draft_reviewer_hash interaction_hash "
        "PROFILE_8004 PROFILE_DRAFT REPUTATION_DRAFT Profile declare_8004_reputation declare_reputation_draft "
        "registration_of reputation_8004_schema reputation_draft_schema"
    ),
    "proof.readers": "RegistryReader",
    "proof.types": (
        "REPUTATION_8004 AgentRegistration BlindTerms ClientAgent InteractionData ReputationInfo SettlementReceipt"
    ),
    "proof.verdicts": "Check CheckName EnvelopeCheck Outcome PaidRequest Payment Verification",
    "proof.verifier": "AsyncVerifier Verifier",
    "server.rotation": "add_signer list_signers retire_signer",
    "server.server": "Reputation8004ResourceServerExtension ReputationDraftResourceServerExtension",
}
"""Each module's public names."""

_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names, whether or not they have been imported."""
    return sorted({*globals(), *_MODULES})
