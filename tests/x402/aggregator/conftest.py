"""Fixtures of the aggregator's tests: reviewers who paid, a sponsor who pays the gas, and a database on each engine."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from dataclasses import replace

import pytest

from bilateral.client import Client
from bilateral.index.log.database import open_database
from bilateral.x402.aggregator.service import Aggregator
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from tests.index.conftest import fresh_postgres, postgres  # noqa: F401  # fixtures
from tests.x402.aggregator.blind_deals import deal  # noqa: F401  # a fixture
from tests.x402.aggregator.world import Review


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """A SQLite database after all migrations. They take longer than most tests, so tests copy it."""
    path = tmp_path_factory.mktemp("migrated") / "index.sqlite"
    open_database(f"sqlite:///{path}").dispose()
    return path


@pytest.fixture
def sqlite_url(tmp_path, migrated):
    copied = shutil.copyfile(migrated, tmp_path / "index.sqlite")
    return f"sqlite:///{copied}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request):
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "fresh_postgres")


@pytest.fixture
def engine(sqlite_url):
    """The database on SQLite, for behaviours that do not depend on the engine."""
    engine = open_database(sqlite_url)
    yield engine
    engine.dispose()


@pytest.fixture
def any_engine(database_url):
    """The database on both engines."""
    engine = open_database(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def sponsor(enrich):
    """Pays the gas."""
    return enrich()


@pytest.fixture(scope="session")
def paid_by(rpc, deployment, token):
    """Make settings of the one chain, whose gas a sponsor pays."""

    def make(sponsor):
        return SponsoredChain(
            rpc, deployment, sponsor, {token.address: 1000}, budget=10**18, confirmations=1, poll_seconds=0.02
        )

    return make


@pytest.fixture
def chain_settings(paid_by, sponsor):
    return paid_by(sponsor)


@pytest.fixture
def settings_with(chain_settings):
    """Make settings of the one chain with changes."""

    def make(*, answer_seconds=30.0, lease_seconds=15.0, resend_seconds=15.0, **changes):
        return AggregatorSettings(
            (replace(chain_settings, **changes),),
            answer_seconds=answer_seconds,
            lease_seconds=lease_seconds,
            resend_seconds=resend_seconds,
            allow_private=True,
        )

    return make


@pytest.fixture
def counted():
    """The events that the idle aggregator counted."""
    return Counter()


@pytest.fixture
def idle(engine, settings_with, counted):
    """An aggregator whose worker does not run: what it takes stays queued."""
    aggregator = Aggregator(engine, settings_with(), observe=lambda name, amount: counted.update({name: amount}))
    yield aggregator
    aggregator.close()


@pytest.fixture
def aggregator(engine, settings_with):
    """An aggregator at work."""
    with Aggregator(engine, settings_with()) as made:
        yield made


@pytest.fixture
def review(web3, token, enrich, seller, agent, deployment, rpc):
    """Make the review of a new payment, by a new reviewer or a given one."""
    numbers = itertools.count()

    def make(by=None, *, amount=1000, pay_to=seller.address, agent_id=agent, **changes):
        return Review.paid(
            web3, token, by or enrich(), pay_to, amount, deployment, agent_id, number=next(numbers), **changes
        )

    return make


@pytest.fixture
def values_of(rpc, deployment, agent):
    """Return the values that a reviewer has given the agent on chain."""

    def read(reviewer):
        with Client(rpc, deployment=deployment) as client:
            feedback = client.search_feedback(agent, reviewers=[reviewer.address], include_revoked=True)
            return [int(entry.value) for entry in feedback]

    return read
