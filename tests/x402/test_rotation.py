"""Keys are rotated with an overlap, and each change sets the agent's URI."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402 import (
    CheckName,
    Ed25519Key,
    InvalidKeyError,
    Outcome,
    RemoteKey,
    Secp256k1Key,
    add_signer,
    declare_8004_reputation,
    list_signers,
    retire_signer,
)
from tests.x402.buying import buy
from tests.x402.world import SIGNING_KEY, signer_entry

NEW = Ed25519Key(bytes(range(4, 36)))


@pytest.fixture
def own(register, seller, publish):
    """An agent whose file lists the usual signing key."""
    agent_id = register(seller)
    publish(agent_id)
    return agent_id


def test_key_is_rotated_with_an_overlap_of_a_day(own, selling_client, sell, deployment, verifier, enrich):
    add_signer(selling_client, own, NEW, comment="hot wallet of 2026").wait()
    retire_signer(selling_client, own, SIGNING_KEY.public_key.upper()).wait()
    old, new = list_signers(selling_client, own)
    left = old.valid_until - datetime.now(UTC).timestamp()
    assert 24 * 3600 - 60 < left <= 24 * 3600
    assert (new.public_key, new.algorithm, new.role) == (NEW.public_key, "ed25519", "delegate")
    assert (new.valid_until, new.comment) == (None, "hot wallet of 2026")
    declared = declare_8004_reputation(own, deployment)
    for key in (SIGNING_KEY, NEW):
        with sell(declared, key=key) as url:
            assert verifier.verify(buy(url, enrich())).is_verified


def test_new_key_counts_for_clients_whose_clocks_lag(own, selling_client):
    add_signer(selling_client, own, NEW).wait()
    file = selling_client.load_agent(own).file
    for seconds, is_valid in ((0, True), (45, True), (120, False)):
        valid = file.valid_signers(datetime.now(UTC) - timedelta(seconds=seconds))
        assert (NEW.public_key in {signer.public_key for signer in valid}) is is_valid


def test_stolen_key_stops_counting_at_once_and_its_past_stays_provable(
    own, selling_client, sell, deployment, verifier, enrich
):
    with sell(declare_8004_reputation(own, deployment)) as url:
        paid = buy(url, enrich())
    retire_signer(selling_client, own, SIGNING_KEY.public_key, overlap=timedelta(0)).wait()
    assert verifier.verify(paid).outcome(CheckName.SIGNERS) is Outcome.FAILED
    assert verifier.verify(paid, historical=True).is_verified


def test_retired_key_never_counts_longer_than_before(register, seller, publish, selling_client):
    agent_id, soon = register(seller), int(datetime.now(UTC).timestamp()) + 600
    publish(agent_id, signer_entry(valid_until=soon))
    with pytest.raises(InvalidArgumentError, match="changes nothing in the registration file"):
        retire_signer(selling_client, agent_id, SIGNING_KEY.public_key)
    retire_signer(selling_client, agent_id, SIGNING_KEY.public_key, overlap=timedelta(seconds=300)).wait()
    assert list_signers(selling_client, agent_id)[0].valid_until < soon


def test_other_fields_of_the_file_stay(register, seller, publish, selling_client):
    agent_id = register(seller)
    publish(agent_id, x402Support=True, custom={"kept": [1]})
    add_signer(selling_client, agent_id, NEW).wait()
    file = selling_client.load_agent(agent_id).file
    assert (file.x402_support, file.to_object()["custom"]) == (True, {"kept": [1]})


def test_listed_key_is_refused(own, selling_client):
    with pytest.raises(InvalidArgumentError, match="is already listed"):
        add_signer(selling_client, own, SIGNING_KEY)


def test_key_that_does_not_sign_is_refused(own, selling_client):
    with pytest.raises(InvalidKeyError):
        add_signer(selling_client, own, RemoteKey(NEW.public_key, lambda _: bytes(64), "ed25519"))


def test_full_file_takes_no_further_key(register, seller, publish, selling_client):
    agent_id = register(seller)
    keys = [Ed25519Key(number.to_bytes(32)) for number in range(64)]
    publish(agent_id, *(signer_entry(key) for key in keys[:63]))
    add_signer(selling_client, agent_id, keys[63]).wait()
    with pytest.raises(InvalidArgumentError, match="lists 64 keys"):
        add_signer(selling_client, agent_id, NEW)


@pytest.mark.parametrize("public_key", ["", Secp256k1Key(bytes(range(9, 41))).public_key])
def test_key_that_is_not_listed_cannot_be_retired(own, selling_client, public_key):
    with pytest.raises(InvalidArgumentError, match="no valid key"):
        retire_signer(selling_client, own, public_key)


def test_expired_key_cannot_be_retired(register, seller, publish, selling_client):
    agent_id = register(seller)
    publish(agent_id, signer_entry(valid_until=1))
    with pytest.raises(InvalidArgumentError, match="no valid key"):
        retire_signer(selling_client, agent_id, SIGNING_KEY.public_key)


def test_time_without_a_zone_is_refused(own, selling_client):
    with pytest.raises(InvalidArgumentError, match="no time zone"):
        add_signer(selling_client, own, NEW, valid_from=datetime(2026, 1, 1))  # noqa: DTZ001  # the mistake


def test_agent_without_a_file_has_nothing_to_rotate(register, seller, selling_client):
    with pytest.raises(InvalidArgumentError, match="has no registration file"):
        list_signers(selling_client, register(seller))


def test_file_that_cannot_be_loaded_is_reported(register, seller, selling_client):
    agent_id = register(seller)
    selling_client.set_agent_uri(agent_id, "data:application/json,[]").wait()
    with pytest.raises(ValueError, match="JSON list"):
        list_signers(selling_client, agent_id)
