"""The client side: checks the agent before anything is signed, and the proof once the answer arrives.

Example:
    from x402 import x402Client
    from bilateral.x402 import AsyncVerifier, protect_client, verifying_transport

    verifier = AsyncVerifier({rpc_url: deployment})
    client = protect_client(x402Client(), verifier)
    async with httpx.AsyncClient(transport=verifying_transport(client, verifier)) as http:
        response = await http.get("https://agent.example/weather")
        verification = response.extensions["8004-reputation"]
"""

from collections.abc import Coroutine
from typing import Any, TypeVar

from x402 import x402Client, x402ClientSync
from x402.extensions.payment_identifier import append_payment_identifier_to_extensions
from x402.schemas import AbortResult, PaymentCreationContext, PaymentPayload, PaymentRequired

from bilateral.core.identifiers import GlobalAgentId
from bilateral.x402.clients.purchase import Steps, make, make_async
from bilateral.x402.proof.errors import PaymentRefusedError
from bilateral.x402.proof.payments import unsupported_kind
from bilateral.x402.proof.profiles import PROFILE_8004, PROFILE_DRAFT, PROFILES, Profile, profile_among
from bilateral.x402.proof.types import ClientAgent
from bilateral.x402.proof.verifier import AsyncVerifier, Verifier

C = TypeVar("C", bound="x402Client | x402ClientSync")


class Reputation8004ClientExtension:
    """The extension to pass to `x402Client.register_extension`. `protect_client` registers it.

    Args:
        verifier: Checks servers: an `AsyncVerifier` for `x402Client`, or a `Verifier` for `x402ClientSync`.
        client_agent: The agent that this client claims to be. Servers check that the agent's wallet or owner pays.
    """

    transport_hooks = None

    profile: Profile = PROFILE_8004
    """The profile, which determines the format of the messages."""

    def __init__(self, verifier: Verifier | AsyncVerifier, client_agent: GlobalAgentId | None = None) -> None:
        self._verifier = verifier
        self._claim = None if client_agent is None else ClientAgent(client_agent)

    @property
    def key(self) -> str:
        """The extension's key in messages."""
        return self.profile.key

    @property
    def hooks(self) -> Any:
        """The payment lifecycle hooks: this object. The type is `Any`, because the SDK's types lack `AbortResult`."""
        return self

    def on_before_payment_creation(
        self, declaration: Any, context: PaymentCreationContext
    ) -> AbortResult | Coroutine[Any, Any, AbortResult | None] | None:
        """Check the server's agent. If the check fails, return an `AbortResult`, so that nothing is signed."""
        terms = context.selected_requirements
        if profile_among(getattr(context.payment_required, "extensions", None)) is not self.profile:
            return None  # the other profile is declared too, and is checked
        check = _checked(self._verifier, declaration, str(terms.network), str(terms.pay_to), self.profile)
        return make_async(check) if self._verifier.is_async else make(check)

    def refuse_undeclared(self, context: PaymentCreationContext) -> AbortResult | None:
        """Refuse to pay a server that does not declare the extension."""
        if PROFILES.keys() & (getattr(context.payment_required, "extensions", None) or {}).keys():
            return None
        return AbortResult("not_declared: the server does not declare 8004-reputation")

    def enrich_payment_payload(
        self, payment_payload: PaymentPayload, payment_required: PaymentRequired
    ) -> PaymentPayload:
        """Add the client's claim to be an agent, and an identifier with which a lost answer can be fetched again."""
        declared = payment_required.extensions or {}
        extensions = dict(payment_payload.extensions or {})
        if "payment-identifier" in declared:
            append_payment_identifier_to_extensions(extensions)
        declaration = declared.get(self.key)
        if self._claim is not None and isinstance(declaration, dict):
            info = {**(declaration.get("info") or {}), **self._claim.to_object()}
            extensions[self.key] = {**declaration, "info": info}
        return payment_payload.model_copy(update={"extensions": extensions or None})


class ReputationDraftClientExtension(Reputation8004ClientExtension):
    """The extension for servers that declare the upstream draft `reputation`. `protect_client` registers it."""

    profile = PROFILE_DRAFT


def _refuse_unsupported(context: PaymentCreationContext) -> AbortResult | None:
    code = _unsupported(context.selected_requirements)
    if code is None:
        return None
    return AbortResult(f"{code}: payments must use the scheme exact, by EIP-3009 or Permit2, or the scheme upto")


def _prefer_supported(_version: int, options: list[Any]) -> list[Any]:
    """Remove payment options that would be rejected, if the server also offers acceptable ones."""
    return [terms for terms in options if _unsupported(terms) is None] or options


def _unsupported(terms: Any) -> str | None:
    return unsupported_kind(terms.scheme, str(terms.network), terms.extra)


def protect_client(
    client: C, verifier: Verifier | AsyncVerifier, *, client_agent: GlobalAgentId | None = None, required: bool = True
) -> C:
    """Make an SDK client check each server before it signs a payment.

    Args:
        client: The SDK client.
        verifier: An `AsyncVerifier` for `x402Client`, or a `Verifier` for `x402ClientSync`.
        client_agent: The agent that this client claims to be.
        required: False to pay servers that do not declare the extension, without checking them.

    Returns:
        The client. If a check fails, the SDK raises `PaymentAbortedError` with the reason instead of paying.
    """
    extension = Reputation8004ClientExtension(verifier, client_agent)
    client.register_extension(extension)
    client.register_extension(ReputationDraftClientExtension(verifier, client_agent))
    client.register_policy(_prefer_supported)
    client.on_before_payment_creation(_refuse_unsupported)
    if required:
        client.on_before_payment_creation(extension.refuse_undeclared)
    return client


def _checked(verifier: Verifier | AsyncVerifier, *server: Any) -> Steps[AbortResult | None]:
    try:
        yield verifier.check_before_payment(*server)
    except PaymentRefusedError as error:
        return AbortResult(f"{error.code}: {error}")
    return None
