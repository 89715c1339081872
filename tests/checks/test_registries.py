"""Chains with two identity registries: a check means the same agent as the rest of the service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bilateral.checks import UnknownAgentError, UnknownRegistryError
from bilateral.checks.policy import policy_of
from bilateral.core.contracts import Deployment, Registry
from bilateral.index.chain.extraction import Extraction
from bilateral.index.log import tables as schema
from bilateral.index.reading.registries import agent_key, canonical_first, read_registries
from tests.checks.ledger import CHAIN_ID, IDENTITY, REGISTRIES, account, client_rated, registered

OLDER, YOUNGER = account(0xA1), account(0xA2)
SECOND_IDENTITY = account(1)
"""The address of a younger registry. It is less than that of the oldest one."""


@pytest.fixture
def registries(ledger):
    """A ledger whose chain has a second identity registry. Both have an agent 1, and the second has an agent 2."""
    ledger.extraction = Extraction(CHAIN_ID, {**REGISTRIES, SECOND_IDENTITY: Registry.IDENTITY})
    columns = schema.registry.c.keys()
    row = (CHAIN_ID, SECOND_IDENTITY, Registry.IDENTITY.value, SECOND_IDENTITY, 1)
    with ledger.engine.begin() as connection:
        connection.execute(schema.registry.insert().values(dict(zip(columns, row, strict=True))))
    second = [replace(entry, address=SECOND_IDENTITY) for agent in (1, 2) for entry in registered(agent, YOUNGER)]
    ledger.block(*registered(1, OLDER), *second)
    return ledger


def global_id(registry, agent):
    return f"eip155:{CHAIN_ID}:{registry}#{agent}"


def test_id_without_a_registry_means_the_oldest_as_everywhere(registries):
    with registries.engine.connect() as connection:
        assert agent_key(read_registries(connection), f"{CHAIN_ID}:1").identity_registry == IDENTITY
    for asked in (1, "1", f"{CHAIN_ID}:1", f"eip155:{CHAIN_ID}:1", global_id(IDENTITY, 1)):
        assert registries.server(asked).account == OLDER
        assert registries.client(asked).account == OLDER
    assert registries.server(global_id(SECOND_IDENTITY, 1)).account == YOUNGER


def test_agent_of_another_registry_alone_is_unknown_without_the_registry(registries):
    assert registries.server(global_id(SECOND_IDENTITY, 2)).account == YOUNGER
    with pytest.raises(UnknownAgentError):
        registries.server(f"{CHAIN_ID}:2")


def test_canonical_registry_comes_before_an_older_one():
    canonical = Deployment.canonical(8453).identity
    assert canonical_first(8453, [IDENTITY, canonical, SECOND_IDENTITY]) == [canonical, IDENTITY, SECOND_IDENTITY]
    assert canonical_first(8453, [IDENTITY, SECOND_IDENTITY]) == [IDENTITY, SECOND_IDENTITY]
    assert canonical_first(CHAIN_ID, [IDENTITY, canonical]) == [IDENTITY, canonical]


def test_registry_that_is_not_indexed_is_named(registries):
    other = account(0xBAD)
    with pytest.raises(UnknownRegistryError, match=f"{other} is not indexed: choose one on chain {CHAIN_ID}"):
        registries.server(global_id(other, 1))


def test_trusted_agent_with_a_chain_or_a_registry_counts_there_alone(registries):
    """Agent 2 of the oldest registry rates agent 1 as its client. An agent 2 is in the other registry, too."""
    registries.block(*registered(2, account(0xA3)), client_rated(1, 2, 90))
    for agent, count in (
        (2, 1),
        ("2", 1),
        (f"{CHAIN_ID}:2", 1),
        (f"eip155:{CHAIN_ID}:2", 1),
        (global_id(IDENTITY, 2), 1),
        (f"eip155:{CHAIN_ID}:{IDENTITY}:2", 1),
        ("8453:2", 0),
        (global_id(SECOND_IDENTITY, 2), 0),
    ):
        trusting = policy_of({"trust": {"agents": [agent]}})
        assert registries.client(1, policy=trusting).figures["rating"]["count"] == count, agent
        assert policy_of(trusting.model_dump()) == trusting
