"""`python -m bench.reads [COUNT]`: times reads of an agent that one client rated many times, on a local chain."""

import time
from collections.abc import Callable
from typing import Any, Final

import ape

from bench.report import local_chain, options, print_table
from bilateral.client import Client
from bilateral.core.contracts import Deployment

COUNT: Final = 10_000
_AT_ONCE: Final = 200
"""Feedbacks of one transaction: as many as fit into a block."""


def _deploy(count: int) -> tuple[str, str, str]:
    """Deploy the registries, let one client rate agent 1, and return identity, reputation and client."""
    deployer = ape.accounts.test_accounts[0]
    identity = deployer.deploy(ape.project.IdentityRegistry)
    reputation = deployer.deploy(ape.project.BidirectionalReputationRegistry, identity)
    giver = deployer.deploy(ape.project.MockFeedbackGiver)
    identity.register(sender=deployer)
    call = reputation.giveFeedback.encode_input(1, 87, 0, "starred", "", "", "", bytes(32))
    for _ in range(count // _AT_ONCE):
        giver.repeat(reputation, call, _AT_ONCE, sender=ape.accounts.test_accounts[1])
    return identity.address, reputation.address, giver.address


def main() -> None:
    """Measure and print."""
    count = options(__doc__, "count", count=COUNT).count
    with local_chain() as provider:
        identity, reputation, reviewer = _deploy(count)
        deployment = Deployment(provider.web3.eth.chain_id, identity=identity, reputation=reputation)
        client = Client(str(provider.web3.provider.endpoint_uri), deployment=deployment)
        total = count // _AT_ONCE * _AT_ONCE
        reads: dict[str, Callable[[], Any]] = {
            f"all {total:,} feedbacks": lambda: client.read_all_feedback(1, reviewers=[reviewer]),
            "one of them, with its event": lambda: client.get_feedback(1, reviewer, total // 2),
            "the summary": lambda: client.get_reputation_summary(1, reviewers=[reviewer], tag1="starred"),
            "the agent": lambda: client.load_agent(1),
        }
        client.load_agent(1)  # the connection and the chain id are not measured
        rows = []
        for name, read in reads.items():
            began = time.perf_counter()
            read()
            rows.append((name, f"{time.perf_counter() - began:.2f}"))
    print_table("One agent, rated by one client", "read", "seconds", rows=rows)


if __name__ == "__main__":
    main()
