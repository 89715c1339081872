"""Feedback on agents of Solana has the arguments that SATI's client takes."""

from __future__ import annotations

import pytest

from bilateral.core.errors import BilateralError
from bilateral.documents import FeedbackFile
from bilateral.x402.clients.sati import sati_feedback
from tests.x402 import examples
from tests.x402.test_feedback import EXAMPLE


def test_arguments_are_those_of_the_specifications_example():
    feedback = sati_feedback(FeedbackFile.of(EXAMPLE), "ipfs://QmX")
    named = ("agentId", "taskRef", "value", "valueDecimals", "tags")
    signed = ("agentSignature", "clientSignature", "interactionHash")
    assert feedback == {
        **{name: EXAMPLE[name] for name in (*named, *signed)},
        "clientAddress": examples.MINT,
        "feedbackURI": "ipfs://QmX",
    }


@pytest.mark.parametrize("field", ["agentRegistry", "clientAddress", "agentId", "taskRef", "value", "tags"])
def test_missing_field_is_named(field):
    file = FeedbackFile.of({name: value for name, value in EXAMPLE.items() if name != field})
    with pytest.raises(BilateralError, match=field):
        sati_feedback(file, "ipfs://QmX")


@pytest.mark.parametrize("field", ["agentRegistry", "clientAddress"])
@pytest.mark.parametrize(
    "account", [f"eip155:8453:{examples.IDENTITY}", "solana:x", f"solana:{'1' * 32}:{examples.MINT}"]
)
def test_accounts_of_another_chain_are_refused(field, account):
    with pytest.raises(BilateralError):
        sati_feedback(FeedbackFile.of(EXAMPLE | {field: account}), "ipfs://QmX")
