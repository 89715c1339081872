"""Feedback on an EVM chain about an answer that was paid on Solana: the payer signs who reviews for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.documents import FeedbackFile
from bilateral.solana.addresses import MAINNET
from bilateral.x402 import AgentRegistration, Ed25519Key
from bilateral.x402.clients.cross_chain_feedback import cross_chain_feedback, is_signed_by_payer
from bilateral.x402.proof.solana import declare_solana_reputation, solana_registration
from tests.solana.paying import buy

REVIEWER = Account.from_key("0x" + "07" * 32)
OTHER = Account.from_key("0x" + "08" * 32)
REGISTRY = AccountId.parse("eip155:8453:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432")
AGENT = GlobalAgentId(REGISTRY, "247")
HERE = AgentRegistration(AGENT, AccountId.parse("eip155:8453:0x8004BAa17C55a88189AE136b182e5fdA19dE9b63"))


@pytest.fixture
def payer(buyer):
    return Ed25519Key(buyer.secret())


@pytest.fixture
def verification(verifier, sell, selling_agent, seller, buyer, rpc):
    declared = declare_solana_reputation(selling_agent, MAINNET, HERE)
    with sell(selling_agent, str(seller.pubkey()), extensions=declared) as (url, _):
        return verifier.verify(buy(url, buyer, rpc))


def test_file_names_the_payment_and_its_payer_lets_the_reviewer_give_it(verification, payer, buyer):
    arguments = cross_chain_feedback(verification, AGENT, 90, REVIEWER, payer)
    assert (arguments["agent_id"], arguments["value"].value) == (AGENT, 90)
    file = FeedbackFile.written(
        arguments["feedback_file"].to_object()
        | {"agentRegistry": str(REGISTRY), "agentId": 247, "clientAddress": f"eip155:8453:{REVIEWER.address}"}
        | {"value": 90, "valueDecimals": 0}
    )
    assert file.payment_reference == verification.interaction.task_ref
    assert file.proof_of_payment.from_address == str(buyer.pubkey())
    assert is_signed_by_payer(file)
    for change in (
        {"clientAddress": f"eip155:8453:{OTHER.address}"},
        {"agentId": 248},
        {"taskRef": f"{MAINNET}:{'1' * 64}"},
        {"payerSignature": "00" * 64},
        {"payerSignature": "x"},
        {"proofOfPayment": {"fromAddress": str(AGENT)}},
    ):
        assert not is_signed_by_payer(FeedbackFile.written(file.to_object() | change)), change


def test_unproven_feedback_is_refused(verification, payer, seller, selling_agent):
    undeclared = GlobalAgentId(REGISTRY, "248")
    on_solana = solana_registration(selling_agent, MAINNET).agent
    for options, problem in (
        (
            (verification, AGENT, 90, REVIEWER, Ed25519Key(seller.secret())),
            "key belongs to a different account",
        ),
        ((verification, undeclared, 90, REVIEWER, payer), "does not declare the agent"),
        ((verification, on_solana, 90, REVIEWER, payer), "must be on a different EVM chain"),
        ((verification, AGENT, 101, REVIEWER, payer), "out of range 0..100"),
        ((replace(verification, checks=()), AGENT, 90, REVIEWER, payer), "feedback needs a verified payment"),
    ):
        with pytest.raises(InvalidArgumentError, match=problem):
            cross_chain_feedback(*options)
