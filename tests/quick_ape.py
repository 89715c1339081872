"""Spares Ape work that no test needs. Of the time of a test that sends a transaction, most is Ape's.

Nothing here changes a transaction, a call, or what either returns.
"""

from __future__ import annotations

from functools import cache

import ape_test.accounts
from ape_ethereum import provider
from ape_ethereum.trace import Trace


def spare_work():
    """Replace functions of Ape by quicker ones."""
    # Ape derives the keys of its accounts anew each time that it looks for one.
    ape_test.accounts.generate_dev_accounts = cache(ape_test.accounts.generate_dev_accounts)
    # It asks for the last block before each transaction and each call, for its limit of gas. Anvil never changes it.
    of_node = provider.Web3Provider.max_gas.fget
    limits = {}
    provider.Web3Provider.max_gas = property(
        lambda node: limits[node.uri] if node.uri in limits else limits.setdefault(node.uri, of_node(node))
    )
    # It has each transaction traced to print what contracts log to a console. None of ours does.
    provider._post_send_transaction = lambda *_: None
    # It prints the trace of each transaction that reverts, as most in these tests are meant to.
    Trace.show = lambda *_, **__: None
