"""The client, whole."""

from __future__ import annotations

from bilateral.client.shell.agents import AgentMethods
from bilateral.client.shell.feedback import FeedbackMethods
from bilateral.client.shell.ratings import RatingMethods
from bilateral.client.shell.signed import SignedMethods
from bilateral.client.shell.validation import ValidationMethods
from bilateral.client.shell.watching import WatchingMethods


class Client(AgentMethods, FeedbackMethods, SignedMethods, RatingMethods, ValidationMethods, WatchingMethods):
    """Bilateral's registries on one chain, through one node.

    Every read returns what is on chain now. Every write is checked and simulated first, and returns at once with a
    handle: `handle.wait()` gives the result, decoded from the events of its transaction.

    See `Shell` for the arguments.
    """
