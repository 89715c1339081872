"""Verifiers, which perform a client's checks: one blocking, one asynchronous.

Example:
    verifier = AsyncVerifier({"https://rpc.example": deployment})
    registration = await verifier.check_before_payment(declaration, "eip155:8453", pay_to)
    verification = await verifier.verify(paid)
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from bilateral.client.state import ClientState
from bilateral.core.contracts import Deployment
from bilateral.core.errors import BilateralError, InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import ChainId
from bilateral.core.text import quoted
from bilateral.documents import Loader, Signer
from bilateral.node.closing import AsyncClosing, Closing
from bilateral.node.running import AsyncStepRunner, StepRunner
from bilateral.node.steps import Operation, Pause, run, run_async
from bilateral.node.transport import AsyncProvider, AsyncTransport, Provider, Transport
from bilateral.x402.proof import checking
from bilateral.x402.proof.checking import FileCache, Terms, VerifiedClient
from bilateral.x402.proof.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.proof.examination import POLL_SECONDS, Examination, joined
from bilateral.x402.proof.payments import PaymentProblemError
from bilateral.x402.proof.profiles import PROFILE_8004, Profile
from bilateral.x402.proof.readers import EvmReader, GuardedReader, RegistryReader, deployment_of
from bilateral.x402.proof.settlements import Settlement
from bilateral.x402.proof.types import AgentRegistration, ClientAgent, ReputationInfo
from bilateral.x402.proof.verdicts import Check, CheckName, Outcome, PaidRequest, Verification

P = TypeVar("P")
_T = TypeVar("_T")
R = TypeVar("R")

Plan: TypeAlias = Generator[tuple[str, Operation[Any]], Any, _T]
"""A generator that yields operations, each with the chain whose node it queries, and returns a `_T`."""

RECEIPT_SECONDS: Final = 15.0
"""The maximum number of seconds to wait for a payment's receipt: a block on the slowest chain takes twelve seconds."""

_UNSUPPORTED: Final = Settlement(None, problem="payments of this kind, or on this chain, cannot be looked up")


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise a rejection if a check cannot be performed, so that verification fails closed."""
    try:
        yield
    except PaymentRefusedError:
        raise
    except BilateralError as error:
        problem = f"the agent cannot be checked: {type(error).__name__}: {error}"
        raise PaymentRefusedError("cannot_check", problem) from error


class Chains:
    """The supported chains, each with its reader and checks. Only the readers' registries are trusted."""

    def __init__(
        self, deployments: Iterable[Deployment], readers: Iterable[RegistryReader], files: FileCache, terms: Terms
    ) -> None:
        self.files, self.terms = files, terms
        self.states: dict[str, ClientState] = {}
        self.readers: dict[str, RegistryReader] = {}
        for deployment in deployments:
            state = ClientState(requested=deployment)
            self._add(EvmReader(state, terms.confirmations))
            self.states[str(deployment.agent_registry.chain)] = state
        for plugged in readers:
            self._add(cast("RegistryReader", GuardedReader(plugged)))

    def _add(self, reader: RegistryReader) -> None:
        network = str(reader.chain)
        if network in self.readers:
            raise InvalidArgumentError(f"two deployments are on {network}: pass one per chain")
        self.readers[network] = reader

    def reader(self, network: str) -> RegistryReader:
        """Return a chain's reader."""
        if network not in self.readers:
            problem = f"{quoted(network[:80])} cannot be checked; supported: {', '.join(self.readers) or 'none'}"
            raise PaymentRefusedError("unsupported_network", problem)
        return self.readers[network]

    def identity_network(self, info: ReputationInfo | None, network: str) -> str:
        """Return the chain on which a server's identity is checked.

        This is normally the payment's chain. If the server has no agent there and `wallet_services` is set, it is the
        first chain with a reader on which the server has an agent.
        """
        if self.terms.wallet_services and info is not None and info.registration_on(network) is None:
            chains = (str(registration.chain) for registration in info.registrations)
            return next((chain for chain in chains if chain in self.readers), network)
        return network

    def before_payment(self, declaration: Any, network: str, pay_to: str, profile: Profile) -> Plan[AgentRegistration]:
        """Check a server before a payment."""
        with _refusals():
            try:
                info = profile.info_of(declaration)
                identity = self.identity_network(info, network)
                reader, payee = self.reader(identity), (ChainId.parse(network), pay_to)
            except InvalidMessageError as error:
                raise PaymentRefusedError("invalid_declaration", str(error)) from None
            except MalformedIdentifierError as error:
                raise PaymentRefusedError("unsupported_network", str(error)) from None
            check = checking.check_before_payment(reader, self.files, info, payee, self.terms)
            registration: AgentRegistration = yield identity, check
        return registration

    def verify(self, paid: PaidRequest, *, is_historical: bool) -> Plan[Verification]:
        """Examine a paid answer. On a network without a reader, all checks remain unchecked."""
        try:
            info = paid.profile.info_of(paid.declaration)
        except InvalidMessageError:
            info = None  # the examination reports the problem
        identity = self.identity_network(info, paid.network)
        try:
            agents = self.reader(identity)
        except PaymentRefusedError as error:
            checks = tuple(Check(name, Outcome.UNCHECKED, str(error), error.code) for name in CheckName)
            now = Verification(checks, request_target=paid.target, profile=paid.profile.key, paid=paid)
            return replace(now, is_historical=True, now=now) if is_historical else now
        examination = Examination(agents, self.files, paid, replace(self.terms, is_historical=is_historical))
        payments = self.readers.get(paid.network)
        yield identity if payments is None else paid.network, examination.check_payment(payments)
        variants = examination.variants
        for variant in variants:
            yield identity, variant.check_agent()
        return joined(variants)

    def listed_keys(self, info: ReputationInfo, network: str) -> Plan[list[Signer]]:
        """Read the valid keys of a server's agent."""
        identity = self.identity_network(info, network)
        with _refusals():
            reader = self.reader(identity)
            registration = reader.trusted_registration(info)
            keys: list[Signer] = yield identity, checking.listed_keys(reader, self.files, registration)
        return keys

    def on_evm(self, terms: Mapping[str, Any], check: Operation[_T]) -> Plan[_T | None]:
        """Perform a check on a price's chain. Return None if the verifier has no deployment on that chain."""
        network = str(terms.get("network"))
        if network not in self.states:
            return None
        with _refusals():
            checked: _T = yield network, check
        return checked

    def find_settlement(self, payment: Mapping[str, Any], seconds: float | None = None) -> Plan[Settlement]:
        """Look up whether a payment was settled, and wait for its settlement."""
        accepted, payload = payment.get("accepted"), payment.get("payload")
        if not isinstance(accepted, dict) or not isinstance(payload, dict):
            return _UNSUPPORTED
        network = str(accepted.get("network"))
        find = getattr(self.readers.get(network), "find_settlement", None)
        if find is None:
            return _UNSUPPORTED
        end = time.monotonic() + (self.terms.receipt_seconds if seconds is None else seconds)

        def wait() -> Operation[Settlement]:
            while True:
                settlement: Settlement = yield from find(accepted, payload)
                left = end - time.monotonic()
                if settlement.is_paid is not False or settlement.is_expired or left <= 0:
                    return settlement
                yield Pause(min(POLL_SECONDS, left))

        try:
            settled: Settlement = yield network, wait()
        except BilateralError as error:
            return Settlement(None, problem=f"{type(error).__name__}: {error}")
        return settled

    def find_settled(self, payment: Mapping[str, Any]) -> Plan[Settlement | None]:
        """Find the settlement whose transaction made exactly this payment."""
        accepted = payment["accepted"]
        reader = self.readers.get(str(accepted.get("network")))
        settlement = yield from self.find_settlement(payment, 0)
        if reader is None or settlement.transaction is None:
            return None
        find = reader.find_payment(accepted, payment["payload"], settlement.transaction, self.terms.confirmations)
        try:
            yield str(reader.chain), find
        except (BilateralError, PaymentProblemError):
            return None
        return settlement

    def check_client(
        self, claim: ClientAgent, payer: str, server_agent: int, indexed_rating: int | None
    ) -> Plan[VerifiedClient]:
        """Check a client's claim to be an agent."""
        network = str(claim.agent.registry.chain)
        with _refusals():
            self.reader(network)
            if network not in self.states:
                raise PaymentRefusedError("unsupported_network", f"client ratings cannot be checked on {network}")
            check = checking.check_client(self.states[network], claim, payer, server_agent, indexed_rating)
            client: VerifiedClient = yield network, check
        return client


class _Connected(Generic[P, _T, R]):
    """A verifier's chains, and its connections to them."""

    _transport: Callable[[str | P, float], _T]
    _runner: Callable[[_T | None], R]

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
        nodes = {str(deployment.agent_registry.chain): rpc for rpc, deployment in deployments.items()}
        for network, reader in self._chains.readers.items():
            if (provider := getattr(reader, "provider", None)) is not None:
                nodes[network] = provider
        self._transports = {network: self._transport(rpc, request_timeout) for network, rpc in nodes.items()}
        self._runners = {network: self._runner(self._transports.get(network)) for network in self._chains.readers}

    def deployment_on(self, network: str) -> Deployment | None:
        """Return the trusted deployment on an EVM chain (CAIP-2), or None."""
        state = self._chains.states.get(network)
        return None if state is None else deployment_of(state)


class Verifier(_Connected[Provider, Transport, StepRunner], Closing):
    """Checks servers before a payment and their answers after it. Threads may share it.

    Args:
        deployments: The registries that you trust on each chain, keyed by the URL of a node (or by a provider) for that
            chain. Any other registry is rejected, because a fake registry could report a fake wallet.
        readers: Plug-ins that read additional chains. See `bilateral.x402.proof.readers`.
        loader: Loads registration files.
        confirmations: The number of blocks that must confirm a payment, including its own, before its proof is
            verified.
        allow_wallet_signer: True to accept the signature of an agent's wallet if the agent's file lists no keys.
        wallet_services: True to accept wallets on chains other than the one on which the agent is registered, if the
            agent's file lists them as `agentWallet` services.
        request_timeout: The maximum time for one request to a node, in seconds.
        receipt_seconds: The maximum time to wait for a payment's receipt and confirmations, in seconds. Nodes lag, and
            an Ethereum block takes 12 seconds. To check again later, call `verify` with `Verification.paid`.

    Raises:
        InvalidArgumentError: Two deployments are on the same chain, or one has no reputation registry.
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
            declaration: The server's declaration, `extensions["8004-reputation"]` in its 402 response.
            network: The chosen network (CAIP-2).
            pay_to: The address to which the server requests payment.
            profile: The profile of the declaration.

        Returns:
            The server's agent on that network.

        Raises:
            PaymentRefusedError: The payment must not be made, or the server cannot be checked. The error's `code` is
                the reason.
        """
        return self._run(self._chains.before_payment(declaration, network, pay_to, profile))

    def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Check a paid answer ("Post-Service Signature Verification"). Failures are returned, not raised.

        Args:
            paid: The request with its payment and answer.
            historical: True to check the agent's keys and file as of the payment's block instead of now. The result's
                `now` is the verification as of now.
        """
        return self._run(self._chains.verify(paid, is_historical=historical))

    def listed_keys(self, info: ReputationInfo, network: str) -> list[Signer]:
        """Return the currently valid keys of a server's agent.

        Raises:
            PaymentRefusedError: The agent or its file cannot be checked, or the file lists no valid key.
        """
        return self._run(self._chains.listed_keys(info, network))

    def check_token(self, terms: Mapping[str, Any]) -> None:
        """Check that a price's token supports the payments that the price requires. Skip chains read by plug-ins.

        Args:
            terms: The terms in x402's format.

        Raises:
            PaymentRefusedError: The token does not support these payments, or cannot be checked.
        """
        self._run(self._chains.on_evm(terms, checking.check_token(terms)))

    def missing_contracts(self, terms: Mapping[str, Any]) -> list[str]:
        """Return the contracts that Permit2 payments require but that are missing on a price's chain.

        Args:
            terms: The terms in x402's format. Payments of other kinds need no contract except the token.

        Raises:
            PaymentRefusedError: The chain cannot be read.
        """
        return self._run(self._chains.on_evm(terms, checking.missing_contracts(terms))) or []

    def find_settlement(self, payment: Mapping[str, Any], *, seconds: float | None = None) -> Settlement:
        """Look up whether a payment was settled. Failures are returned, not raised.

        Args:
            payment: The payment payload that was sent, as a JSON object.
            seconds: How long to wait for a payment that is not yet settled; `receipt_seconds` by default.
        """
        return self._run(self._chains.find_settlement(payment, seconds))

    def find_settled(self, payment: Mapping[str, Any]) -> Settlement | None:
        """Return the settlement whose transaction made exactly this payment; None if there is none on chain.

        Args:
            payment: The payment payload, with the seller's terms as `accepted`.
        """
        return self._run(self._chains.find_settled(payment))

    def check_client(
        self, claim: ClientAgent, payer: str, server_agent: int, *, indexed_rating: int | None = None
    ) -> VerifiedClient:
        """Check a client's claim to be an agent, and read its rating by a server.

        Args:
            payer: The account that pays, as verified by the facilitator.
            server_agent: The server's agent on the same chain.
            indexed_rating: The rating, if an index has already returned it; ratings are final. If omitted, the chain is
                queried.

        Raises:
            PaymentRefusedError: The registry is not trusted, or the payer is neither the agent's wallet nor its owner.
        """
        return self._run(self._chains.check_client(claim, payer, server_agent, indexed_rating))

    def run_on(self, network: str, operation: Operation[_T]) -> _T:
        """Run an operation on the node for a network (CAIP-2).

        Raises:
            PaymentRefusedError: There is no node for the network.
        """
        self._chains.reader(network)
        return self._runners[network].run(operation)

    def _run(self, plan: Plan[_T]) -> _T:
        return run(plan, lambda step: self._runners[step[0]].run(step[1]))


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
        return await self._run(self._chains.before_payment(declaration, network, pay_to, profile))

    async def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Check a paid answer. See `Verifier.verify`."""
        return await self._run(self._chains.verify(paid, is_historical=historical))

    async def find_settlement(self, payment: Mapping[str, Any], *, seconds: float | None = None) -> Settlement:
        """Look up whether a payment was settled. See `Verifier.find_settlement`."""
        return await self._run(self._chains.find_settlement(payment, seconds))

    async def check_client(
        self, claim: ClientAgent, payer: str, server_agent: int, *, indexed_rating: int | None = None
    ) -> VerifiedClient:
        """Check a client's claim to be an agent. See `Verifier.check_client`."""
        return await self._run(self._chains.check_client(claim, payer, server_agent, indexed_rating))

    async def _run(self, plan: Plan[_T]) -> _T:
        return await run_async(plan, lambda step: self._runners[step[0]].run(step[1]))
