"""`python -m bench.writes [COUNT]`: times writes of the SDK against bare web3.py, on a local chain."""

import time
from collections.abc import Callable
from typing import Any, Final

import ape
from eth_account import Account
from web3 import Web3

from bench.report import local_chain, options, print_table
from bilateral.client import Client
from bilateral.core.contracts import Deployment, Registry, abi

COUNT: Final = 1000
ROUNDS: Final = 5
"""The ways take turns, so that what else the machine does slows all of them alike."""

_POLL_SECONDS: Final = 0.02
_ETHER: Final = 10**18


def _deploy() -> tuple[str, str]:
    """Deploy the registries, and return their addresses."""
    deployer = ape.accounts.test_accounts[0]
    identity = deployer.deploy(ape.project.IdentityRegistry)
    reputation = deployer.deploy(ape.project.BidirectionalReputationRegistry, identity)
    identity.register(sender=deployer)
    return identity.address, reputation.address


def _by_web3(web3: Web3, reputation: str) -> Callable[[int], None]:
    """Return what gives feedback one after the other by bare web3.py."""
    signer = _funded(web3)
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


def _client(web3: Web3, url: str, deployment: Deployment) -> Client:
    return Client(url, signer=_funded(web3), deployment=deployment, poll_interval=_POLL_SECONDS)


def _by_client(web3: Web3, url: str, deployment: Deployment) -> Callable[[int], None]:
    """Return what gives feedback one after the other by the SDK."""
    client = _client(web3, url, deployment)

    def run(count: int) -> None:
        for value in range(count):
            assert client.give_feedback(1, value % 101, "starred").wait().value == value % 101  # noqa: S101

    return run


def _by_batch(web3: Web3, url: str, deployment: Deployment) -> Callable[[int], None]:
    """Return what gives feedback at once by the SDK."""
    client = _client(web3, url, deployment)

    def run(count: int) -> None:
        with client.batch() as batch:
            handles = [batch.give_feedback(1, value % 101, "starred") for value in range(count)]
        assert [handle.wait().value for handle in handles] == [value % 101 for value in range(count)]  # noqa: S101

    return run


def _funded(web3: Web3) -> Any:
    """Return a new account with ether."""
    account = Account.create()
    web3.provider.make_request("anvil_setBalance", [account.address, hex(1000 * _ETHER)])  # type: ignore[arg-type]
    return account


def main() -> None:
    """Measure and print."""
    count = options(__doc__, "count", count=COUNT).count
    with local_chain() as provider:
        web3 = provider.web3
        identity, reputation = _deploy()
        deployment = Deployment(web3.eth.chain_id, identity=identity, reputation=reputation)
        url = str(web3.provider.endpoint_uri)
        ways = {
            "web3.py, one by one": _by_web3(web3, reputation),
            "Client, one by one": _by_client(web3, url, deployment),
            "Client.batch": _by_batch(web3, url, deployment),
        }
        seconds = dict.fromkeys(ways, 0.0)
        for _ in range(ROUNDS):
            for name, run in ways.items():
                began = time.perf_counter()
                run(count // ROUNDS)
                seconds[name] += time.perf_counter() - began
    plain = seconds["web3.py, one by one"]
    rows = [(name, f"{spent:.1f}", f"{spent / plain:.2f}") for name, spent in seconds.items()]
    print_table(f"{count // ROUNDS * ROUNDS:,} writes", "way", "seconds", "times web3.py", rows=rows)


if __name__ == "__main__":
    main()
