"""Verifiers: the checks of a client, for programs that block and for event loops.

verifier = AsyncVerifier({"https://rpc.example": deployment})
registration = await verifier.check_before_payment(declaration, "eip155:8453", pay_to)
verification = await verifier.verify(paid)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from bilateral.core.contracts import Deployment
from bilateral.core.errors import BilateralError
from bilateral.documents import Loader, Signer
from bilateral.node.closing import AsyncClosing, Closing
from bilateral.node.running import AsyncStepRunner, StepRunner
from bilateral.node.transport import AsyncProvider, AsyncTransport, Provider, Transport
from bilateral.x402.proof.checking import FileCache, Terms, listed_keys
from bilateral.x402.proof.client_claims import VerifiedClient, check_client
from bilateral.x402.proof.errors import PaymentRefusedError, refused
from bilateral.x402.proof.examination import joined
from bilateral.x402.proof.paid_requests import PaidRequest
from bilateral.x402.proof.payments import PaymentProblemError, Settlement
from bilateral.x402.proof.profiles import PROFILE_8004, Profile
from bilateral.x402.proof.readers import RegistryReader
from bilateral.x402.proof.tokens import check_token
from bilateral.x402.proof.types import AgentRegistration, ClientAgent, ReputationInfo
from bilateral.x402.proof.undelivered import UNSUPPORTED, settlement_lookup
from bilateral.x402.proof.verdicts import Verification
from bilateral.x402.proof.verifier_chains import Chains

P = TypeVar("P")
T = TypeVar("T")
R = TypeVar("R")

RECEIPT_SECONDS: Final = 15.0
"""The longest wait for the receipt of a payment: a block of the slowest chain takes twelve."""


class _Connected(Generic[P, T, R]):
    """The chains of a verifier, and its connections to them."""

    _transport: Callable[[str | P, float], T]
    _runner: Callable[[T | None], R]

    def __init__(  # noqa: PLR0913  # settings, all but one with a default
        self,
        deployments: Mapping[str | P, Deployment],
        *,
        readers: Sequence[RegistryReader] = (),
        loader: Loader | None = None,
        confirmations: int = 1,
        allow_wallet_signer: bool = False,
        wallet_services: bool = False,
        request_timeout: float = 30.0,
        receipt_seconds: float = RECEIPT_SECONDS,
    ) -> None:
        terms = Terms(confirmations, False, allow_wallet_signer, wallet_services, receipt_seconds)
        self._chains = Chains(deployments.values(), readers, FileCache(loader or Loader()), terms)
        self._transports = {
            str(deployment.agent_registry.chain): self._transport(rpc, request_timeout)
            for rpc, deployment in deployments.items()
        }
        for network, url in self._chains.providers.items():
            self._transports[network] = self._transport(url, request_timeout)
        self._runners: dict[str, R] = {
            network: self._runner(self._transports.get(network)) for network in self._chains.readers
        }

    def deployment_on(self, network: str) -> Deployment | None:
        """Return the trusted deployment on an EVM chain (CAIP-2), or None."""
        return self._chains.deployments.get(network)


class Verifier(_Connected[Provider, Transport, StepRunner], Closing):
    """Checks servers before a payment and their answers after it. Threads may share it.

    Args:
        deployments: The registries that you trust on each chain, by the URL of a node (or a provider) for that chain.
            Any other registry is refused: a fake registry could name a fake wallet.
        readers: Plug-ins that read further chains, such as Solana. See `bilateral.x402.proof.readers`.
        loader: Loads registration files.
        confirmations: The number of blocks that must hold or follow a payment before its proof is verified.
        allow_wallet_signer: True to accept the signature of an agent's wallet if its registration file lists no keys.
        wallet_services: True to accept wallets on other chains than that of the agent's identity, which its file names
            as services `agentWallet`.
        request_timeout: Seconds for one request to a node.
        receipt_seconds: The longest wait for the receipt of a payment, and for its confirmations: nodes lag, and a
            block of Ethereum takes 12 seconds. A later `verify` of `Verification.paid` looks again.

    Raises:
        InvalidArgumentError: Two deployments are on one chain, or one has no reputation registry.
    """

    is_async = False
    _transport, _runner = Transport, StepRunner

    def close(self) -> None:
        """Close the connections to the nodes."""
        for transport in self._transports.values():
            transport.close()

    def check_before_payment(
        self, declaration: Any, network: str, pay_to: str, profile: Profile = PROFILE_8004
    ) -> AgentRegistration:
        """Check a server before anything is signed ("Pre-Payment Verification").

        Args:
            declaration: The server's declaration, `extensions["8004-reputation"]` of its 402 response.
            network: The chosen network (CAIP-2).
            pay_to: The address that the server wants to be paid.
            profile: The profile of the declaration.

        Returns:
            The server's agent on that network.

        Raises:
            PaymentRefusedError: The payment must not be made, or the server cannot be checked. See its `code`.
        """
        try:
            identity, operation = self._chains.before_payment(declaration, network, pay_to, profile)
            return self._runners[identity].run(operation)
        except BilateralError as error:
            raise refused(error) from error

    def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Check a paid answer ("Post-Service Signature Verification"). Failures are results, not exceptions.

        Args:
            paid: The request, its payment and its answer.
            historical: True to judge the agent's keys and file at the block of the payment instead of now. The result
                has the verification for now too, as `now`.
        """
        try:
            identity, examination = self._chains.after_payment(paid, is_historical=historical)
        except PaymentRefusedError as error:
            return self._chains.unchecked(paid, error, is_historical=historical)
        reader = self._chains.readers.get(paid.network)
        self._runners[identity if reader is None else paid.network].run(examination.check_payment(reader))
        moments = examination.moments
        for moment in moments:
            self._runners[identity].run(moment.check_agent())
        return joined(moments)

    def listed_keys(self, info: ReputationInfo, network: str) -> list[Signer]:
        """Return the keys of a server's agent that are valid now.

        Raises:
            PaymentRefusedError: The agent or its file cannot be checked, or the file lists no valid key.
        """
        identity = self._chains.identity_network(info, network)
        try:
            reader = self._chains.reader(identity)
            operation = listed_keys(reader, self._chains.files, reader.known_registration(info))
            return self._runners[identity].run(operation)
        except BilateralError as error:
            raise refused(error) from error

    def check_token(self, terms: Mapping[str, Any]) -> None:
        """Check that the token of a price takes the payments that it asks for. Chains behind plug-ins are left out.

        Args:
            terms: The terms, as x402 writes them.

        Raises:
            PaymentRefusedError: It does not, or it cannot be checked. See `bilateral.x402.proof.tokens`.
        """
        network = str(terms.get("network"))
        if network not in self._chains.deployments:
            return
        try:
            self._runners[network].run(check_token(terms))
        except BilateralError as error:
            raise refused(error) from error

    def find_settlement(self, payment: Mapping[str, Any], *, seconds: float | None = None) -> Settlement:
        """Look up whether a payment was taken. Failure is returned, not raised.

        Args:
            payment: The payment payload that was sent, as a JSON object.
            seconds: The time to wait for a payment that was not taken yet; `receipt_seconds` by default.
        """
        seconds = self._chains.terms.receipt_seconds if seconds is None else seconds
        lookup = settlement_lookup(self._chains.readers, payment, seconds)
        if lookup is None:
            return UNSUPPORTED
        try:
            return self._runners[lookup[0]].run(lookup[1])
        except BilateralError as error:
            return Settlement(None, problem=f"{type(error).__name__}: {error}")

    def find_settling_transaction(self, payment: Mapping[str, Any]) -> str | None:
        """Return the transaction that made exactly this payment, for its seller; None if the chain shows none.

        Args:
            payment: The payment payload, with the seller's terms as `accepted`.
        """
        reader = self._chains.readers.get(str(payment["accepted"].get("network")))
        transaction = self.find_settlement(payment, seconds=0).transaction
        if reader is None or transaction is None:
            return None
        try:
            self._runners[str(reader.chain)].run(
                reader.find_payment(
                    payment["accepted"], payment["payload"], transaction, self._chains.terms.confirmations
                )
            )
        except (BilateralError, PaymentProblemError):
            return None
        return transaction

    def check_client(
        self, claim: ClientAgent, payer: str, server_agent: int, *, known_rating: int | None = None
    ) -> VerifiedClient:
        """Check a client's claim to be an agent, and read the rating that a server gave it.

        Args:
            payer: The account that pays, as the facilitator verified it.
            server_agent: The server's agent on the same chain.
            known_rating: The rating, if an index has it; it is final. Without it, the chain is asked.

        Raises:
            PaymentRefusedError: The registry is not on the allow-list, or the payer is not the agent's wallet or owner.
        """
        network = str(claim.agent.registry.chain)
        try:
            operation = check_client(self._chains.state(network), claim, payer, server_agent, known_rating)
            return self._runners[network].run(operation)
        except BilateralError as error:
            raise refused(error) from error


class AsyncVerifier(_Connected[AsyncProvider, AsyncTransport, AsyncStepRunner], AsyncClosing):
    """Checks servers before a payment and their answers after it, without blocking. See `Verifier`."""

    is_async = True
    _transport, _runner = AsyncTransport, AsyncStepRunner

    async def close(self) -> None:
        """Close the connections to the nodes."""
        for transport in self._transports.values():
            await transport.close()

    async def check_before_payment(
        self, declaration: Any, network: str, pay_to: str, profile: Profile = PROFILE_8004
    ) -> AgentRegistration:
        """Check a server before anything is signed. See `Verifier.check_before_payment`."""
        try:
            identity, operation = self._chains.before_payment(declaration, network, pay_to, profile)
            return await self._runners[identity].run(operation)
        except BilateralError as error:
            raise refused(error) from error

    async def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Check a paid answer. See `Verifier.verify`."""
        try:
            identity, examination = self._chains.after_payment(paid, is_historical=historical)
        except PaymentRefusedError as error:
            return self._chains.unchecked(paid, error, is_historical=historical)
        reader = self._chains.readers.get(paid.network)
        await self._runners[identity if reader is None else paid.network].run(examination.check_payment(reader))
        moments = examination.moments
        for moment in moments:
            await self._runners[identity].run(moment.check_agent())
        return joined(moments)

    async def find_settlement(self, payment: Mapping[str, Any], *, seconds: float | None = None) -> Settlement:
        """Look up whether a payment was taken. See `Verifier.find_settlement`."""
        seconds = self._chains.terms.receipt_seconds if seconds is None else seconds
        lookup = settlement_lookup(self._chains.readers, payment, seconds)
        if lookup is None:
            return UNSUPPORTED
        try:
            return await self._runners[lookup[0]].run(lookup[1])
        except BilateralError as error:
            return Settlement(None, problem=f"{type(error).__name__}: {error}")

    async def check_client(
        self, claim: ClientAgent, payer: str, server_agent: int, *, known_rating: int | None = None
    ) -> VerifiedClient:
        """Check a client's claim to be an agent. See `Verifier.check_client`."""
        network = str(claim.agent.registry.chain)
        try:
            operation = check_client(self._chains.state(network), claim, payer, server_agent, known_rating)
            return await self._runners[network].run(operation)
        except BilateralError as error:
            raise refused(error) from error
