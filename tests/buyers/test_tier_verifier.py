"""Private proofs of tiers, verified off chain. The proofs are those of Semaphore's own package."""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import pytest

from bilateral.buyers.errors import TierProofRefusedError
from bilateral.buyers.private.offline import offline, verify_points
from bilateral.buyers.private.tiers import (
    BASE_ORDER,
    DATABASE_VARIABLE,
    TierProof,
    TierVerifier,
    private_agent_scope,
    private_gate_scope,
    shared_nullifiers,
    signal_of,
    use_message,
)
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.x402.server.discounts import MOST_CHARACTERS, PROOF_HEADER, proof_headers, read_proof_header
from tests.buyers.tier_vectors import EPOCH, GATE, POLICY, PROOFS, REQUEST, ROOTS, SCALAR_ORDER, tier_proof, word
from tests.postgres import running_postgres

NOON = EPOCH * 86_400 + 43_200
HOLDER = PROOFS["trusted"]["holder"]
OTHER_HOLDER = PROOFS["trustedForAnother"]["holder"]
CHAIN = 31337


def proof_named(name):
    """Return a proof of the vectors."""
    nullifier, points = tier_proof(name)
    tier = BuyerTier.of_level(PROOFS[name]["tier"])
    return TierProof(POLICY, tier, EPOCH, nullifier, tuple(points))


def never(proof, scope, message):
    pytest.fail("a proof that a cheap check refuses was verified")


def verifier(verification=never, **changes):
    options = {
        "policy": POLICY,
        "scope": lambda day: private_gate_scope(CHAIN, GATE, POLICY, day),
        "minimum": BuyerTier.VERIFIED,
    }
    return TierVerifier(verification, **(options | changes))


def by_vectors():
    return offline(lambda policy, day: tuple(ROOTS) if (policy, day) == (POLICY, EPOCH) else None)


def refusal(check, *arguments, **options):
    with pytest.raises(TierProofRefusedError) as refused:
        check(*arguments, **options)
    return refused.value.reason, refused.value.status


def test_scope_and_message_are_those_of_the_contracts():
    assert private_gate_scope(CHAIN, GATE, POLICY, EPOCH) == word(PROOFS["trusted"]["scope"])
    assert use_message(HOLDER, REQUEST) == word(PROOFS["trusted"]["message"])
    assert private_agent_scope(CHAIN, GATE, 1, POLICY, EPOCH) != private_agent_scope(CHAIN, GATE, 2, POLICY, EPOCH)


def test_buyer_is_one_customer_whatever_the_number_of_its_holders():
    """The second proof is for another holder, and valid. Its buyer was served."""
    seller = verifier(by_vectors())
    first, second = proof_named("trusted"), proof_named("trustedForAnother")
    assert seller.check(first, HOLDER, request=REQUEST, at=NOON) == first.nullifier == second.nullifier
    assert refusal(seller.check, second, OTHER_HOLDER, request=REQUEST, at=NOON) == ("tier_already_used", 409)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory):
    """The URL of a database."""
    file = tmp_path_factory.mktemp("nullifiers") / "used.sqlite"
    with running_postgres() if request.param == "postgresql" else nullcontext(f"sqlite:///{file}") as url:
        yield url


@pytest.fixture
def shared(database, monkeypatch):
    """All processes of the seller name the database in their environment."""
    monkeypatch.setenv(DATABASE_VARIABLE, database)


@pytest.mark.usefixtures("shared")
def test_processes_that_share_a_database_serve_a_buyer_once():
    proof, nobody = proof_named("trusted"), lambda *_: None
    first, second = verifier(nobody), verifier(nobody)
    assert first.check(proof, HOLDER, at=NOON) == proof.nullifier
    assert refusal(second.check, proof, OTHER_HOLDER, at=NOON) == ("tier_already_used", 409)
    assert second.check(proof, HOLDER, at=NOON) == proof.nullifier


@pytest.mark.usefixtures("shared")
def test_of_two_holders_at_once_one_is_served():
    stores = [shared_nullifiers() for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        holders = pool.map(lambda number: stores[number % 2].take(7, EPOCH, f"holder {number}"), range(8))
        assert len(set(holders)) == 1
    stores[0].take(8, EPOCH + 1, HOLDER)
    assert stores[1].holder_of(7) is not None
    stores[0].take(9, EPOCH + 2, HOLDER)
    assert stores[1].holder_of(7) is None  # its day is over
    for store in stores:
        store.close()


def test_holder_that_was_served_needs_no_second_verification_of_the_same_proof():
    calls = []
    seller = verifier(lambda *arguments: calls.append(arguments))
    for _ in range(3):
        seller.check(proof_named("trusted"), HOLDER, request=REQUEST, at=NOON)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("changes", "request_hash"),
    [
        ({"minimum": BuyerTier.PREMIUM}, REQUEST),
        ({"minimum": BuyerTier.PREMIUM, "points": (0,) * 8}, REQUEST),
        ({"points": (0,) * 8}, REQUEST),
        ({"epoch": EPOCH + 1}, REQUEST),
        ({}, bytes(31) + b"1"),
    ],
    ids=["tier", "tier and points", "points", "day", "request"],
)
@pytest.mark.usefixtures("shared")
def test_proof_that_was_served_passes_in_no_other_words(changes, request_hash):
    """The nullifier and the holder are those of the valid proof. Other processes refuse it, too."""
    proof = proof_named("trusted")
    valid = proof, private_gate_scope(CHAIN, GATE, POLICY, EPOCH), use_message(HOLDER, REQUEST)

    def verify(*claim):
        if claim != valid:
            raise TierProofRefusedError("proof_refused", "it is another proof")

    seller = verifier(verify)
    seller.check(proof, HOLDER, request=REQUEST, at=NOON)
    for process in (seller, verifier(verify)):
        changed, tomorrow = replace(proof, **changes), NOON + 86_400
        assert refusal(process.check, changed, HOLDER, request=request_hash, at=tomorrow) == ("proof_refused", 403)


def test_claims_that_are_remembered_are_bounded(monkeypatch):
    calls = []
    monkeypatch.setattr("bilateral.buyers.private.tiers._MOST_CLAIMS", 2)
    seller = verifier(lambda *arguments: calls.append(arguments))
    for number in (1, 2, 3, 3, 1):
        seller.check(proof_named("trusted"), HOLDER, request=bytes(31) + bytes([number]), at=NOON)
    assert len(calls) == 4


@pytest.mark.parametrize("name", ["trustedElsewhere", "shallow"])
def test_proof_for_another_seller_or_of_another_depth_is_refused(name):
    seller = verifier(by_vectors())
    assert refusal(seller.check, proof_named(name), HOLDER, request=REQUEST, at=NOON) == ("proof_refused", 403)


@pytest.mark.parametrize(
    ("changes", "at", "reason"),
    [
        ({"policy": bytes(32)}, NOON, "policy_mismatch"),
        ({"minimum": BuyerTier.PREMIUM}, NOON, "tier_too_low"),
        ({}, NOON + 2 * 86_400, "epoch_over"),
        ({}, NOON - 86_400, "epoch_over"),
    ],
    ids=["policy", "tier", "two days later", "the day before"],
)
def test_cheap_checks_come_before_the_verification(changes, at, reason):
    seller = verifier(**changes)
    assert refusal(seller.check, proof_named("trusted"), HOLDER, request=REQUEST, at=at) == (reason, 403)


def test_day_without_roots_is_refused():
    seller = verifier(offline(lambda *_: None))
    assert refusal(seller.check, proof_named("trusted"), HOLDER, request=REQUEST, at=NOON) == ("unknown_root", 403)


def test_more_verifications_at_once_than_allowed_are_refused():
    begun, end = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        assert end.wait(60)

    seller = verifier(slow, at_once=1)
    thread = threading.Thread(target=seller.check, args=(proof_named("trusted"), HOLDER), kwargs={"at": NOON})
    thread.start()
    assert begun.wait(60)
    assert refusal(seller.check, proof_named("secondMember"), OTHER_HOLDER, at=NOON) == ("verifier_busy", 503)
    end.set()
    thread.join(60)
    assert not thread.is_alive()


def test_malleable_proof_has_the_same_nullifier_and_other_points_off_the_curve_are_refused():
    nullifier, points = tier_proof("trusted")
    fields = PROOFS["trusted"]
    signals = [int(fields["root"]), nullifier, signal_of(word(fields["message"])), signal_of(word(fields["scope"]))]
    negated = [points[0], BASE_ORDER - points[1], *points[2:4], BASE_ORDER - points[4], BASE_ORDER - points[5]]
    assert verify_points([*negated, *points[6:]], signals)
    assert not verify_points([1, 1, *points[2:]], signals)
    assert not verify_points([*points[:2], 1, 1, 1, 1, *points[6:]], signals)
    assert not verify_points([points[0] + BASE_ORDER, *points[1:]], signals)
    assert not verify_points(points, [signals[0], nullifier + SCALAR_ORDER, *signals[2:]])


def header(fields):
    return base64.b64encode(json.dumps(fields).encode()).decode()


FIELDS = proof_named("trusted").to_json()


def test_header_carries_a_proof():
    headers = proof_headers(proof_named("trusted"))
    assert len(headers[PROOF_HEADER]) < 1_300
    assert read_proof_header(headers[PROOF_HEADER]) == proof_named("trusted")


@pytest.mark.parametrize(
    ("text", "reason", "status"),
    [
        ("A" * (MOST_CHARACTERS + 1), "proof_header_too_large", 431),
        ("no base 64", "proof_header_invalid", 400),
        (base64.b64encode(b"{").decode(), "proof_header_invalid", 400),
        (header([]), "proof_header_invalid", 400),
        (base64.b64encode(b'{"epoch": 1, "epoch": 2}').decode(), "proof_header_invalid", 400),
        (header(FIELDS | {"merkleTreeDepth": 10}), "proof_malformed", 422),
        (header(FIELDS | {"nullifier": str(SCALAR_ORDER)}), "proof_malformed", 422),
        (header(FIELDS | {"nullifier": 7}), "proof_malformed", 422),
        (header(FIELDS | {"points": [*FIELDS["points"][:7], str(BASE_ORDER)]}), "proof_malformed", 422),
        (header(FIELDS | {"points": []}), "proof_malformed", 422),
        (header(FIELDS | {"tier": "new"}), "proof_malformed", 422),
        (header(FIELDS | {"epoch": True}), "proof_malformed", 422),
        (header({}), "proof_malformed", 422),
    ],
    ids=[
        *(
            "too long",
            "not base 64",
            "not JSON",
            "not an object",
            "a name twice",
            "another depth",
            "nullifier plus order",
        ),
        *("a number", "coordinate plus order", "no points", "no group", "no day", "empty"),
    ],
)
def test_malformed_header_is_refused_by_name(text, reason, status):
    assert refusal(read_proof_header, text) == (reason, status)
