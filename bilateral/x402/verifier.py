"""Verifiers: the checks of a client, for programs that block and for event loops.

verifier = AsyncVerifier({"https://rpc.example": deployment})
registration = await verifier.check_before_payment(declaration, "eip155:8453", pay_to)
verification = await verifier.verify(paid)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from bilateral.client.state import ClientState
from bilateral.documents import Loader
from bilateral.errors import BilateralError, InvalidArgumentError
from bilateral.node.steps import Batch, Blocking, Rpc
from bilateral.node.transport import AsyncProvider, AsyncTransport, Provider, Transport
from bilateral.x402.checking import FileCache, PaidRequest, Terms, check_before_payment
from bilateral.x402.checking import verify as verify_operation
from bilateral.x402.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.standing import ClientStanding, check_client
from bilateral.x402.types import ReputationInfo
from bilateral.x402.verdicts import Check, CheckName, Outcome, Verification

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from bilateral.contracts import Deployment
    from bilateral.node.steps import Operation
    from bilateral.x402.types import AgentRegistration, ClientAgent

T = TypeVar("T")


class _Chains:
    """The chains that a verifier knows. Their deployments are its allow-list of registries."""

    def __init__(self, deployments: Iterable[Deployment], loader: Loader | None) -> None:
        self.files = FileCache(loader or Loader())
        self.states: dict[str, ClientState] = {}
        for deployment in deployments:
            network = str(deployment.agent_registry.chain)
            if network in self.states:
                raise InvalidArgumentError(f"two deployments are on {network}: give one a chain")
            if deployment.reputation is None:
                raise InvalidArgumentError(f"the deployment on {network} has no reputation registry")
            self.states[network] = ClientState(given=deployment)

    def state(self, network: str) -> ClientState:
        """Return the state of a chain.

        Raises:
            PaymentRefusedError: The verifier does not know the chain.
        """
        if network not in self.states:
            known = ", ".join(self.states) or "none"
            raise PaymentRefusedError("unsupported_network", f"{network[:80]} cannot be checked; known: {known}")
        return self.states[network]

    def before_payment(self, declaration: Any, network: str, pay_to: str) -> Operation[AgentRegistration]:
        """Return the operation that checks a server before a payment.

        Raises:
            PaymentRefusedError: The declaration is malformed, or the network unknown.
        """
        try:
            info = ReputationInfo.of(declaration)
        except InvalidMessageError as error:
            raise PaymentRefusedError("invalid_declaration", str(error)) from None
        return check_before_payment(self.state(network), info, pay_to)

    def after_payment(self, paid: PaidRequest, terms: Terms) -> Operation[Verification]:
        """Return the operation that checks a paid answer.

        Raises:
            PaymentRefusedError: The network is unknown.
        """
        return verify_operation(self.state(str(paid.accepted.get("network"))), self.files, paid, terms)


def _refused(error: BilateralError) -> PaymentRefusedError:
    """Return the refusal for a check that was not possible. It fails closed."""
    if isinstance(error, PaymentRefusedError):
        return error
    return PaymentRefusedError("cannot_check", f"the agent cannot be checked: {type(error).__name__}: {error}")


def _unchecked(paid: PaidRequest, error: PaymentRefusedError, terms: Terms) -> Verification:
    """Return the verification of an answer on a chain that cannot be checked."""
    checks = tuple(Check(name, Outcome.UNCHECKED, str(error)) for name in CheckName)
    return Verification(checks, is_historical=terms.is_historical, request_target=paid.target)


class Verifier:
    """Checks servers before a payment and their answers after it. Threads may share it.

    Args:
        deployments: The registries that you trust on each chain, by the URL of a node (or a provider) for that chain.
            Any other registry is refused: a fake registry could name a fake wallet.
        loader: Loads registration files.
        confirmations: The number of blocks that must hold or follow a payment before its proof is verified.
        request_timeout: Seconds for one request to a node.

    Raises:
        InvalidArgumentError: Two deployments are on one chain, or one has no reputation registry.
    """

    is_async = False

    def __init__(
        self,
        deployments: Mapping[str | Provider, Deployment],
        *,
        loader: Loader | None = None,
        confirmations: int = 1,
        request_timeout: float = 30.0,
    ) -> None:
        self._chains, self._confirmations = _Chains(deployments.values(), loader), confirmations
        self._transports = {
            str(deployment.agent_registry.chain): Transport(rpc, request_timeout)
            for rpc, deployment in deployments.items()
        }

    def __enter__(self) -> Self:
        """Open a context that closes the connections at its end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections to the nodes."""
        for transport in self._transports.values():
            transport.close()

    def check_before_payment(self, declaration: Any, network: str, pay_to: str) -> AgentRegistration:
        """Check a server before anything is signed ("Pre-Payment Verification").

        Args:
            declaration: The server's declaration, `extensions["8004-reputation"]` of its 402 response.
            network: The chosen network (CAIP-2).
            pay_to: The address that the server wants to be paid.

        Returns:
            The server's agent on that network.

        Raises:
            PaymentRefusedError: The payment must not be made, or the server cannot be checked. See its `code`.
        """
        try:
            return self._run(network, self._chains.before_payment(declaration, network, pay_to))
        except BilateralError as error:
            raise _refused(error) from error

    def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Check a paid answer ("Post-Service Signature Verification"). Failures are results, not exceptions.

        Args:
            paid: The request, its payment and its answer.
            historical: True to judge the agent's keys and file at the block of the payment instead of now.
        """
        terms = Terms(self._confirmations, historical)
        try:
            return self._run(str(paid.accepted.get("network")), self._chains.after_payment(paid, terms))
        except PaymentRefusedError as error:
            return _unchecked(paid, error, terms)

    def check_client(self, claim: ClientAgent, payer: str, server_agent: int) -> ClientStanding:
        """Check a client's claim to be an agent, and read the rating that a server gave it.

        Args:
            claim: The claim.
            payer: The account that pays, as the facilitator verified it.
            server_agent: The server's agent on the same chain.

        Raises:
            PaymentRefusedError: The registry is not on the allow-list, or the payer is not the agent's wallet or owner.
        """
        network = str(claim.agent.registry.chain)
        try:
            return self._run(network, check_client(self._chains.state(network), claim, payer, server_agent))
        except BilateralError as error:
            raise _refused(error) from error

    def _run(self, network: str, operation: Operation[T]) -> T:
        """Run an operation to its end."""
        transport, answer = self._transports[network], None
        step = next(operation)
        try:
            while True:
                try:
                    match step:
                        case Rpc(method, parameters):
                            answer = transport.request(method, parameters)
                        case Batch(requests):
                            answer = transport.batch(requests)
                        case Blocking(function):
                            answer = function()
                        case _:
                            raise NotImplementedError(type(step).__name__)
                except BilateralError as error:
                    step = operation.throw(error)
                else:
                    step = operation.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result


class AsyncVerifier:
    """Checks servers before a payment and their answers after it, without blocking. See `Verifier`."""

    is_async = True

    def __init__(
        self,
        deployments: Mapping[str | AsyncProvider, Deployment],
        *,
        loader: Loader | None = None,
        confirmations: int = 1,
        request_timeout: float = 30.0,
    ) -> None:
        """See `Verifier`."""
        self._chains, self._confirmations = _Chains(deployments.values(), loader), confirmations
        self._transports = {
            str(deployment.agent_registry.chain): AsyncTransport(rpc, request_timeout)
            for rpc, deployment in deployments.items()
        }

    async def __aenter__(self) -> Self:
        """Open a context that closes the connections at its end."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections to the nodes."""
        for transport in self._transports.values():
            await transport.close()

    async def check_before_payment(self, declaration: Any, network: str, pay_to: str) -> AgentRegistration:
        """Check a server before anything is signed. See `Verifier.check_before_payment`."""
        try:
            return await self._run(network, self._chains.before_payment(declaration, network, pay_to))
        except BilateralError as error:
            raise _refused(error) from error

    async def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Check a paid answer. See `Verifier.verify`."""
        terms = Terms(self._confirmations, historical)
        try:
            return await self._run(str(paid.accepted.get("network")), self._chains.after_payment(paid, terms))
        except PaymentRefusedError as error:
            return _unchecked(paid, error, terms)

    async def check_client(self, claim: ClientAgent, payer: str, server_agent: int) -> ClientStanding:
        """Check a client's claim to be an agent. See `Verifier.check_client`."""
        network = str(claim.agent.registry.chain)
        try:
            return await self._run(network, check_client(self._chains.state(network), claim, payer, server_agent))
        except BilateralError as error:
            raise _refused(error) from error

    async def _run(self, network: str, operation: Operation[T]) -> T:
        """Run an operation to its end."""
        transport, answer = self._transports[network], None
        step = next(operation)
        try:
            while True:
                try:
                    match step:
                        case Rpc(method, parameters):
                            answer = await transport.request(method, parameters)
                        case Batch(requests):
                            answer = await transport.batch(requests)
                        case Blocking(function):
                            answer = await asyncio.to_thread(function)
                        case _:
                            raise NotImplementedError(type(step).__name__)
                except BilateralError as error:
                    step = operation.throw(error)
                else:
                    step = operation.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
