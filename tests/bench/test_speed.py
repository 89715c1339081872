"""The benchmarks of speed do correct work. Their figures depend on the machine."""

from __future__ import annotations

from collections import Counter

from bench.speed import OWNER, AnsweringNode, returned_feedback, signatures, signers, summary_of
from bilateral.contracts import Registry
from bilateral.contracts.codec import decode_result
from bilateral.values.summaries import Summary
from tests.reputation.model import Given, ReputationModel


def test_the_entries_that_are_timed_are_decoded_and_summed_up_as_the_model_does():
    answer, model = returned_feedback(100), ReputationModel()
    rows = decode_result(Registry.REPUTATION, "readAllFeedback", answer)
    for client, _, value, decimals, _, _, revoked in zip(*rows, strict=True):
        if not revoked:
            model.give(1, client, Given(value, decimals))
    assert summary_of(AnsweringNode(answer)) == Summary(*model.summary(1, model.clients(1), "", ""))
    assert Counter(rows[6]) == {False: 90, True: 10}


def test_the_signatures_that_are_timed_are_found_to_be_the_owners():
    assert signers(signatures(2)) == [OWNER.address] * 2
