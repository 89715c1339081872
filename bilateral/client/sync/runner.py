# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""The runner for a client's operations, and the handles that a client's writes return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from bilateral.client.operations import confirmations as confirming
from bilateral.client.operations import inspection, registries, replacements
from bilateral.client.operations.inspection import DeploymentReport
from bilateral.client.operations.signals import Published
from bilateral.client.results import FeedbackEntry
from bilateral.client.state import TIMEOUT, ClientState, Sent, SentTransaction, Signal, TransactionSigner
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.arguments import checked, checked_class
from bilateral.documents import DataUriStore, Loader, Store
from bilateral.node.closing import Closing
from bilateral.node.running import Run, StepRunner
from bilateral.node.steps import Operation
from bilateral.node.transport import Provider, Transport, require_duration

T = TypeVar("T")


class Handle(SentTransaction[T]):
    """A handle for a write by an `Client`, to wait for its transaction, speed it up or cancel it."""

    def __init__(self, run: Run, state: ClientState, sent: Sent[T] | None) -> None:
        super().__init__(sent)
        self._run = run
        self._state = state

    @checked
    def wait(self, timeout: float = TIMEOUT, *, confirmations: int = 1) -> T:
        """Wait for the transaction, and return its result, decoded from its events.

        You can call this method again, even after an error, because the transaction may still be included in a block.

        Args:
            timeout: The maximum time to wait, in seconds.
            confirmations: The number of blocks that must confirm the transaction, including its own.

        Raises:
            TransactionPendingError: When the timeout expired, the transaction did not have enough confirmations, or the
                node did not report them.
            TransactionDroppedError: The transaction is not in a block, and the node has dropped it.
            TransactionReplacedError: A different transaction with the same nonce is in a block.
            ContractRevertError: The registry reverted the transaction, because its state changed after the simulation.
            TransactionFailedError: The transaction failed, and the node returned no reason.
            UnexpectedAnswerError: The transaction succeeded, but its receipt or events do not match what was sent.
            NotSentError: Nothing was sent, because this is a dry run, or a batch that has not been sent yet.
        """
        result: T = self._run(confirming.wait(self._state, self._require_sent(), timeout, confirmations))
        return result

    def speed_up(self) -> Handle[T]:
        """Send the transaction again with fees an eighth higher, or at the node's current quote if that is higher.

        Returns:
            A handle for the new transaction. Its `wait` also succeeds if the original transaction is included in a
            block instead. If that has already happened, the handle is for the original transaction.

        Raises:
            FeeLimitError: The fees exceed the client's limits.
            TransactionReplacedError: A different transaction with the same nonce is in a block.
            NotSentError: Nothing was sent.
        """
        faster: Sent[T] = self._run(replacements.speed_up(self._state, self._require_sent()))
        return Handle(self._run, self._state, faster)

    def cancel(self) -> Handle[bool]:
        """Replace the transaction with an empty one that pays higher fees.

        Returns:
            A handle for the empty transaction. Its `wait` returns True once it is in a block, and raises
            `TransactionReplacedError` if the cancelled transaction was included instead.

        Raises:
            FeeLimitError: The fees exceed the client's limits.
            TransactionReplacedError: The transaction is already in a block.
            NotSentError: Nothing was sent.
        """
        empty: Sent[bool] = self._run(replacements.cancel(self._state, self._require_sent()))
        return Handle(self._run, self._state, empty)


@dataclass(frozen=True)
class SignalBatch:
    """The published signals of one period.

    Attributes:
        handles: The handles of the signals that were sent, in the order in which they were passed.
        already_published: The signals that were already on chain.
    """

    handles: tuple[Handle[FeedbackEntry], ...]
    already_published: tuple[Signal, ...]

    @checked
    def wait(self, timeout: float = TIMEOUT) -> list[FeedbackEntry]:
        """Wait for all transactions that were sent.

        Args:
            timeout: The maximum time to wait for each transaction, in seconds.
        """
        return [handle.wait(timeout) for handle in self.handles]


@checked_class
class Runner(Closing):
    """The base class that runs a client's operations. See `Client` for the arguments.

    Attributes:
        state: The settings that operations use.
        runner: The object that runs operations to completion.
    """

    def __init__(  # noqa: PLR0913  # settings, all but one with a default
        self,
        rpc: str | Provider,
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
                raise InvalidArgumentError(f"{name} is {wei} wei, but must not be negative")
        if chain_id is not None and isinstance(deployment, Deployment) and deployment.chain_id != chain_id:
            raise InvalidArgumentError(f"chain_id is {chain_id}, but the deployment is on chain {deployment.chain_id}")
        self.state = ClientState(
            requested=_packaged(deployment) if isinstance(deployment, str) else deployment,
            pinned_chain=chain_id,
            signer=signer,
            store=store or DataUriStore(),
            loader=loader or Loader(),
            dry_run=dry_run,
            max_fee_per_gas=max_fee_per_gas,
            max_cost=max_cost,
            poll_interval=poll_interval,
        )
        self._transport = Transport(rpc, request_timeout)
        self.runner = StepRunner(self._transport)

    def close(self) -> None:
        """Close the connections to the node."""
        self._transport.close()

    @property
    def address(self) -> str | None:
        """The signer's address; None for a client without a signer."""
        return registries.address_of(self.state)

    def get_deployment(self) -> Deployment:
        """Return the addresses of the registries that this client uses.

        Raises:
            UnknownDeploymentError: No deployment was passed, and the package has none for the node's chain.
            WrongChainError: The node's chain differs from the deployment's or from `chain_id`.
            WrongIdentityRegistryError: The deployment has a companion contract, but one of its registries belongs to
                another identity registry.
        """
        return self._run(registries.connect(self.state))

    def inspect_deployment(self) -> DeploymentReport:
        """Inspect the registries on chain: their code, their owners, and whether they share an identity registry.

        Returns:
            The deployment and a report on each of its registries. Problems are listed in the report, not raised.

        Raises:
            UnknownDeploymentError: As for `get_deployment`.
            WrongChainError: As for `get_deployment`.
        """
        return self._run(inspection.inspect(self.state))

    def _run(self, operation: Operation[T]) -> T:
        return self.runner.run(operation)

    def _write(self, operation: Operation[Sent[T]]) -> Handle[T]:
        return Handle(self._run, self.state, self._run(operation))

    def _write_signals(self, operation: Operation[Published]) -> SignalBatch:
        published = self._run(operation)
        handles = tuple(Handle(self._run, self.state, sent) for sent in published.sent)
        return SignalBatch(handles, published.already)


def _packaged(name: str) -> Origin:
    try:
        return Origin(name)
    except ValueError:
        names = " or ".join(f'"{origin}"' for origin in Origin)
        raise InvalidArgumentError(f"deployment: expected a Deployment, {names}") from None
