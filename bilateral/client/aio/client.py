"""The complete client, its batches of writes, and clients for several chains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from bilateral.client.aio.agents import AsyncAgentMethods
from bilateral.client.aio.blind import AsyncBlindMethods
from bilateral.client.aio.buyers import AsyncBuyerMethods
from bilateral.client.aio.feedback import AsyncFeedbackMethods
from bilateral.client.aio.ratings import AsyncRatingMethods, AsyncValidationMethods
from bilateral.client.aio.runner import AsyncHandle, AsyncRunner, AsyncSignalBatch
from bilateral.client.aio.signed import AsyncSignedMethods
from bilateral.client.operations import directory, replacements, signals, transactions
from bilateral.client.operations.directory import Rater
from bilateral.client.operations.registries import chain_of
from bilateral.client.state import AgentLike, Sent, Signal
from bilateral.core.contracts import Deployment
from bilateral.core.errors import UnknownChainError
from bilateral.core.values.arguments import checked
from bilateral.node.closing import AsyncClosing
from bilateral.node.steps import Operation
from bilateral.node.transport import AsyncProvider

T = TypeVar("T")


class AsyncMethods(
    AsyncAgentMethods,
    AsyncFeedbackMethods,
    AsyncSignedMethods,
    AsyncRatingMethods,
    AsyncValidationMethods,
    AsyncBuyerMethods,
):
    """The methods that clients and their batches share."""


class AsyncWriteBatch(AsyncMethods):
    """A batch of writes that are sent together; see `AsyncClient.batch`. Read methods work as in the client."""

    def __init__(self, client: AsyncRunner) -> None:
        self._client = client
        self.state = replace(client.state, is_collecting=True)
        self.runner = client.runner
        self._writes: list[Operation[Sent[Any]]] = []
        self._handles: list[AsyncHandle[Any]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            await self.send()

    async def close(self) -> None:
        """Discard the writes that were not sent. The client stays open."""
        self._writes, self._handles = [], []

    async def send(self) -> tuple[AsyncHandle[Any], ...]:
        """Simulate the writes against the chain's current state, sign them, and send them in order.

        Returns:
            The handles of the writes, in order.

        Raises:
            ContractRevertError: A registry would revert one of the writes. Nothing was sent.
            InsufficientFundsError: The signer cannot pay for all writes. Nothing was sent.
            FeeLimitError: A write exceeds the client's fee limits. Nothing was sent.
            BatchInterruptedError: Sending stopped partway. Only the writes whose handles have a hash were sent.
        """
        writes, handles = self._writes, self._handles
        self._writes, self._handles = [], []

        def note(position: int, sent: Sent[Any]) -> None:
            handles[position].mark_sent(sent)

        await self._client.runner.run(transactions.send_all(self._client.state, writes, note))
        return tuple(handles)

    async def _write(self, operation: Operation[Sent[T]]) -> AsyncHandle[T]:
        """Store a write, and return a handle without a transaction."""
        handle: AsyncHandle[T] = AsyncHandle(self._client.runner.run, self._client.state, None)
        self._writes.append(operation)
        self._handles.append(handle)
        return handle


class AsyncClient(AsyncMethods, AsyncBlindMethods):
    """A client for the registries on one chain, connected to one node.

    Read methods return the current on-chain state. A write method checks and simulates the transaction, sends it, and
    returns a handle: `await handle.wait()` returns the result, decoded from the transaction's events.

    Tasks in the same event loop may share a client.

    Args:
        rpc: The node's JSON-RPC URL, or an `AsyncProvider`: an object with web3.py's `make_request` method.
        signer: The signer of transactions and messages: an eth-account `LocalAccount`, or any object with `address`,
            `sign_transaction` and `sign_message`. A client without a signer can only read.
        deployment: The addresses of the registries, or the name of a packaged deployment: `canonical` or `bilateral`.
            By default, the canonical registries on the node's chain or, if there are none, this project's packaged
            deployment.
        chain_id: The only chain for which the client signs and from which it reads; by default the deployment's chain.
            If no `Deployment` is passed either, the node determines the chain, and the first write logs its id and name
            (logger `bilateral.client`).
        store: The store for documents. By default, each document becomes a `data:` URI that contains it.
        loader: The loader of documents; `Loader()` by default.
        dry_run: True to only simulate writes: the transaction is checked and simulated, and its gas is estimated, but
            it is not signed or sent. The handle then contains the transaction but no hash. A document whose storage
            would publish it is not stored; a placeholder replaces its URI. Some methods still sign messages:
            `authorize_feedback` and `sign_feedback`, which never send anything, and `set_agent_wallet`, which needs the
            new wallet's consent for the simulation.
        max_fee_per_gas: The maximum fee per gas that the client signs, in wei; it also limits the tip. By default, the
            packaged address book's limits for the chain apply. They include a separate limit for the tip, which also
            applies to the gas price if the node returns no base fee. A write that exceeds a limit raises
            `FeeLimitError`.
        max_cost: The maximum cost of a transaction that the client signs, in wei: gas limit times fee per gas, plus
            value. There is no limit by default.
        request_timeout: The maximum time for one request to the node, in seconds, from the request's first byte to the
            response's last byte, including retries. A provider uses its own timeouts instead.
        poll_interval: Seconds between checks of whether a transaction is in a block.
    """

    def batch(self) -> AsyncWriteBatch:
        """Collect writes in a context manager, and send them together when its block ends.

        The batch has most of the client's methods. Its writes return handles, which get their transactions when the
        block ends. Writes that depend on each other need separate batches, because all writes are simulated before any
        of them is sent.
        """
        return AsyncWriteBatch(self)

    @checked
    async def find_transaction(self, transaction_hash: str) -> AsyncHandle[bool]:
        """Find a transaction of the signer's account, such as one that another program sent.

        Args:
            transaction_hash: The transaction's hash, 0x and 64 hexadecimal digits.

        Returns:
            A handle to wait for the transaction, speed it up or cancel it. The handle's `wait` returns True once the
            transaction is in a block.

        Raises:
            InvalidArgumentError: The hash is malformed, another account sent the transaction, or the transaction
                creates a contract, has an unsupported type or is for another chain.
            MalformedNodeAnswerError: The fields and the signature that the node returned do not match the hash.
            TransactionDroppedError: The node does not have the transaction.
        """
        return await self._write(replacements.find(self.state, transaction_hash))

    @checked
    async def resolve_rater(self, address: str, *, load_file: bool = True) -> Rater:
        """Find the agent behind an address that gave feedback (best practices, "Agent-as-Rater").

        Args:
            load_file: True to load the agent's registration file, for its name and image.

        Returns:
            The address with its primary agent (`agentOf`), if any. If the registry lacks that function, or the account
            has chosen no agent in the companion contract, the logs are searched for an agent whose current wallet is
            this address.
        """
        return await self._run(directory.resolve(self.state, address, load_file=load_file))

    @checked
    async def publish_signals(self, signals_of_period: Sequence[Signal], period: str) -> AsyncSignalBatch:
        """Publish a watchtower's measurements for one period (best practices, "Watchtower Monitoring").

        Each measurement becomes a feedback entry by the signer, with the signal's tag as `tag1` and the period as
        `tag2`. A signal is skipped if the signer has already published one for the same agent, tag, endpoint and
        period, so you can complete an interrupted run by repeating the call. Revoked signals do not count as published.
        All signals are checked before the first one is sent. The call first waits for the signer's pending
        transactions.

        Args:
            signals_of_period: The measurements, at most one for each combination of agent, tag and endpoint.
            period: The name of the period, such as `2026-W47` (see `week_of`); not empty.

        Returns:
            The signals that were sent, and the signals that were already on chain.

        Raises:
            UnrepresentableValueError: A value is not meaningful for its tag.
            InvalidArgumentError: The period is empty, a tag is not a watchtower's tag, or a signal is a duplicate.
            ContractRevertError: The registry would reject one of the signals. Nothing was sent.
            BatchInterruptedError: Sending stopped partway. The error contains the hashes of the transactions that were
                sent.
        """
        return await self._write_signals(signals.publish(self.state, signals_of_period, period))


class AsyncClients(AsyncClosing):
    """A set of clients, one for each chain, that share the same settings.

        clients = AsyncClients({8453: "https://base.example", 84532: "https://sepolia.example"}, signer=signer)
        agent = await clients.of("84532:42").load_agent("84532:42")

    Args:
        rpcs: The node for each chain id: a URL or a provider, as for `AsyncClient`.
        deployments: The registries' addresses on chains where the packaged addresses should not be used.
        **settings: Other settings of `AsyncClient`, such as `signer`; `deployment` is the name of the packaged
            deployment for the other chains.
    """

    def __init__(
        self, rpcs: Mapping[int, str | AsyncProvider], *, deployments: Iterable[Deployment] = (), **settings: Any
    ) -> None:
        by_chain = {deployment.chain_id: deployment for deployment in deployments}
        default = settings.pop("deployment", None)
        self._clients = {
            chain_id: AsyncClient(rpc, deployment=by_chain.get(chain_id, default), chain_id=chain_id, **settings)
            for chain_id, rpc in rpcs.items()
        }

    async def close(self) -> None:
        """Close the connections to all nodes."""
        for client in self._clients.values():
            await client.close()

    @property
    def chain_ids(self) -> tuple[int, ...]:
        """The ids of the chains, in the order in which their nodes were passed."""
        return tuple(self._clients)

    def on(self, chain_id: int) -> AsyncClient:
        """Return the client for a chain.

        Args:
            chain_id: The chain's EIP-155 id.

        Raises:
            UnknownChainError: No node was passed for the chain.
        """
        if chain_id not in self._clients:
            raise UnknownChainError(chain_id, self.chain_ids)
        return self._clients[chain_id]

    def of(self, agent_id: AgentLike) -> AsyncClient:
        """Return the client for an agent's chain.

        Args:
            agent_id: The agent, with its chain: `"84532:42"` or `"eip155:84532:0x…#42"`.

        Raises:
            MalformedIdentifierError: The id is malformed, or does not include its chain.
            UnknownChainError: No node was passed for the chain.
        """
        return self.on(chain_of(agent_id))
