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

    See `AsyncShell` for the arguments.
    """
