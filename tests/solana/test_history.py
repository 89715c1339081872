"""Nodes keep no past state: a wallet at an earlier slot is provable only if nothing changed it since."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from bilateral.solana.addresses import MAINNET
from bilateral.x402 import CheckName, Outcome, Verifier
from simulation.solana import instructions as ix
from simulation.solana.node import NodeProblem

NOT_PROVABLE = (Outcome.UNCHECKED, "not_provable_for_the_past")


@pytest.fixture
def wallet_check(verifier):
    def check(paid):
        reason = verifier.verify(paid).check(CheckName.PAY_TO)
        return reason.outcome, reason.code

    return check


@pytest.fixture
def mint(agent):
    return Pubkey.from_string(agent)


def test_s30_change_before_the_payment_does_not_matter(wallet_check, own):
    assert wallet_check(own) == (Outcome.PASSED, "")


def test_s30_wallet_that_was_changed_after_the_payment_is_not_provable(wallet_check, own, world, owner, mint):
    world.set_field(owner, mint, "agentWallet", f"{MAINNET}:{owner.pubkey()}")
    assert wallet_check(own) == NOT_PROVABLE


def test_s30_changed_uri_is_not_provable_for_the_past_and_provable_for_now(reader, own, world, owner, mint):
    with Verifier({}, readers=[reader]) as verifier:
        assert verifier.verify(own, historical=True).outcome(CheckName.REGISTRATION_FILE) is Outcome.PASSED
        world.set_field(owner, mint, "agentName", "Storm")
        verification = verifier.verify(own, historical=True)
    past, now = (entry.check(CheckName.REGISTRATION_FILE) for entry in (verification, verification.now))
    assert (past.outcome, past.code) == NOT_PROVABLE
    assert now.outcome is Outcome.PASSED


@pytest.mark.parametrize("plain", [True, False])
def test_s30_agent_that_was_away_and_came_back_is_not_provable(wallet_check, own, world, owner, stranger, mint, plain):
    """A plain transfer does not name the mint, and is found by the token account."""
    world.transfer_agent(mint, owner, stranger, plain=plain)
    back = ix.transfer(
        ix.associated(stranger.pubkey(), mint),
        ix.associated(owner.pubkey(), mint),
        stranger.pubkey(),
        1,
        ix.TOKEN_2022_KEY,
    )
    world.run([back], stranger)
    assert wallet_check(own) == NOT_PROVABLE


def test_s31_transactions_that_change_neither_metadata_nor_holder_do_not_matter(wallet_check, own, world, mint):
    """Anybody may make a token account for the agent, or send it lamports."""
    world.run([ix.create_associated(world.payer.pubkey(), Keypair().pubkey(), mint)])
    world.fund(mint)
    assert wallet_check(own) == (Outcome.PASSED, "")


def test_s31_failed_transactions_do_not_matter(wallet_check, own, world, stranger, mint, node):
    with pytest.raises(AssertionError):
        world.run([ix.update_field(mint, stranger.pubkey(), "agentWallet", "x")], stranger)
    assert wallet_check(own) == (Outcome.PASSED, "")


def test_s31_change_by_another_program_is_found_among_inner_instructions(wallet_check, own, world, mint, node):
    world.run([ix.create_associated(world.payer.pubkey(), Keypair().pubkey(), mint)])

    def called(answer):
        for group in answer["meta"]["innerInstructions"]:
            for instruction in group["instructions"]:
                instruction["data"] = "7" * 20
        return answer

    node.instead["getTransaction"] = called
    assert wallet_check(own) == NOT_PROVABLE


@pytest.mark.parametrize("missing", ["answer", "inner instructions"])
def test_s31_node_that_leaves_something_out_proves_nothing(reader, own, world, mint, node, missing):
    world.run([ix.create_associated(world.payer.pubkey(), Keypair().pubkey(), mint)])

    def without(answer):
        if str(mint) not in node.history[own.settlement["transaction"]]["keys"] and answer["slot"] > payment_slot:
            return None if missing == "answer" else answer | {"meta": answer["meta"] | {"innerInstructions": None}}
        return answer

    payment_slot = node.history[own.settlement["transaction"]]["slot"]
    node.instead["getTransaction"] = without
    with Verifier({}, readers=[reader]) as verifier:
        reason = verifier.verify(own).check(CheckName.PAY_TO)
    assert (reason.outcome, reason.code) == NOT_PROVABLE


def test_s30_pruned_node_proves_nothing(wallet_check, own, node):
    node.first = node.slot
    assert wallet_check(own) == NOT_PROVABLE


def test_s30_agent_that_many_transactions_touched_is_not_provable(wallet_check, own, world, mint):
    for _ in range(20):
        world.fund(mint)
    assert wallet_check(own) == (Outcome.PASSED, "")
    world.fund(mint)
    assert wallet_check(own) == NOT_PROVABLE


def test_s30_full_page_of_signatures_is_not_provable(wallet_check, own, node):
    page = [{"signature": "x", "slot": 10**9, "err": {"Custom": 1}}] * 1000
    node.instead["getSignaturesForAddress"] = lambda _: page
    assert wallet_check(own) == NOT_PROVABLE


def test_s30_error_of_the_node_leaves_the_wallet_unchecked(wallet_check, own, node):
    def fail(_):
        raise NodeProblem(-32602, "Transaction history is not available from this node")

    node.instead["getSignaturesForAddress"] = fail
    assert wallet_check(own)[0] is Outcome.UNCHECKED


@pytest.mark.parametrize("ago", [0, 1, 2, 50])
def test_block_of_a_moment_is_found_although_slots_are_skipped(run, reader, node, ago):
    node.next_slot(60)
    node.first = node.slot - 58
    wanted = node.slot - ago
    moment = datetime.fromtimestamp(node.time_of(wanted), UTC)
    assert run(reader.block_at(moment)) == (wanted if wanted % 2 else wanted - 1)
