"""The client, whole."""

from __future__ import annotations

from bilateral.client.aio.agents import AsyncAgentMethods
from bilateral.client.aio.batch import AsyncWriteBatch
from bilateral.client.aio.blind import AsyncBlindMethods
from bilateral.client.aio.buyers import AsyncBuyerMethods
from bilateral.client.aio.feedback import AsyncFeedbackMethods
from bilateral.client.aio.handle import AsyncHandle
from bilateral.client.aio.ratings import AsyncRatingMethods
from bilateral.client.aio.signed import AsyncSignedMethods
from bilateral.client.aio.validation import AsyncValidationMethods
from bilateral.client.aio.watching import AsyncWatchingMethods
from bilateral.client.operations import replacements
from bilateral.core.values.arguments import checked


class AsyncClient(
    AsyncAgentMethods,
    AsyncFeedbackMethods,
    AsyncSignedMethods,
    AsyncRatingMethods,
    AsyncBlindMethods,
    AsyncValidationMethods,
    AsyncBuyerMethods,
    AsyncWatchingMethods,
):
    """Bilateral's registries on one chain, through one node.

    A read returns what is on chain now. A write is checked and simulated first, and returns at once with a handle:
    `await handle.wait()` returns the result, decoded from the events of its transaction.

    Tasks of one event loop may share a client.

    Args:
        rpc: The URL of the node's JSON-RPC, or an `AsyncProvider`: an object with web3.py's `make_request`.
        signer: Signs transactions and messages: an eth-account `LocalAccount`, or anything with `address`,
            `sign_transaction` and `sign_message`. A client without a signer only reads.
        deployment: The addresses of the registries, or the name of a packaged deployment: `canonical` or `bilateral`.
            By default the canonical registries of the node's chain, or else this project's packaged record.
        chain_id: The only chain for which to sign, and to read. By default that of the deployment. Without a
            `Deployment`, the node's word decides, and the first write logs the chain and its name (logger
            `bilateral.client`).
        store: The store of documents; by default each becomes its own `data:` URI.
        loader: Loads documents; by default as careful as `Loader()`.
        dry_run: True if writes only try: every check is made, the transaction is simulated and its gas estimated, but
            no transaction is signed or sent. The handle then has no hash and shows the transaction. No document is
            stored: where that would publish it, a placeholder stands for its URI. Messages are signed all the
            same: by `authorize_feedback` and `sign_feedback`, which send nothing anyway, and as a new wallet's consent
            by `set_agent_wallet`, whose simulation needs it.
        max_fee_per_gas: The largest fee per gas to sign, in wei. By default the chain's limit in the address book,
            which has another one for the tip alone, or for a gas price without base fee. Beyond it, a write raises
            `FeeLimitError`.
        max_cost: The largest cost of one transaction to sign, in wei: gas limit times fee per gas, plus its value. By
            default no limit.
        request_timeout: Seconds for one request to the node, from its first byte to the last byte of the answer, its
            retries included. A provider has time-outs of its own.
        poll_interval: Seconds between two questions whether a transaction is in a block.
    """

    def batch(self) -> AsyncWriteBatch:
        """Collect writes, and send them at once at the end of a context.

        The batch has the methods of the client. Its writes return handles, which get their transactions when the
        context ends. Writes that depend on each other need separate batches, because all are simulated before any is
        sent.
        """
        return AsyncWriteBatch(self)

    @checked
    async def find_transaction(self, transaction_hash: str) -> AsyncHandle[bool]:
        """Find a transaction of the signer, such as one that another program sent.

        Args:
            transaction_hash: Its hash, 0x and 64 hexadecimal digits.

        Returns:
            A handle to wait for it, speed it up or cancel it. Its `wait` returns True once a block has it.

        Raises:
            InvalidArgumentError: The hash is malformed, another account sent the transaction, or it is of another chain
                or type.
            MalformedNodeAnswerError: The node's fields and signature have another hash.
            TransactionDroppedError: The node does not know the transaction.
        """
        return await self._write(replacements.find(self.state, transaction_hash))
