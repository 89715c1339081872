"""Blind ratings by the client: sealed, exchanged and opened by both kinds of client, on a real chain."""

from __future__ import annotations

import json
import signal
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
from eth_account import Account
from eth_utils import keccak

from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations.blind import pair_of
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    AlreadySealedError,
    EnvelopeMismatchError,
    InvalidArgumentError,
    SealMismatchError,
    SealUnsettledError,
)
from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_messages import RatingOpening, SignedEnvelope, read_opening
from bilateral.core.signatures.blind_ratings import CLIENT_SILENCE_SECONDS, Pair, RatingState, rating_seal
from tests.sdk.client.helpers import nonce_of

pytestmark = pytest.mark.one_client

INTERACTION = keccak(text="a paid interaction")

KILLED_WHILE_SIGNING = """
import os, signal, sys
from eth_account import Account
from bilateral.client import Client
from bilateral.client.blind_vault import BlindVault
from bilateral.core.contracts import Deployment

rpc, key, vault, client_id, client, *addresses = sys.argv[1:]

class Killed:
    account = Account.from_key(key)
    address = account.address
    def sign_transaction(self, transaction): raise AssertionError
    def sign_message(self, message): os.kill(os.getpid(), signal.SIGKILL)

chain_id, identity, reputation = int(addresses[0]), addresses[1], addresses[2]
deployment = Deployment(chain_id=chain_id, identity=identity, reputation=reputation)
Client(rpc, signer=Killed(), deployment=deployment).seal_rating(
    BlindVault(vault), int(client_id), 20, client=client, interaction=bytes.fromhex(addresses[3])
)
"""


@pytest.fixture
def enrol(web3, register):
    """A function that makes an account with an agent, and returns both."""

    def enrol():
        account = Account.create()
        web3.provider.make_request("anvil_setBalance", [account.address, hex(10**20)])
        return account, register(account)

    return enrol


@pytest.fixture
def server(enrol):
    return enrol()


@pytest.fixture
def client(enrol):
    return enrol()


@pytest.fixture
def vaults(tmp_path):
    """The vault of the server, and the vault of the client."""
    return BlindVault(tmp_path / "server" / "blind.sqlite"), BlindVault(tmp_path / "client.sqlite")


@pytest.fixture
def offer(connect, server, client, vaults):
    """A function that seals the server's rating, by default 20."""

    def offer(rating=20, interaction=INTERACTION, **options):
        sides = {"client": client[0].address, "interaction": interaction}
        return connect(server[0]).seal_rating(vaults[0], client[1], rating, **sides, **options)

    return offer


@pytest.fixture
def envelopes(connect, client, vaults, offer):
    """Both envelopes: the server's first, and then the client's."""
    theirs = offer()
    return connect(client[0]).seal_feedback(vaults[1], theirs, 87, "starred"), theirs


@pytest.fixture
def openings(deployment, vaults, envelopes):
    """The openings of the client and of the server, as their vaults keep them."""
    domain = Domain(deployment.chain_id, deployment.reputation)
    return [vault.opening_of(domain, sealed.envelope) for vault, sealed in zip(vaults[::-1], envelopes, strict=True)]


def test_pair_is_sealed_and_then_opened(connect, payer, client, server, envelopes, openings):
    relayer = connect(payer)
    sealed = relayer.seal_ratings(*envelopes).wait()
    assert (sealed.client, sealed.server, sealed.interaction) == (client[1], server[1], INTERACTION)
    pair, _ = pair_of(*envelopes)
    status = relayer.get_blind_status(client[1], server[1])
    assert (status.state, status.pair_hash, status.is_feedback_open) == (RatingState.SEALED, pair.hash, False)
    with pytest.raises(ContractRevertError) as refusal:
        connect(server[0]).rate_client(client[1], 0)
    assert refusal.value.reason == "already_rated"
    opened = relayer.open_ratings(pair, openings).wait()
    assert (opened.rating, opened.feedback.client, opened.feedback.on_chain_index) == (20, client[0].address, 1)
    assert relayer.get_client_rating(client[1], server[1]).rating == 20
    assert relayer.get_feedback(opened.feedback, load_file=False).value == 87
    assert relayer.get_blind_status(client[1], server[1]).state == RatingState.BLIND


def test_client_opens_first_and_the_server_after_it(connect, client, server, envelopes, openings):
    connect(client[0]).seal_ratings(*envelopes).wait()
    pair, _ = pair_of(*envelopes)
    rating = connect(server[0])
    with pytest.raises(InvalidArgumentError, match="the client's feedback is sealed; wait until it is opened"):
        rating.open_ratings(pair, openings[1:])
    opened = connect(client[0]).open_ratings(pair, openings[:1]).wait()
    assert (opened.rating, opened.feedback.on_chain_index) == (None, 1)
    opened = rating.open_ratings(pair, openings[1:]).wait()
    assert (opened.rating, opened.feedback) == (20, None)


def test_server_opens_alone_when_the_client_was_silent_for_two_weeks(
    connect, web3, client, server, envelopes, openings
):
    connect(client[0]).seal_ratings(*envelopes).wait()
    pair, _ = pair_of(*envelopes)
    snapshot = web3.provider.make_request("evm_snapshot", [])["result"]
    try:
        web3.provider.make_request("evm_setNextBlockTimestamp", [pair.client_deadline + CLIENT_SILENCE_SECONDS])
        web3.provider.make_request("evm_mine", [])
        assert connect(server[0]).open_ratings(pair, openings[1:]).wait().rating == 20
    finally:
        web3.provider.make_request("evm_revert", [snapshot])


def test_exchange_is_refused_where_a_public_mempool_may_show_it(connect, payer, web3, envelopes, openings):
    before = nonce_of(web3, payer)
    with pytest.raises(InvalidArgumentError, match=r"chain 31337 may have a public mempool"):
        connect(payer).exchange(envelopes, openings)
    assert nonce_of(web3, payer) == before
    opened = connect(payer).exchange(envelopes[::-1], openings[::-1], accept_public_mempool=True).wait()
    assert (opened.rating, opened.feedback.on_chain_index) == (20, 1)


def test_nothing_is_opened_before_the_seal_has_enough_blocks(connect, payer, web3, envelopes, openings):
    relayer = connect(payer)
    relayer.seal_ratings(*envelopes).wait()
    pair, _ = pair_of(*envelopes)
    before = nonce_of(web3, payer)
    with pytest.raises(SealUnsettledError, match="have not been sealed for 3 blocks"):
        relayer.open_ratings(pair, openings, confirmations=3, timeout=0.1)
    assert nonce_of(web3, payer) == before
    web3.provider.make_request("anvil_mine", ["0x2"])
    assert relayer.open_ratings(pair, openings, confirmations=3, timeout=0.1).wait().rating == 20


def test_second_call_for_an_interaction_signs_the_same_seal(offer, vaults):
    assert offer().envelope.seal == offer(lifetime=60).envelope.seal
    assert offer(interaction=keccak(text="another")).envelope.seal != offer().envelope.seal
    assert len(vaults[0].all()) == 2


def test_nobody_reads_a_seal_by_hashing_the_whole_scale(offer, vaults):
    """The salt is new for each interaction: without it, and with that of another one, 101 hashes reveal nothing."""
    sealed = [offer(interaction=keccak(text=name)).envelope for name in ("one", "another")]
    salts = [kept.opening.salt for kept in vaults[0].all()]
    assert len(set(salts)) == len(salts) == 2
    for envelope, known in zip(sealed, salts[::-1], strict=True):
        guesses = {
            rating_seal(rating, salt, envelope.client_id, envelope.server_id)
            for rating in range(101)
            for salt in (known, bytes(32))
        }
        assert envelope.seal not in guesses


def test_second_rating_for_an_interaction_is_refused(offer):
    seal = offer(rating=20).envelope.seal
    with pytest.raises(AlreadySealedError, match="a different rating is already sealed"):
        offer(rating=100)
    assert offer(rating=20).envelope.seal == seal


def test_salt_survives_a_process_that_is_killed_while_it_signs(rpc, deployment, server, client, vaults, offer):
    addresses = (str(deployment.chain_id), deployment.identity, deployment.reputation, INTERACTION.hex())
    arguments = (rpc, server[0].key.hex(), str(vaults[0].path), str(client[1].token_id), client[0].address, *addresses)
    run = subprocess.run(  # noqa: S603  # our own program
        [sys.executable, "-c", KILLED_WHILE_SIGNING, *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    (kept,) = vaults[0].all()
    assert (kept.opening.rating, kept.signed) == (20, None)
    signed = offer(rating=20)
    assert signed.envelope.seal == kept.opening.seal_for(signed.envelope)
    with pytest.raises(AlreadySealedError):
        offer(rating=95)


def test_vault_is_readable_for_its_owner_alone(offer, vaults):
    offer()
    assert stat.S_IMODE(vaults[0].path.stat().st_mode) == 0o600
    with sqlite3.connect(vaults[0].path) as database:
        ((text,),) = database.execute("SELECT opening FROM sealed").fetchall()
    assert read_opening(text) == vaults[0].all()[0].opening


def test_offer_for_another_client_is_refused(connect, enrol, vaults, offer):
    stranger, _ = enrol()
    with pytest.raises(InvalidArgumentError, match="offer: the envelope is for client"):
        connect(stranger).seal_feedback(vaults[1], offer(), 87, "starred")
    assert vaults[1].all() == []


def test_forged_offer_is_refused(connect, client, vaults, offer):
    signed = offer()
    forged = SignedEnvelope(replace(signed.envelope, seal=keccak(text="another seal")), signed.signature)
    with pytest.raises(InvalidArgumentError, match=r"signature: .* did not sign the envelope"):
        connect(client[0]).seal_feedback(vaults[1], forged, 87, "starred")
    assert vaults[1].all() == []


def test_expired_offer_is_refused(connect, client, vaults, offer, web3):
    signed = offer(lifetime=1)
    web3.provider.make_request("evm_increaseTime", [5])
    web3.provider.make_request("evm_mine", [])
    with pytest.raises(InvalidArgumentError, match=r"deadline: \d+ has passed"):
        connect(client[0]).seal_feedback(vaults[1], signed, 87, "starred")


@pytest.mark.parametrize("lifetime", [0, 14 * 86_400 + 1])
def test_lifetime_out_of_range_is_refused(offer, lifetime):
    with pytest.raises(InvalidArgumentError, match=rf"lifetime {lifetime} is out of range 1\.\.1209600 seconds"):
        offer(lifetime=lifetime)


@pytest.mark.parametrize("rating", [-1, 101])
def test_rating_that_could_never_be_opened_is_not_sealed(offer, vaults, rating):
    with pytest.raises(InvalidArgumentError, match=rf"rating {rating} is out of range 0\.\.100"):
        offer(rating=rating)
    assert vaults[0].all() == []


def test_account_that_does_not_speak_as_the_client_is_refused(connect, enrol, server, client, vaults):
    stranger, _ = enrol()
    with pytest.raises(InvalidArgumentError, match="client: the primary agent of"):
        connect(server[0]).seal_rating(vaults[0], client[1], 20, client=stranger.address, interaction=INTERACTION)


def test_envelopes_of_two_interactions_are_not_sent(connect, payer, envelopes, offer):
    with pytest.raises(EnvelopeMismatchError, match="interaction"):
        connect(payer).seal_ratings(envelopes[0], offer(interaction=keccak(text="another")))
    with pytest.raises(InvalidArgumentError, match="expected one from the client and one from the server"):
        connect(payer).seal_ratings(envelopes[0], envelopes[0])


def test_opening_that_does_not_fit_is_not_sent(connect, payer, web3, envelopes, openings):
    relayer = connect(payer)
    relayer.seal_ratings(*envelopes).wait()
    pair, _ = pair_of(*envelopes)
    before = nonce_of(web3, payer)
    with pytest.raises(SealMismatchError, match="use the salt and the rating that were sealed"):
        relayer.open_ratings(pair, [openings[0], RatingOpening(100, openings[1].salt)])
    assert nonce_of(web3, payer) == before


def test_messages_survive_json(envelopes, openings):
    for envelope in envelopes:
        assert SignedEnvelope.from_json(envelope.to_json()) == envelope
    for opening in openings:
        assert read_opening(opening.to_json()) == opening


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("seal", "0x1234", "seal must be 32 bytes, not 2 bytes"),
        ("seal", 5, "seal: expected 0x and an even number of hexadecimal digits"),
        ("client_id", "7", "client_id: expected a whole number"),
        ("client_id", True, "client_id: expected a whole number"),
        ("client_id", 0, "client_id must be from 1"),
        ("client", "0x12", "client must be an EIP-55 checksummed address"),
        ("deadline", 2**256, "deadline must be from 1"),
        ("kind", "Sealed", "kind: expected one of SealedFeedback, SealedRating"),
        ("extra", 1, "extra: the field is unknown"),
        ("server", None, "server: expected a string"),
    ],
)
def test_malformed_envelope_is_refused_with_its_field(envelopes, field, value, message):
    text = json.dumps(json.loads(envelopes[1].to_json()) | {field: value})
    with pytest.raises(InvalidArgumentError, match=message):
        SignedEnvelope.from_json(text)


def test_pair_hash_is_the_registrys(connect, payer, client, server, envelopes):
    relayer = connect(payer)
    relayer.seal_ratings(*envelopes).wait()
    assert Pair.of(envelopes[0].envelope, envelopes[1].envelope).hash == (
        relayer.get_blind_status(client[1], server[1]).pair_hash
    )
