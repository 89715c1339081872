"""The runner of a client's operations."""

from __future__ import annotations

from typing import TypeVar

from bilateral.client.aio.handle import AsyncHandle, AsyncSignalBatch
from bilateral.client.inputs import TransactionSigner
from bilateral.client.operations import inspection, registries
from bilateral.client.operations.signals import Published
from bilateral.client.operations.transactions import Sent
from bilateral.client.results import DeploymentReport
from bilateral.client.state import ClientState
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.arguments import checked_class
from bilateral.documents import DataUriStore, Loader, Store
from bilateral.node.closing import AsyncClosing
from bilateral.node.running import AsyncStepRunner
from bilateral.node.steps import Operation
from bilateral.node.transport import AsyncProvider, AsyncTransport, require_duration

T = TypeVar("T")


@checked_class
class AsyncRunner(AsyncClosing):
    """Runs operations. See `AsyncClient` for the arguments.

    Attributes:
        state: The settings that operations take.
        runner: Runs operations to their end.
    """

    def __init__(  # noqa: PLR0913  # settings, all but one with a default
        self,
        rpc: str | AsyncProvider,
        *,
        signer: TransactionSigner | None = None,
        deployment: Deployment | str | None = None,
        chain_id: int | None = None,
        store: Store | None = None,
        loader: Loader | None = None,
        dry_run: bool = False,
        max_fee_per_gas: int | None = None,
        max_cost: int | None = None,
        request_timeout: float = 30.0,
        poll_interval: float = 1.0,
    ) -> None:
        require_duration("poll_interval", poll_interval)
        for name, wei in (("max_fee_per_gas", max_fee_per_gas), ("max_cost", max_cost)):
            if wei is not None and wei < 0:
                raise InvalidArgumentError(f"{name} is {wei} wei: give a number from 0")
        if chain_id is not None and isinstance(deployment, Deployment) and deployment.chain_id != chain_id:
            raise InvalidArgumentError(f"chain_id is {chain_id}, but the deployment is on chain {deployment.chain_id}")
        self.state = ClientState(
            wanted=_named(deployment) if isinstance(deployment, str) else deployment,
            pinned_chain=chain_id,
            signer=signer,
            store=store or DataUriStore(),
            loader=loader or Loader(),
            dry_run=dry_run,
            max_fee_per_gas=max_fee_per_gas,
            max_cost=max_cost,
            poll_interval=poll_interval,
        )
        self._transport = AsyncTransport(rpc, request_timeout)
        self.runner = AsyncStepRunner(self._transport)

    async def close(self) -> None:
        """Close the connections to the node."""
        await self._transport.close()

    @property
    def address(self) -> str | None:
        """The signer's address; None for a client that only reads."""
        return registries.address_of(self.state)

    async def get_deployment(self) -> Deployment:
        """Return the addresses of the registries that this client uses.

        Raises:
            UnknownDeploymentError: The client was given none, and the package has none for the node's chain.
            WrongChainError: The node is of another chain than the deployment, or than `chain_id`.
            WrongIdentityRegistryError: The deployment has a companion, and a registry belongs to another identity
                registry.
        """
        return await self._run(registries.connect(self.state))

    async def inspect_deployment(self) -> DeploymentReport:
        """Look at the registries on the chain: their code, their owners, and whether they belong together.

        Returns:
            The deployment and a report on each of its registries. Problems are in the report, not raised.

        Raises:
            UnknownDeploymentError: As `get_deployment`.
            WrongChainError: As `get_deployment`.
        """
        return await self._run(inspection.inspect(self.state))

    async def _run(self, operation: Operation[T]) -> T:
        return await self.runner.run(operation)

    async def _write(self, operation: Operation[Sent[T]]) -> AsyncHandle[T]:
        """Run an operation that sends a transaction."""
        return AsyncHandle(self._run, self.state, await self._run(operation))

    async def _write_signals(self, operation: Operation[Published]) -> AsyncSignalBatch:
        """Run the operation that publishes signals."""
        published = await self._run(operation)
        handles = tuple(AsyncHandle(self._run, self.state, sent) for sent in published.sent)
        return AsyncSignalBatch(handles, published.already)


def _named(name: str) -> Origin:
    """Return the packaged deployment that a caller names."""
    try:
        return Origin(name)
    except ValueError:
        known = " or ".join(f'"{origin}"' for origin in Origin)
        raise InvalidArgumentError(f"deployment: expected a Deployment, {known}, not another text") from None
