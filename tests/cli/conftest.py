"""The command line on a real chain: registries, their deployment record, keystores, and a way to run commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import ape
import pytest
from eth_account import Account

from bilateral.cli.app import load
from bilateral.cli.options import GROUPS
from tests.commands import run_here
from tests.helpers import uses_chain

PASSPHRASE = "correct horse"  # noqa: S105  # of keystores that tests make


@pytest.fixture(autouse=True)
def _clock(_isolation, request):
    """Set the chain's clock, which went back with the changes of each test: commands compare it with this machine's."""
    if uses_chain(request):
        ape.chain.provider.make_request("evm_setTime", [int(time.time())])


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry of this folder's own, so that agent ids start at 1."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def reputation(deployer, project, identity):
    return deployer.deploy(project.BidirectionalReputationRegistry, identity)


@pytest.fixture(scope="session")
def authorized(deployer, project, identity):
    return deployer.deploy(project.AuthorizedReputationRegistry, identity)


@pytest.fixture(scope="session")
def validation(deployer, project, identity):
    return deployer.deploy(project.ValidationRegistry, identity)


@pytest.fixture(scope="session")
def record(tmp_path_factory, identity, reputation, authorized, validation):
    """The deployment record of these registries."""
    contracts = {
        "IdentityRegistry": identity,
        "BidirectionalReputationRegistry": reputation,
        "AuthorizedReputationRegistry": authorized,
        "ValidationRegistry": validation,
    }
    places = {name: {"address": contract.address} for name, contract in contracts.items()}
    path = tmp_path_factory.mktemp("deployment") / "31337.json"
    path.write_text(json.dumps({"chainId": ape.chain.chain_id, "contracts": places}))
    return path


@pytest.fixture(scope="session")
def environment(record, tmp_path_factory):
    """The environment variables that commands see, beside those of the process."""
    return {
        "BILATERAL_RPC_URL": ape.chain.provider.uri,
        "BILATERAL_DEPLOYMENT": str(record),
        "APE_DATA_FOLDER": str(tmp_path_factory.mktemp("ape")),
        "COLUMNS": "200",
    }


@pytest.fixture(scope="session")
def token(deployer, project):
    return deployer.deploy(project.MockPaymentToken)


@pytest.fixture(scope="session")
def buyer_registry(deployer, project, identity, token, attestor, anchorer):
    return deployer.deploy(project.BuyerReputationRegistry, identity, [token], attestor, anchorer)


@pytest.fixture(scope="session")
def with_buyers(buyer_registry, record, tmp_path_factory):
    """The variable that names a deployment with the registry."""
    parsed = json.loads(record.read_text())
    parsed["contracts"]["BuyerReputationRegistry"] = {"address": buyer_registry.address}
    path = tmp_path_factory.mktemp("buyers") / "31337.json"
    path.write_text(json.dumps(parsed))
    return {"BILATERAL_DEPLOYMENT": str(path)}


def commands_of(group):
    """Return the commands of a group by name; those of a group inside it by both names."""
    commands = {}
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        commands |= {name: command} if inner is None else {f"{name} {last}": value for last, value in inner.items()}
    return commands


GROUP_COMMANDS = {group: commands_of(load(group)) for group in GROUPS}
"""The commands of each group, by name."""


@dataclass
class Ran:
    """The exit code and the outputs of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        return json.loads(self.err)


@pytest.fixture(scope="session")
def bilateral(environment):
    """Runs a command, in this process, as a user who has a key."""

    def run(*arguments, key=None, stdin=None, **variables):
        keys = {"BILATERAL_PRIVATE_KEY": key.private_key} if key else {}
        return Ran(*run_here(*arguments, environment=environment | keys | variables, stdin=stdin))

    return run


@pytest.fixture(scope="session")
def done(bilateral):
    """Runs a command that must succeed, and returns what it wrote as JSON."""

    def run(*arguments, **settings):
        ran = bilateral(*arguments, "--json", **settings)
        assert (ran.code, ran.err) == (0, "")
        return ran.json

    return run


@pytest.fixture(scope="session")
def refused(bilateral):
    """Runs a command that must fail with an exit code, and returns the error that it wrote as JSON."""

    def run(code, *arguments, **settings):
        ran = bilateral(*arguments, "--json", **settings)
        assert (ran.code, ran.out) == (code, "")
        assert ran.error.keys() == {"reason", "message", "arguments", "transaction"}
        return ran.error

    return run


@pytest.fixture
def keystore(environment, tmp_path):
    """Puts an account where Ape keeps its own, under an alias; returns the variables that let commands find it."""

    def make(alias, account, folder=tmp_path):
        accounts = folder / "accounts"
        accounts.mkdir(exist_ok=True)
        encrypted = Account.encrypt(account.private_key, PASSPHRASE, kdf="pbkdf2", iterations=1)
        (accounts / f"{alias}.json").write_text(json.dumps(encrypted))
        return {"APE_DATA_FOLDER": str(folder)}

    return make


@pytest.fixture
def agent(identity, owner):
    """The agent under test, without a registration file."""
    identity.register(sender=owner)
    return 1


@pytest.fixture(scope="session")
def command():
    """The console script, as it was installed."""
    return str(Path(sys.executable).parent / "bilateral")


@pytest.fixture
def start(command, environment):
    """Starts a command in a process of its own."""

    def start(*arguments, key=None, **variables):
        keys = {"BILATERAL_PRIVATE_KEY": key.private_key} if key else {}
        return subprocess.Popen(  # noqa: S603
            [command, *map(str, arguments)],
            env=environment | {"PATH": os.environ["PATH"]} | keys | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def run(start):
    """Runs a command to its end: `(exit code, standard output, standard error output)`."""

    def run(*arguments, **settings):
        process = start(*arguments, **settings)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    return run


@pytest.fixture
def stalled(chain):
    """The chain takes transactions, and puts none into a block."""
    provider = chain.provider
    provider.make_request("evm_setAutomine", [False])
    yield lambda: int(provider.make_request("txpool_status", [])["pending"], 16)
    provider.make_request("anvil_dropAllTransactions", [])
    provider.make_request("evm_setAutomine", [True])
