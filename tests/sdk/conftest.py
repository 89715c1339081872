"""Fixtures of the SDK's tests: real servers on this machine, and loaders that may talk to them."""

from __future__ import annotations

import ssl
from dataclasses import replace

import pytest
import trustme
from hypothesis import settings

from bilateral.documents import Limits, Loader, Network
from tests.sdk.servers import HttpServer, KuboServer, gateway, other_server, server  # noqa: F401  # fixtures

settings.register_profile("sdk", deadline=None, derandomize=True)
settings.load_profile("sdk")


@pytest.fixture
def kubo():
    """An IPFS node with Kubo's HTTP API."""
    with KuboServer() as running:
        yield running


@pytest.fixture(scope="session")
def authority():
    """A certificate authority that no machine trusts by default."""
    return trustme.CA()


@pytest.fixture
def secure_server(authority):
    """A web server with a certificate for localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with HttpServer(context) as running:
        yield running


@pytest.fixture
def trusting(authority, loader):
    """A loader that trusts the authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return replace(loader, network=replace(loader.network, ssl_context=context))


@pytest.fixture
def loader():
    """A loader that may connect to this machine, with a timeout of a minute."""
    return Loader(limits=Limits(bytes=64 * 1024, seconds=60), gateways=(), network=Network(allow_private=True))


@pytest.fixture
def guarded():
    """A loader with the default settings, which may not connect to this machine."""
    return Loader(limits=Limits(seconds=60), gateways=())


@pytest.fixture(scope="session")
def reputation(deployer, project, identity):
    return deployer.deploy(project.BidirectionalReputationRegistry, identity)
