"""Signed feedback that its client voids."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bilateral.client import VoidedSignatures
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, MissingSignerError

SECOND = timedelta(seconds=1)


@pytest.fixture
def deadline(web3):
    """An hour after the latest block."""
    return datetime.fromtimestamp(web3.eth.get_block("latest")["timestamp"], UTC) + timedelta(hours=1)


def test_a_voided_signature_is_refused_and_a_later_one_is_not(connect, newcomer, payer, agent, deadline):
    client, sender = connect(newcomer), connect(payer)
    voided = client.sign_feedback(agent, 80, "starred", deadline=deadline)
    later = client.sign_feedback(agent, 90, "starred", deadline=deadline + SECOND)
    assert client.get_voided_deadline() is None
    assert client.void_signatures(deadline).wait() == VoidedSignatures(newcomer.address, deadline)
    assert connect().get_voided_deadline(newcomer.address.lower()) == deadline
    with pytest.raises(ContractRevertError) as caught:
        sender.submit_signed_feedback(voided)
    assert caught.value.reason == "signature_voided"
    seconds = int(deadline.timestamp())
    assert caught.value.arguments == {"deadline": seconds, "voidedDeadline": seconds}
    assert sender.submit_signed_feedback(later).wait().value == 90


def test_a_deadline_is_voided_once(connect, newcomer, deadline):
    client = connect(newcomer)
    client.void_signatures(deadline).wait()
    for again in (deadline, deadline - SECOND):
        with pytest.raises(ContractRevertError) as caught:
            client.void_signatures(again)
        assert caught.value.reason == "deadline_already_voided"
    assert client.void_signatures(deadline + SECOND).wait().deadline == deadline + SECOND


def test_nothing_is_signed_for_a_voided_deadline(connect, newcomer, agent, deadline):
    client = connect(newcomer)
    client.void_signatures(deadline).wait()
    with pytest.raises(InvalidArgumentError, match=r"invalidated its signatures up to .* later deadline"):
        client.sign_feedback(agent, 80, "starred", deadline=deadline)
    assert client.sign_feedback(agent, 80, "starred", deadline=deadline + SECOND).feedback.value == 80


def test_the_voided_deadline_of_nobody_is_refused(connect):
    with pytest.raises(MissingSignerError):
        connect().get_voided_deadline()


def test_a_deadline_without_a_time_zone_is_refused(connect, newcomer):
    with pytest.raises(InvalidArgumentError, match="time zone"):
        connect(newcomer).void_signatures(datetime(2030, 1, 1))  # noqa: DTZ001  # the fault under test
