"""The x402 extension `8004-reputation`: paid requests whose answers carry a proof.

A server declares its ERC-8004 agent and signs every answer that was paid for. A client checks the agent before it pays
and the proof after it was served, and gives feedback that names the payment. The package needs the extra `x402`.

`types` and `schema` hold the messages, `interactions` and `keys` hash and sign, `server` is the server's side. `asgi`
and `wsgi` adapt it to FastAPI and Flask; import them by their full names. `docs/x402.md` is the manual.
"""

from __future__ import annotations

from importlib.util import find_spec

from bilateral.errors import MissingExtraError

_MISSING = [name for name in ("brotli", "nacl", "rfc8785", "x402") if find_spec(name) is None]
if _MISSING:
    raise MissingExtraError("x402", _MISSING)

from bilateral.x402.errors import (  # noqa: E402  # after the check
    BodyTooLargeError,
    InvalidKeyError,
    InvalidMessageError,
    ReputationExtensionError,
    StreamingRouteError,
    UnsupportedBodyError,
)
from bilateral.x402.interactions import client_message_hash, interaction_hash  # noqa: E402
from bilateral.x402.keys import (  # noqa: E402
    Ed25519Key,
    InteractionKey,
    RemoteKey,
    Secp256k1Key,
    key_from_environment,
    key_from_keystore,
    key_from_secret,
)
from bilateral.x402.schema import reputation_8004_schema  # noqa: E402
from bilateral.x402.server import (  # noqa: E402
    Reputation8004ResourceServerExtension,
    declare_8004_reputation,
    registration_of,
)
from bilateral.x402.types import (  # noqa: E402
    REPUTATION_8004,
    AgentRegistration,
    ClientAgent,
    InteractionData,
    ReputationInfo,
    SettlementReceipt,
)

__all__ = [
    "REPUTATION_8004",
    "AgentRegistration",
    "BodyTooLargeError",
    "ClientAgent",
    "Ed25519Key",
    "InteractionData",
    "InteractionKey",
    "InvalidKeyError",
    "InvalidMessageError",
    "RemoteKey",
    "Reputation8004ResourceServerExtension",
    "ReputationExtensionError",
    "ReputationInfo",
    "Secp256k1Key",
    "SettlementReceipt",
    "StreamingRouteError",
    "UnsupportedBodyError",
    "client_message_hash",
    "declare_8004_reputation",
    "interaction_hash",
    "key_from_environment",
    "key_from_keystore",
    "key_from_secret",
    "registration_of",
    "reputation_8004_schema",
]
