"""`python -m bench.sdk`: times writes of the SDK against bare web3.py, and reads of an agent with many ratings."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import ape
from web3 import Web3

from bench.report import funded_account, local_chain, options, print_table
from bilateral.client import Client
from bilateral.core.contracts import Deployment, Registry, abi

WRITES: Final = 1000
READS: Final = 10_000
ROUNDS: Final = 5
"""The ways take turns, so that what else the machine does slows all of them alike."""

_POLL_SECONDS: Final = 0.02
_AT_ONCE: Final = 200
"""Feedbacks of one transaction: as many as fit into a block."""


def _deploy(web3: Web3) -> tuple[Deployment, Any]:
    """Deploy the registries, register agent 1, and return the deployment and the reputation registry."""
    deployer = ape.accounts.test_accounts[0]
    identity = deployer.deploy(ape.project.IdentityRegistry)
    reputation = deployer.deploy(ape.project.BidirectionalReputationRegistry, identity)
    identity.register(sender=deployer)
    return Deployment(web3.eth.chain_id, identity=identity.address, reputation=reputation.address), reputation


def _by_web3(web3: Web3, reputation: str) -> Callable[[int], None]:
    """Return what gives feedback one after the other by bare web3.py."""
    signer = funded_account(web3)
    contract = web3.eth.contract(address=reputation, abi=list(abi(Registry.REPUTATION)))  # type: ignore[call-overload]

    def run(count: int) -> None:
        for value in range(count):
            call = contract.functions.giveFeedback(1, value, 0, "starred", "", "", "", bytes(32))
            nonce = web3.eth.get_transaction_count(signer.address)
            transaction = call.build_transaction({"from": signer.address, "nonce": nonce})
            sent = web3.eth.send_raw_transaction(signer.sign_transaction(transaction).raw_transaction)
            receipt = web3.eth.wait_for_transaction_receipt(sent, poll_latency=_POLL_SECONDS)
            assert receipt["status"] == 1  # noqa: S101  # a measurement of failures would be none
            assert contract.events.NewFeedback().process_receipt(receipt)[0]["args"]["value"] == value  # noqa: S101

    return run


def _by_client(client: Client) -> Callable[[int], None]:
    """Return what gives feedback one after the other by the SDK."""

    def run(count: int) -> None:
        for value in range(count):
            assert client.give_feedback(1, value % 101, "starred").wait().value == value % 101  # noqa: S101

    return run


def _by_batch(client: Client) -> Callable[[int], None]:
    """Return what gives feedback at once by the SDK."""

    def run(count: int) -> None:
        with client.batch() as batch:
            handles = [batch.give_feedback(1, value % 101, "starred") for value in range(count)]
        assert [handle.wait().value for handle in handles] == [value % 101 for value in range(count)]  # noqa: S101

    return run


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def write(web3: Web3, count: int) -> None:
    """Measure writes, and print them."""
    deployment, reputation = _deploy(web3)
    url = str(web3.provider.endpoint_uri)  # type: ignore[attr-defined]
    one, many = (
        Client(url, signer=funded_account(web3), deployment=deployment, poll_interval=_POLL_SECONDS) for _ in range(2)
    )
    ways = {
        "web3.py, one by one": _by_web3(web3, reputation.address),
        "Client, one by one": _by_client(one),
        "Client.batch": _by_batch(many),
    }
    seconds = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for name, run in ways.items():
            seconds[name] += _seconds(partial(run, count // ROUNDS))
    plain = seconds["web3.py, one by one"]
    rows = [(name, f"{spent:.1f}", f"{spent / plain:.2f}") for name, spent in seconds.items()]
    print_table(f"{count // ROUNDS * ROUNDS:,} writes", "way", "seconds", "times web3.py", rows=rows)


def read(web3: Web3, count: int) -> None:
    """Let one client rate an agent, measure reads of it, and print them."""
    deployment, reputation = _deploy(web3)
    giver = ape.accounts.test_accounts[0].deploy(ape.project.MockFeedbackGiver)
    call = reputation.giveFeedback.encode_input(1, 87, 0, "starred", "", "", "", bytes(32))
    for _ in range(count // _AT_ONCE):
        giver.repeat(reputation, call, _AT_ONCE, sender=ape.accounts.test_accounts[1])
    client = Client(str(web3.provider.endpoint_uri), deployment=deployment)  # type: ignore[attr-defined]
    total, reviewer = count // _AT_ONCE * _AT_ONCE, giver.address
    reads: dict[str, Callable[[], Any]] = {
        f"all {total:,} feedbacks": lambda: client.read_all_feedback(1, reviewers=[reviewer]),
        "one of them, with its event": lambda: client.get_feedback(1, reviewer, total // 2),
        "the summary": lambda: client.get_reputation_summary(1, reviewers=[reviewer], tag1="starred"),
        "the agent": lambda: client.load_agent(1),
    }
    client.load_agent(1)  # the connection and the chain id are not measured
    rows = [(name, f"{_seconds(work):.2f}") for name, work in reads.items()]
    print_table("One agent, rated by one client", "read", "seconds", rows=rows)


def main() -> None:
    """Measure and print, each on a chain of its own."""
    arguments = options(__doc__, writes=WRITES, reads=READS)
    for measure, count in ((write, arguments.writes), (read, arguments.reads)):
        with local_chain() as provider:
            measure(provider.web3, count)


if __name__ == "__main__":
    main()
