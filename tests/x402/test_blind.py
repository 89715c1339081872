"""A paid answer carries the server's envelope, sealed before the server knows the client's opinion."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import replace

import pytest

from bilateral.client import Client
from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations.blind import pair_of
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.x402 import (
    BlindSealer,
    BlindTerms,
    InvalidMessageError,
    Outcome,
    Reputation8004ResourceServerExtension,
    ReputationInfo,
    declare_8004_reputation,
)
from tests.x402.buying import buy
from tests.x402.world import signer_entry

RATING = 35


@pytest.fixture
def vault(tmp_path):
    return BlindVault(tmp_path / "server.sqlite")


@pytest.fixture
def host(enrich, register, rpc, deployment):
    """The client of a new server, whose agent has a file with its signing key, and the agent."""
    owner = enrich()
    agent_id = register(owner)
    file = RegistrationFile.new(
        "Host",
        "It seals its ratings",
        "https://agent.example/i.png",
        signers=[signer_entry()],
        registrations=[{"agentId": agent_id, "agentRegistry": str(deployment.agent_registry)}],
    )
    with Client(rpc, signer=owner, deployment=deployment, poll_interval=0.02) as client:
        client.set_agent_uri(agent_id, DataUriStore().put(file.to_bytes()).uri).wait()
        yield client, owner, agent_id


@pytest.fixture
def blind_shop(sell, host, deployment, vault):
    """Opens a shop whose answers carry envelopes on some terms."""
    client, owner, agent_id = host

    @contextmanager
    def open_shop(terms, rate=lambda *_: RATING):
        sealer = BlindSealer(client, vault, rate)
        extension = lambda key: Reputation8004ResourceServerExtension(key, blind=sealer)  # noqa: E731
        declared = declare_8004_reputation(agent_id, deployment, blind=terms)
        with sell(declared, pay_to=owner.address, kind=extension) as url:
            yield url

    return open_shop


@pytest.fixture
def guest(enrich, register):
    """A buyer with an agent."""
    account = enrich()
    register(account)
    return account


def test_client_answers_the_envelope_of_a_paid_answer(
    blind_shop, guest, verifier, rpc, deployment, vault, tmp_path, host
):
    with blind_shop(BlindTerms()) as url:
        verification = verifier.verify(buy(url, guest))
    assert verification.is_verified, verification.problems
    assert verification.envelope.outcome is Outcome.PASSED
    offer = verification.envelope.envelope
    assert offer.envelope.interaction.hex() == verification.interaction.payment.transaction.removeprefix("0x")
    with Client(rpc, signer=guest, deployment=deployment, poll_interval=0.02) as client:
        own = BlindVault(tmp_path / "client.sqlite")
        answer = client.seal_feedback(own, offer, 12, "starred")
        client.seal_ratings(answer, offer).wait()
        pair, _ = pair_of(answer, offer)
        openings = [kept.opening for kept in (*own.all(), *vault.all())]
        opened = client.open_ratings(pair, openings).wait()
    assert (opened.rating, opened.server.token_id) == (RATING, host[2])


def test_answers_before_the_declared_interaction_carry_no_envelope(blind_shop, guest, verifier):
    with blind_shop(BlindTerms(after=2)) as url:
        first, second = (verifier.verify(buy(url, guest)) for _ in range(2))
    assert first.is_verified and first.envelope.outcome is Outcome.UNCHECKED
    assert second.is_verified and second.envelope.outcome is Outcome.PASSED


def test_missing_envelope_fails_its_own_check_and_no_other_one(blind_shop, guest, buyer, verifier):
    """A buyer without an agent gets none, and a server may have no rating yet. A wallet that fails changes nothing."""

    def broken(*_):
        raise OSError("the vault's disk is full")

    with blind_shop(BlindTerms(), broken) as url:
        failed = verifier.verify(buy(url, guest))
    with blind_shop(BlindTerms(), lambda *_: None) as url:
        unrated, without_agent = (verifier.verify(buy(url, payer)) for payer in (guest, buyer))
    for verification in (failed, unrated, without_agent):
        assert verification.is_verified, verification.problems
        assert verification.envelope.outcome is Outcome.FAILED
        assert verification.envelope.envelope is None


def test_server_without_the_terms_is_noticed_by_nobody(shop, guest, verifier):
    verification = verifier.verify(buy(shop, guest))
    assert verification.is_verified
    assert verification.envelope is None
    assert "sealedRating" not in verification.interaction.to_object()


CHANGES = {
    "interaction": lambda sealed: sealed | {"interaction": "0x" + "77" * 32},
    "client": lambda sealed: sealed | {"client": sealed["server"]},
    "signature": lambda sealed: sealed | {"deadline": sealed["deadline"] + 1},
    "seal: the field is missing": lambda sealed: {name: sealed[name] for name in sealed if name != "seal"},
    "kind": lambda sealed: sealed | {"kind": "FeedbackOpening"},
    "expected a server's envelope, not a client's": lambda sealed: sealed | {"kind": "SealedFeedback"},
    "expected an object": lambda _: ["envelope"],
    "exceed the limit": lambda sealed: sealed | {"signature": "0x" + "00" * 9_000},
}


def test_wrong_envelope_is_named_by_its_field(blind_shop, guest, verifier):
    with blind_shop(BlindTerms()) as url:
        paid = buy(url, guest)
    for problem, change in CHANGES.items():
        settlement = copy.deepcopy(paid.settlement)
        statement = settlement["extensions"]["8004-reputation"]
        statement["sealedRating"] = change(statement["sealedRating"])
        verification = verifier.verify(replace(paid, settlement=settlement))
        assert verification.is_verified
        assert verification.envelope.outcome is Outcome.FAILED
        assert problem in verification.envelope.problem


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"after": 0, "lifetime": 60}, "blind.after"),
        ({"after": 1, "lifetime": 14 * 86_400 + 1}, "blind.lifetime"),
        ({"after": 1}, "lifetime"),
        ({"after": True, "lifetime": 60}, "after"),
        ([1, 60], "blind"),
    ],
)
def test_malformed_terms_are_refused_by_their_field(terms, field, agent, deployment):
    declared = declare_8004_reputation(agent, deployment)["8004-reputation"]["info"]
    with pytest.raises(InvalidMessageError) as refusal:
        ReputationInfo.of(declared | {"blind": terms})
    assert refusal.value.field == field


def test_terms_and_envelopes_survive_their_messages(agent, deployment):
    declared = declare_8004_reputation(agent, deployment, blind=BlindTerms(3, 600))["8004-reputation"]["info"]
    assert declared["blind"] == {"after": 3, "lifetime": 600}
    assert ReputationInfo.of(declared).blind == BlindTerms(3, 600)
