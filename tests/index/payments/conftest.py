"""A chain on which buyers pay agents with a token, and an index that learns it."""

from __future__ import annotations

import threading

import pytest

from bilateral.index.files.worker import FileSettings
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.terms import PaymentTerms
from tests.index.payments.world import DEPLOYMENT, SELLER, TOKEN, Payments
from tests.permit2 import PaymentChain

TERMS = PaymentTerms({TOKEN: 6})


@pytest.fixture
def world(event_chain, emitter_code):
    return Payments(event_chain, emitter_code)


@pytest.fixture
def catch_up_payments(engine, event_chain):
    """Index the chain with its payments to its head."""

    def run(terms=TERMS, url=None):
        # Blocks go at any depth here, finalized ones too.
        chain = ChainSettings((url or event_chain.url,), (DEPLOYMENT,), payments=terms, trusts_reorganisation=True)
        settings = IndexSettings((chain,), files=FileSettings(workers=0), analyses=False)
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)

    return run


@pytest.fixture
def market(world, event_chain, project):
    """The chain with x402's contracts and one agent, whose wallet is `SELLER`."""
    chain = PaymentChain(event_chain.url, project)
    world.mine(world.register(1, SELLER.address))
    return chain
