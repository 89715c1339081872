# Derived from bilateral/client/shell by `make async-client`. Change that, not this.
"""The client, whole."""

from __future__ import annotations

from bilateral.client.async_shell.agents import AsyncAgentMethods
from bilateral.client.async_shell.feedback import AsyncFeedbackMethods
from bilateral.client.async_shell.ratings import AsyncRatingMethods
from bilateral.client.async_shell.signed import AsyncSignedMethods
from bilateral.client.async_shell.validation import AsyncValidationMethods
from bilateral.client.async_shell.watching import AsyncWatchingMethods


class AsyncClient(
    AsyncAgentMethods,
    AsyncFeedbackMethods,
    AsyncSignedMethods,
    AsyncRatingMethods,
    AsyncValidationMethods,
    AsyncWatchingMethods,
):
    """Bilateral's registries on one chain, through one node.

    Every read returns what is on chain now. Every write is checked and simulated first, and returns at once with a
    handle: `await handle.wait()` gives the result, decoded from the events of its transaction.

    Tasks of one event loop may share a client.

    Args:
        rpc: The URL of a node's JSON-RPC, or a provider of web3.py of the same kind, blocking or asynchronous.
        signer: Signs transactions and messages: an eth-account `LocalAccount`, or anything with `address`,
            `sign_transaction` and `sign_message`. A client without one only reads.
        deployment: Where the registries are; found by the node's chain id among the packaged records when left out.
        store: Where documents are put: into their own URI when left out.
        loader: Loads documents, as careful as `Loader()` when left out.
        dry_run: Whether writes only try: every check is made, the transaction is simulated and its gas estimated, but
            no transaction is signed or sent. The handle then has no hash and shows the transaction. Documents are put
            into the store all the same, because their URIs are part of the transaction. Messages are signed all the
            same: by `authorize_feedback` and `sign_feedback`, which send nothing anyway, and as a new wallet's consent
            by `set_agent_wallet`, whose simulation needs it.
        request_timeout: Seconds to wait for one answer of the node. A blocking client counts them anew with every piece
            that arrives, so a node that sends little at a time may hold it for longer.
        poll_interval: Seconds between two questions whether a transaction is in a block.
    """
