"""A live network of one's own: a fresh local chain with the id of Base Sepolia, and what is deployed to it."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ape
import pytest
from eth_account import Account

from scripts._anvil import await_empty_pool, running_anvil
from scripts._build import ROOT
from scripts._deployment.errors import explained
from scripts._deployment.execution import execute, survey
from scripts._deployment.live_chain import Chain
from scripts._deployment.parameters import ContractParameters
from scripts._deployment.plan import make_plan
from scripts._deployment.records import Records
from scripts._deployment.wallet import Wallet
from scripts._explorer import use_explorer

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE_SEPOLIA = 84532
FUJI = 43113
DEPLOYER_KEY = "0x" + "ab" * 32
PASSPHRASE = "correct horse battery staple"  # noqa: S105  # of a key that is worth nothing
SALTS = [f"0x{number:064x}" for number in range(1, 4)]


@dataclass
class Network:
    """A chain with an account that deploys to it.

    Attributes:
        url: The node.
        chain: The chain.
        provider: Ape's connection.
        account: The account.
        wallet: The same, as deployments use it.
    """

    url: str
    chain: Chain
    provider: Any
    account: Any
    wallet: Wallet

    @property
    def sent(self) -> int:
        """The number of transactions that the account has sent."""
        return self.chain.next_nonce(self.account.address)

    def request(self, method: str, *arguments: object) -> Any:
        """Ask the node itself for something."""
        return self.provider.make_request(method, list(arguments))

    def restore(self, snapshot: str) -> None:
        """Undo what was done since a snapshot."""
        await_empty_pool(self.provider)
        assert self.request("evm_revert", snapshot)

    def send(self, transaction: dict[str, object]) -> str:
        """Have the node sign and send a transaction, and wait until it is in a block; the answer is its hash."""
        eth = self.provider.web3.eth
        return (
            f"0x{bytes(eth.wait_for_transaction_receipt(eth.send_transaction(transaction))['transactionHash']).hex()}"
        )

    def deploy(self, plan, records: Records, *, timeout: float = 120, tell=lambda _: None):
        """Do what `ape run deploy` does."""
        with explained("The node fails"), records.locked(self.chain.chain_id):
            survey(self.chain, plan, records.load(self.chain.chain_id, self.chain.network))
            wallet = Wallet(self.account, self.chain.chain_id)
            yield from execute(self.chain, wallet, plan, records, timeout=timeout, tell=tell)


@contextmanager
def connected(networks, account, url: str, choice: str = "base:sepolia") -> Iterator[Network]:
    with networks.parse_network_choice(f"{choice}:{url}") as provider:
        use_explorer(provider.network, None)
        chain = Chain(provider.web3, choice)
        yield Network(url, chain, provider, account, Wallet(account, chain.chain_id))


@pytest.fixture(scope="session")
def account(accounts):
    """Pays for deployments."""
    return accounts[0]


@pytest.fixture
def node() -> Iterator[str]:
    """The URL of a fresh chain's node."""
    with running_anvil("--chain-id", str(BASE_SEPOLIA)) as url:
        yield url


@pytest.fixture
def network(networks, account, node) -> Iterator[Network]:
    with connected(networks, account, node) as network:
        yield network


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path / "deployments")


@pytest.fixture(scope="session")
def parameters() -> dict[str, ContractParameters]:
    """Three contracts, two of which need the first, listed in the wrong order."""
    return {
        "MockRegistry": ContractParameters(salt=SALTS[0], arguments={"identityRegistry": "$IdentityRegistry"}),
        "MockWallet": ContractParameters(salt=SALTS[1], arguments={"key": "$MockRegistry"}),
        "IdentityRegistry": ContractParameters(salt=SALTS[2]),
    }


@pytest.fixture(scope="session")
def plan(parameters):
    return make_plan(parameters)


@pytest.fixture
def home(tmp_path) -> Path:
    """The data folder of a user of Ape's, with a key file `deployer`."""
    (tmp_path / "accounts").mkdir()
    keyfile = Account.encrypt(DEPLOYER_KEY, PASSPHRASE, kdf="pbkdf2", iterations=1000)
    (tmp_path / "accounts" / "deployer.json").write_text(json.dumps(keyfile))
    (tmp_path / "packages").symlink_to(ape.config.DATA_FOLDER / "packages")
    return tmp_path


def run_ape(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"APE_DATA_FOLDER": str(home)} | variables
    command = [ROOT / ".venv/bin/ape", "run", *arguments]
    return subprocess.run(  # noqa: S603  # the project's own command
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
