"""Agents of SATI on Solana, read for the checks of this extension.

    reader = SatiReader("https://api.mainnet-beta.solana.com", MAINNET)
    verifier = Verifier({}, readers=[reader])
    routes = {"GET /weather": RouteConfig(..., extensions=declare_sati_reputation(mint, MAINNET))}

SATI differs from ERC-8004: nobody proves that the wallet's key agreed, and a transfer does not clear the wallet. The
reader therefore refuses an agent whose metadata somebody else than its holder controls.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from bilateral.errors.solana import SolanaError, SolanaPaymentError
from bilateral.identifiers import AccountId, ChainId, GlobalAgentId
from bilateral.solana.addresses import DEVNET, MAINNET, SATI, TESTNET
from bilateral.solana.history import block_at, require_unchanged
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.payments import ExpectedPayment, find_payment
from bilateral.solana.reading import read_agent
from bilateral.x402.declarations import declaration_of
from bilateral.x402.errors import PaymentRefusedError
from bilateral.x402.payments import PaymentProblemError
from bilateral.x402.profiles import PROFILE_8004, Profile
from bilateral.x402.readers import registration_among
from bilateral.x402.types import AgentRegistration
from bilateral.x402.verdicts import Payment

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from bilateral.node.steps import Operation
    from bilateral.solana.nodes import Commitment
    from bilateral.solana.sati import SatiAgent
    from bilateral.x402.types import ReputationInfo

__all__ = [
    "DEVNET",
    "MAINNET",
    "SATI",
    "TESTNET",
    "SatiReader",
    "declare_sati_reputation",
    "sati_registration",
]

T = TypeVar("T")


class SatiReader:
    """Reads agents of SATI and payments on one chain of Solana. See `bilateral.x402.readers.RegistryReader`.

    `block` in its methods is a slot. Verifiers with and without an event loop may share a reader.

    Args:
        provider: The URL of a node.
        chain: The chain (CAIP-2). The node must be of it.
        commitment: `confirmed` or `finalized`.

    Raises:
        MalformedIdentifierError: The chain is malformed.
        InvalidArgumentError: The chain is not on Solana, or the commitment is another one.
    """

    def __init__(self, provider: str, chain: str | ChainId, *, commitment: Commitment = "confirmed") -> None:
        """See the class."""
        self.provider = provider
        self.chain = chain if isinstance(chain, ChainId) else ChainId.parse(chain)
        self._node = SolanaNode(self.chain, commitment)
        self._agents: dict[str, SatiAgent] | None = None

    def for_one_check(self) -> Self:
        """Return a reader for one verification. It reads each agent once, so that wallet and URI belong together."""
        reader = copy(self)
        reader._agents = {}
        return reader

    def known_registration(self, info: ReputationInfo) -> AgentRegistration:
        """Return a server's registration. SATI's program is the allow-list."""
        registry = AccountId(self.chain, SATI)
        return registration_among(info, registry, registry)

    def check_registries(self, registration: AgentRegistration) -> Operation[None]:  # noqa: ARG002  # the port's
        """Return at once: SATI is both registries of its agents."""
        yield from ()

    def wallet(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return an agent's wallet.

        Raises:
            PaymentRefusedError: The agent cannot be believed, or its past is not provable.
        """
        return (yield from self._read(agent, block)).wallet

    def uri(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return the URI of an agent's registration file. Its errors are those of `wallet`."""
        return (yield from self._read(agent, block)).uri

    def find_payment(
        self, accepted: dict[str, Any], payload: dict[str, Any], transaction: str, confirmations: int
    ) -> Operation[Payment]:
        """Find a payment by its transaction."""
        try:
            expected = ExpectedPayment.of(accepted, payload)
            payment = yield from find_payment(self._node, expected, transaction, confirmations)
        except SolanaPaymentError as error:
            raise PaymentProblemError(str(error), error.code, is_final=error.is_final) from None
        transfer = expected.signed.transfer
        return Payment(
            payer=transfer.authority,
            payee=expected.payee,
            asset=expected.asset,
            amount=payment.amount,
            block=payment.slot,
            log_index=transfer.index,
            time=payment.time,
        )

    def block_at(self, moment: datetime) -> Operation[int]:
        """Return the last block that is not later than a moment."""
        return (yield from block_at(self._node, moment))

    def agent(self, mint: str) -> Operation[SatiAgent]:
        """Return everything that the chain says about an agent.

        Raises:
            SolanaError: The agent cannot be believed.
        """
        if self._agents is None:
            return (yield from read_agent(self._node, mint))
        if mint not in self._agents:
            self._agents[mint] = yield from read_agent(self._node, mint)
        return self._agents[mint]

    def remarks(self, agent: GlobalAgentId) -> tuple[str, ...]:
        """Return what a verification says about an agent that it read, beside its outcome."""
        known = (self._agents or {}).get(agent.agent)
        return () if known is None else (f"the wallet is from: {known.wallet_source}", *known.remarks)

    def _read(self, agent: GlobalAgentId, block: int | None) -> Operation[SatiAgent]:
        """Read an agent, as it is or as it was at the end of a slot."""
        try:
            agent_now = yield from self.agent(agent.agent)
            if block is not None:
                yield from require_unchanged(self._node, agent_now, block)
        except SolanaError as error:
            raise PaymentRefusedError(error.code, str(error)) from None
        return agent_now


def sati_registration(mint: str, chain: str | ChainId) -> AgentRegistration:
    """Return the registration of an agent of SATI, for a declaration.

    Args:
        mint: The agent's mint.
        chain: The chain (CAIP-2).

    Raises:
        MalformedIdentifierError: The mint or the chain is malformed.
    """
    registry = AccountId(chain if isinstance(chain, ChainId) else ChainId.parse(chain), SATI)
    return AgentRegistration(GlobalAgentId(registry, mint), registry)


def declare_sati_reputation(
    mint: str,
    chain: str | ChainId,
    *others: AgentRegistration,
    profile: Profile = PROFILE_8004,
    endpoint: str | None = None,
) -> dict[str, Any]:
    """Declare the extension for a route of an agent of SATI: the value of `RouteConfig.extensions`.

    Args:
        mint: The agent's mint.
        chain: The chain (CAIP-2).
        *others: The agent's registrations on further chains, one a chain.
        profile: The form of the messages.
        endpoint: The URL of the service.

    Raises:
        MalformedIdentifierError: The mint or the chain is malformed.
        InvalidArgumentError: Two registrations are on one chain.
        InvalidMessageError: The URL is malformed.
    """
    return declaration_of(sati_registration(mint, chain), *others, profile=profile, endpoint=endpoint)
