"""`make demo` plays the whole story, and tells the truth about it. By day `test_stage.py` plays parts of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts._build import ROOT
from tests.demo.test_stage import is_listening, port_in

pytestmark = pytest.mark.nightly

WITHOUT_WHOLE_COMPILATION = """
import sys
from ape.managers.project import LocalProject

def refuse(*_, **__):
    raise AssertionError("the demo has Ape compile the whole project")

LocalProject.load_contracts = refuse
from scripts import demo
sys.argv = ["demo"]
demo.cli()
"""


@pytest.fixture(scope="module")
def run(prover):
    """The demo, played once. It compiles no more than it needs."""
    command = [sys.executable, "-c", WITHOUT_WHOLE_COMPILATION]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603


def cells_in(output, title):
    """Return the rows of the table with a title."""
    lines = output.split(f"\n{title} ")[1].split("\n└")[0].splitlines()
    return [tuple(cell.strip() for cell in line.strip("│").split("│")) for line in lines if line.startswith("│")]


def checks_of(output, sentence):
    """Return what the demo checked in a step."""
    return output.split(f"✓ {sentence}")[1].splitlines()[1].strip()


def test_demo_succeeds_and_stops_its_chain(run):
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith(
        "The story starts a chain and deploys the registries. It usually takes half a minute.\n"
    )
    assert run.stdout.rstrip().endswith("Every step did what it says.")
    assert "✗" not in run.stdout
    assert all(line.startswith("compile: ") for line in run.stderr.splitlines())
    assert not is_listening(port_in(run.stdout))


def test_buyer_climbs_by_payments_and_pays_less(run):
    assert cells_in(run.stdout, "The buyer climbs") == [
        ("0", "0", "0", "new", "6.00"),
        ("3", "18", "16", "verified", "5.70"),
        ("10", "57.9", "42", "trusted", "5.40"),
    ]
    assert checks_of(run.stdout, "The attestor records the review") == "tier on chain trusted · score on chain 42"
    assert checks_of(run.stdout, "The trusted buyer names itself") == "status 200 · paid in dollars 5.4"


def test_request_is_paid_verified_and_rated_by_both_sides(run):
    chapter = run.stdout.split("A paid request", 1)[1]
    assert checks_of(chapter, "Unpaid, a request gets 402") == "status 402 · price 1000 · agent 4"
    assert checks_of(chapter, "The client compares payTo") == "status 200 · weather snow · paid 1000"
    verified = "problems none · checks that passed 11 · payee forecaster"
    assert checks_of(chapter, "It verifies the proof") == verified
    tags = "x402-resource-delivered, proof-of-participation"
    assert checks_of(chapter, "It gives feedback that names the payment") == f"value 95 · tags {tags}"
    assert checks_of(chapter, "The forecaster, which checked") == "rating (True, 88)"


def test_four_servers_that_cheat_are_refused(run):
    refused = "refused payment_address_mismatch · the thief has 0"
    assert checks_of(run.stdout, "A thief has taken over the server") == refused
    forged = "its wallet there thief · refused unknown_registry · the thief has 0"
    assert checks_of(run.stdout, "It deploys registries of its own") == forged
    assert checks_of(run.stdout, "Somebody changes the answer on its way.") == "failed interaction_hash"
    assert checks_of(run.stdout, "The server repeats an old proof") == "failed task_ref, payment"


def test_impostor_does_not_get_the_price_of_a_buyer(run):
    assert checks_of(run.stdout, "An impostor names the buyer") == "status 402 · refused buyer_mismatch · it paid 0"
    assert checks_of(run.stdout, "Without the claim it gets the full price.") == "price in dollars 6"


def test_wash_trader_is_shown_by_both_policies(run):
    assert cells_in(run.stdout, "Two policies") == [
        ("buyer", "brp-1.0", "42", "trusted", "none"),
        ("buyer", "independent-1.0", "42", "trusted", "none"),
        ("wash trader", "brp-1.0", "63", "premium", "none"),
        ("wash trader", "independent-1.0", "0", "new", "no_payments, returned_payments"),
    ]


def test_state_of_buyers_is_anchored_and_a_leaf_is_verified_on_chain(run):
    assert checks_of(run.stdout, "The service anchors its state") == "epoch 1 · anchored by the service 1"
    verified = "score 42 · verified True · verified with score 100 False"
    assert checks_of(run.stdout, "Anybody verifies the buyer's leaf on chain.") == verified


def test_fresh_address_uses_a_credential(run):
    used = "tier trusted · served 1 · payments of the fresh address 0"
    assert checks_of(run.stdout, "The service signs a credential for the fresh address") == used
    assert checks_of(run.stdout, "The buyer takes a second address.") == "served 2 · customers 1"
    assert "CredentialOfAnother(holder=fresh address, caller=stranger)" in run.stdout


def test_buyer_uses_its_tier_once_from_a_fresh_wallet(run):
    chapter = run.stdout.split("Private tiers", 1)[1]
    assert checks_of(chapter, "The prover refuses unasked") == "refused too_few_members"
    assert checks_of(chapter, "The buyer with a refund cannot prove") == "refused not_a_member"
    assert checks_of(chapter, "A thief copies the proof") == "refused proof_refused · price in dollars 6.0"
    assert checks_of(chapter, "The fresh wallet pays the price") == "status 200 · paid in dollars 5.4"
    assert checks_of(chapter, "The buyer uses its tier a second time") == (
        "refused tier_already_used · price in dollars 6.0"
    )


def test_agent_on_two_chains_is_paid_on_solana_and_rated_here(run):
    proven = "also here both_ways · verdict caution · reasons no_ratings, payment_not_offered, also_proven"
    assert checks_of(run.stdout, "The client asks both chains before it pays") == proven
    verified = "status 200 · paid 1000 · problems none · checks that passed 11"
    assert checks_of(run.stdout, "It pays on Solana, and verifies") == verified
    rated = "value 90 · names the payment True · signed by the payer True"
    assert checks_of(run.stdout, "It rates the agent here. The payment on Solana is the proof") == rated


def test_sold_agent_whose_former_owner_redirects_the_wallet_is_refused(run):
    refused = "refused authority_mismatch · verdict decline · paid 0"
    assert checks_of(run.stdout, "The forecaster sells the agent on Solana") == refused
