"""Fixtures that every test folder shares: the chain's users by role, and the identity registry.

Registries are deployed once a session. The chain is restored after each test, to how its session fixtures left it.
"""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
from contextlib import nullcontext

import httpx
import pytest
from ape.api import SubprocessProvider
from ape_foundry import provider as ape_foundry_provider
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from bilateral.buyers.errors import ArtifactMismatchError, ProverMissingError
from bilateral.buyers.private.prover import Prover
from scripts._build import ROOT
from tests.helpers import PORTS, isolated, uses_chain
from tests.offline import stay_offline
from tests.quick_ape import spare_work
from tests.quick_http import share_certificates
from tests.quick_sql import share_statements

pytest_plugins = [
    "tests.conformance.plugin",
    "tests.nightly",
    "tests.workers",
    "tests.api.fixtures",
    "tests.postgres",
    "tests.packaging.fixtures",
]

# A machine may tell Python to discard compiled modules. Each process of a test would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

spare_work()
share_certificates()
share_statements()
stay_offline()

settings.register_profile("seeded", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("seeded")
"""The same examples in every run, however slow the machine is."""

settings.register_profile("mutation", phases=(Phase.explicit, Phase.generate))
"""For `make mutate`, which asks whether a test fails, not for the simplest example of it."""

# Hypothesis also draws constants of all project modules that are loaded. Examples would then depend on which tests the
# same worker ran before.
providers._get_local_constants = providers.Constants


SubprocessProvider.start.__defaults__ = (120,)
"""The seconds in which Ape's own anvil must answer: 20 are too few while all workers of a run compute."""

ape_foundry_provider.EPHEMERAL_PORTS_START, ape_foundry_provider.EPHEMERAL_PORTS_END = PORTS
"""Ape draws the port of its own anvil at random. If another socket has it, anvil ends, and Ape waits for it still."""

vars(httpx._config.DEFAULT_TIMEOUT_CONFIG).update(dict.fromkeys(("connect", "read", "write", "pool"), 120.0))
"""The seconds in which a server of a test must answer: the usual 5 are too few then, too."""

collect_ignore = [
    folder for name, folder in {"INTEROP": "interop", "NPM": "npm/sellers"}.items() if name not in os.environ
]
"""`make test-interop` and `make test-npm` run these tests, because they install packages of npm first."""


def pytest_xdist_auto_num_workers():
    """Run six processes on two cores: most of the time they wait for blocks, servers and time limits."""
    return os.cpu_count() * 3


def pytest_configure(config):
    """Compile contracts that changed. Ape would run the tests on the previous code of all that inherit from them."""
    if not hasattr(config, "workerinput") and subprocess.run([ROOT / "toolchain" / "compile.sh"]).returncode:  # noqa: PLW1510, S603
        raise pytest.UsageError("the contracts do not compile")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect garbage only after all tests are collected, and less often than usual.

    Millions of objects stay to the end. To look at them takes a second each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


@pytest.fixture(autouse=True)
def _isolation(request):
    """Undo what a test does to the chain.

    Ape's own isolation lets tests see each other's agents: it keeps all changes from before the first use of a session
    fixture. An option of pytest turns it off. Half of all tests do not use the chain, and need no snapshot.
    """
    if not uses_chain(request):
        yield
        return
    with isolated(request.getfixturevalue("chain")), _captured_receipts(request.config):
        yield


def _captured_receipts(config):
    """Let `ape test --gas` see the transactions of a test, which Ape's own isolation would capture."""
    runner = config.pluginmanager.get_plugin("ape-test")
    return runner.receipt_capture if runner.config_wrapper.track_gas else nullcontext()


@pytest.fixture(scope="session")
def prover():
    """The prover of private tiers. The first test that needs it installs its 200 MB."""
    folder = ROOT / ".cache" / "prover"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return Prover(folder)
        except (ArtifactMismatchError, ProverMissingError):
            subprocess.run(["make", "prover"], cwd=ROOT, check=True)  # noqa: S607
            return Prover(folder)


@pytest.fixture(scope="session")
def deployer(accounts):
    return accounts[0]


@pytest.fixture(scope="session")
def owner(accounts):
    """Owns the agent under test."""
    return accounts[1]


@pytest.fixture(scope="session")
def other_owner(accounts):
    """Owns other agents."""
    return accounts[2]


@pytest.fixture(scope="session")
def operator(accounts):
    """Gets approved for all of the owner's tokens, where a test does so."""
    return accounts[3]


@pytest.fixture(scope="session")
def approved(accounts):
    """Gets approved for the agent's token, where a test does so."""
    return accounts[4]


@pytest.fixture(scope="session")
def attestor(accounts):
    """States payments and feedback that happened elsewhere, in the registry of buyers."""
    return accounts[10]


@pytest.fixture(scope="session")
def anchorer(accounts):
    """Posts roots in the registry of buyers."""
    return accounts[11]


@pytest.fixture(scope="session")
def stranger(accounts):
    """Has nothing to do with the agent under test."""
    return accounts[5]


@pytest.fixture(scope="session")
def client(accounts):
    """Uses the agent under test and rates it."""
    return accounts[6]


@pytest.fixture(scope="session")
def other_client(accounts):
    """Uses the agent under test as well."""
    return accounts[7]


@pytest.fixture(scope="session")
def validator(accounts):
    """Validates the work of the agent under test."""
    return accounts[8]


@pytest.fixture(scope="session")
def wallet_key(accounts):
    """Signs for a wallet: it is an agent's wallet itself, or the key of a contract wallet."""
    return accounts[9]


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry without agents. A folder whose session fixtures register some has one of its own."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def contract_wallet(deployer, project, wallet_key):
    return deployer.deploy(project.MockWallet, wallet_key)


@pytest.fixture(scope="session")
def call_as_contract(contract_wallet, wallet_key):
    """Calls a registry as the contract wallet. The transaction is that of the wallet's key."""

    def call(registry, method, *arguments):
        data = getattr(registry, method).encode_input(*arguments)
        return contract_wallet.execute(registry, data, sender=wallet_key)

    return call
