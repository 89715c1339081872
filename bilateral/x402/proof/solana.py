"""Reads agents in SATI and 8004-solana, two registries on Solana, for this extension's checks.

    verifier = Verifier({}, readers=[SolanaReader("https://api.mainnet-beta.solana.com", MAINNET)])
    routes = {"GET /weather": RouteConfig(..., extensions=declare_solana_reputation(mint, MAINNET))}

SATI differs from ERC-8004: nothing proves that the wallet's key consented, and transferring an agent does not clear its
wallet. The reader therefore rejects an agent if anyone except its holder controls its metadata. The registry
8004-solana does prove that wallets consented, but the reader rejects agents that were transferred outside the registry.
"""

from collections.abc import Collection
from contextlib import suppress
from copy import copy
from datetime import datetime
from typing import Any, Self

from bilateral.core.errors.solana import AgentRefusedError, SolanaError, SolanaPaymentError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId
from bilateral.node.steps import Operation
from bilateral.solana.addresses import DEVNET, MAINNET, SATI, TESTNET
from bilateral.solana.history import block_at, require_unchanged
from bilateral.solana.nodes import Commitment, SolanaNode
from bilateral.solana.payments import ExpectedPayment, find_payment
from bilateral.solana.registries import SATI_NAME, SolanaAgent, agent_registries
from bilateral.x402.proof.errors import PaymentRefusedError
from bilateral.x402.proof.payments import PaymentProblemError
from bilateral.x402.proof.profiles import PROFILE_8004, Profile, declaration_of
from bilateral.x402.proof.readers import registration_among
from bilateral.x402.proof.types import AgentRegistration, ReputationInfo
from bilateral.x402.proof.verdicts import Payment

__all__ = ["DEVNET", "MAINNET", "SATI", "TESTNET", "SatiReader", "SolanaReader", "declare_solana_reputation"]
__all__ += ["solana_registration"]


class SolanaReader:
    """Reads agents and payments on one Solana chain. See `RegistryReader`.

    `block` is a slot in all methods. Verifiers with and without an event loop may share a reader.

    Args:
        provider: The URL of a node.
        chain: The chain (CAIP-2), which the node must serve.
        commitment: `confirmed` or `finalized`.
        registries: The names of the registries that you trust, as in the address book; by default all registries on the
            chain. Other registries are rejected.

    Raises:
        MalformedIdentifierError: The chain is malformed.
        InvalidArgumentError: The chain is not a Solana chain, the commitment is invalid, or the address book has no
            such registry on the chain.
    """

    def __init__(
        self,
        provider: str,
        chain: str | ChainId,
        *,
        commitment: Commitment = "confirmed",
        registries: Collection[str] | None = None,
    ) -> None:
        self.provider = provider
        self.chain = chain if isinstance(chain, ChainId) else ChainId.parse(chain)
        self._node = SolanaNode(self.chain, commitment)
        self._registries = agent_registries(self.chain, registries)
        self._agents: dict[GlobalAgentId, SolanaAgent] | None = None

    def for_one_check(self) -> Self:
        """Return a reader for one verification. It reads each agent only once, so wallet and URI are consistent."""
        reader = copy(self)
        reader._agents = {}  # noqa: SLF001  # its own class
        return reader

    def trusted_registration(self, info: ReputationInfo) -> AgentRegistration:
        """Return a server's registration. Only the programs of the reader's registries are accepted.

        Raises:
            PaymentRefusedError: The server has no registration on this chain, or only in untrusted registries.
        """
        *registries, last = (AccountId(self.chain, program) for program in self._registries)
        for registry in registries:
            with suppress(PaymentRefusedError):
                return registration_among(info, registry, registry)
        return registration_among(info, last, last)

    def check_registries(self, registration: AgentRegistration) -> Operation[None]:  # noqa: ARG002  # the port's
        """Return immediately, because a single Solana program serves as both registries for its agents."""
        yield from ()

    def wallet(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return an agent's wallet.

        Raises:
            PaymentRefusedError: The agent failed verification, or its past state cannot be proven.
        """
        return (yield from self._read(agent, block)).wallet

    def uri(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return the URI of an agent's registration file. Raises the same errors as `wallet`."""
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
        transferred = transfer.authority, expected.payee, expected.asset
        return Payment(*transferred, payment.amount, payment.slot, transfer.index, payment.time)

    def block_at(self, as_of: datetime) -> Operation[int]:
        """Return the last block at or before a time."""
        return (yield from block_at(self._node, as_of))

    def agent(self, agent_id: str | GlobalAgentId) -> Operation[SolanaAgent]:
        """Return all on-chain data about an agent.

        Args:
            agent_id: The agent's mint or asset in the reader's first registry, or its global id.

        Raises:
            SolanaError: The agent failed verification, or its registry is not one of the reader's registries.
        """
        agent = agent_id
        if not isinstance(agent, GlobalAgentId):
            agent = GlobalAgentId(AccountId(self.chain, next(iter(self._registries))), agent)
        if agent.registry.chain != self.chain or agent.registry.address not in self._registries:
            raise AgentRefusedError(f"the registry {agent.registry} is not on the allow-list", "unknown_registry")
        agents = {} if self._agents is None else self._agents
        if agent not in agents:
            agents[agent] = yield from self._registries[agent.registry.address](self._node, agent.agent)
        return agents[agent]

    def remarks(self, agent: GlobalAgentId) -> tuple[str, ...]:
        """Return remarks about an agent, to be added to a verification."""
        cached = (self._agents or {}).get(agent)
        return () if cached is None else (f"the wallet is from: {cached.wallet_source}", *cached.remarks)

    def _read(self, agent: GlobalAgentId, block: int | None) -> Operation[SolanaAgent]:
        try:
            agent_now = yield from self.agent(agent)
            if block is not None:
                yield from require_unchanged(self._node, agent_now, block)
        except SolanaError as error:
            raise PaymentRefusedError(error.code, str(error)) from None
        return agent_now


class SatiReader(SolanaReader):
    """Reads only SATI agents. See `SolanaReader`."""

    def __init__(self, provider: str, chain: str | ChainId, *, commitment: Commitment = "confirmed") -> None:
        super().__init__(provider, chain, commitment=commitment, registries=(SATI_NAME,))


def solana_registration(agent: str, chain: str | ChainId, registry: str = SATI_NAME) -> AgentRegistration:
    """Return a Solana agent's registration for use in a declaration.

    Args:
        agent: The agent's mint, or its asset.
        chain: The chain (CAIP-2).
        registry: The name of the agent's registry in the address book, `SATI` or `8004-solana`.

    Raises:
        MalformedIdentifierError: The agent or the chain is malformed.
        InvalidArgumentError: The address book has no such registry on the chain.
    """
    place = chain if isinstance(chain, ChainId) else ChainId.parse(chain)
    (program,) = agent_registries(place, (registry,))
    return AgentRegistration(GlobalAgentId(AccountId(place, program), agent), AccountId(place, program))


def declare_solana_reputation(  # the agent, and the options of a declaration
    agent: str,
    chain: str | ChainId,
    *others: AgentRegistration,
    registry: str = SATI_NAME,
    profile: Profile = PROFILE_8004,
    endpoint: str | None = None,
) -> dict[str, Any]:
    """Return the declaration for a Solana agent's route, to be used as `RouteConfig.extensions`.

    Args:
        agent: The agent's mint, or its asset.
        chain: The chain (CAIP-2).
        *others: The agent's registrations on additional chains, one per chain.
        registry: The name of the agent's registry in the address book, `SATI` or `8004-solana`.
        profile: The profile, which determines the format of the messages.
        endpoint: The service's URL.

    Raises:
        MalformedIdentifierError: The agent or the chain is malformed.
        InvalidArgumentError: Two registrations are on the same chain, or the address book has no such registry on the
            chain.
        InvalidMessageError: The URL is malformed.
    """
    own = solana_registration(agent, chain, registry)
    return declaration_of(own, *others, profile=profile, endpoint=endpoint)
