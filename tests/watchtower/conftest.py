"""A chain with all registries for the tests of publishing, and the accounts that use it."""

from __future__ import annotations

import pytest

from bilateral.client import Client
from bilateral.documents import FolderStore
from tests.sdk.client import conftest as chain

rpc, web3, deployment, node = chain.rpc, chain.web3, chain.deployment, chain.node
owner, newcomer, register = chain.owner, chain.newcomer, chain.register


@pytest.fixture
def evidence(tmp_path):
    """The folder of the evidence."""
    return tmp_path / "evidence"


@pytest.fixture
def connect(deployment, evidence):
    """Makes a client of an account that stores evidence in the folder."""
    clients = []

    def make(signer, to):
        store = FolderStore(evidence, "https://tower.example/evidence")
        clients.append(Client(to, signer=signer, deployment=deployment, store=store, poll_interval=0.02))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
