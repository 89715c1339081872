"""Changes of an authorisation, at any byte, make it invalid."""

from __future__ import annotations

import pytest

from tests.authorized.helpers import FIELDS_LENGTH

LENGTH = FIELDS_LENGTH + 65

ERRORS_OF_FIELDS = [
    {"AgentNotAuthorized"},
    {"ClientAddressOutOfRange", "ClientNotAuthorized"},
    {"IndexLimitOutOfRange", "IndexLimitReached", "SignerNotOwner"},
    {"FeedbackAuthExpired", "SignerNotOwner"},
    {"ChainNotAuthorized"},
]
"""The possible errors after a change of each of the five words."""

ERRORS_OF_SIGNATURE = {"SignerNotOwner", "SignatureUnrecoverable", "SignatureMalleable"}


@pytest.fixture(scope="session")
def feedback_auth(chain, authorize):
    # A flipped bit can move this expiry into the past or into the future.
    return authorize(limit=1, expiry=chain.pending_timestamp + 86_400)


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_at_any_byte_is_refused_by_name(refused, feedback_auth, bit):
    assert refused(feedback_auth) is None
    for place in range(LENGTH):
        tampered = bytearray(feedback_auth)
        tampered[place] ^= 1 << bit
        name, _ = refused(bytes(tampered))
        field = place // 32
        assert name in (ERRORS_OF_FIELDS[field] if place < FIELDS_LENGTH else ERRORS_OF_SIGNATURE), place


def test_a_removed_byte_is_refused_wherever_it_was(refused, feedback_auth):
    for place in range(LENGTH):
        assert refused(feedback_auth[:place] + feedback_auth[place + 1 :]) is not None, place


def test_an_inserted_byte_is_refused_wherever_it_is(refused, feedback_auth):
    for place in range(LENGTH + 1):
        assert refused(feedback_auth[:place] + b"\1" + feedback_auth[place:]) is not None, place


def test_parts_of_two_good_authorisations_do_not_make_a_third(refused, authorize):
    small, large = authorize(limit=1), authorize(limit=100)
    assert refused(small) is None
    assert refused(large) is None
    assert refused(large[:FIELDS_LENGTH] + small[FIELDS_LENGTH:])[0] == "SignerNotOwner"
    assert refused(small[:FIELDS_LENGTH] + large[FIELDS_LENGTH:])[0] == "SignerNotOwner"
