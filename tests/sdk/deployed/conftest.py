"""Fixtures: one chain for a session, and a world for each deployment and each kind of client."""

from __future__ import annotations

import pytest
from web3 import HTTPProvider, Web3

from bilateral.client import Client
from tests.sdk.client.helpers import Awaited
from tests.sdk.client.unreliable import UnreliableNode
from tests.sdk.deployed.world import canonical_chain, make_worlds


@pytest.fixture(scope="session")
def url(project):
    """A chain with the stand-ins at the canonical registries' addresses."""
    with canonical_chain() as running:
        yield running


@pytest.fixture(scope="session")
def web3(url):
    return Web3(HTTPProvider(url))


@pytest.fixture(scope="session")
def all_worlds(url):
    """The worlds of each kind of client, by deployment."""
    return {kind: make_worlds(url, kind) for kind in (Client, Awaited)}


@pytest.fixture(params=[Client, Awaited], ids=["Client", "AsyncClient"])
def worlds(request, all_worlds):
    """The world of each deployment, with clients of one kind and then of the other."""
    return all_worlds[request.param]


@pytest.fixture
def canonical(worlds):
    """The world of the canonical registries. No client of it names a deployment."""
    return worlds["canonical"]


@pytest.fixture
def node(url):
    """A node that misbehaves as a test wants it to."""
    with UnreliableNode(url) as running:
        yield running
