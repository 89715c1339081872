"""`make demo` plays the whole story, tells the truth about it, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from bilateral.dev.anvil import INTERRUPTIONS, Interrupted, Release
from scripts._anvil import running_anvil
from scripts._build import ROOT

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
DEMO = [ROOT / ".venv" / "bin" / "ape", "run", "demo"]
MISLEADING_CHAPTER = """
import sys
from scripts import demo
from scripts._demo import story

def play(stage):
    stage.chapter("Lies")
    identity, stranger = stage.registry("IdentityRegistry"), stage.account("stranger")
    with stage.step("There are five agents.") as step:
        step.check("agents", identity.getAgentCount(), 5)
    with stage.step("The stranger is rich."):
        pass
    with stage.step("The stranger takes agent 1.") as step:
        identity.transferFrom(stranger, stranger, 1, sender=stranger)
        step.check("owner", identity.ownerOf(1), stranger)
    with stage.refused("Not authorized", "The stranger registers."):
        identity.register(sender=stranger)
    with stage.refused(identity.NotOwnerOrWallet, "A stranger speaks as another.", account=stranger, agentId=2):
        identity.setPrimaryAgent(5, sender=stranger)
    with stage.refused(identity.NotOwnerOrWallet, "A stranger speaks as agent 1.", account=stranger):
        identity.setPrimaryAgent(1, sender=stage.account("another"))

story.CHAPTERS[:] = [play]
sys.argv = ["demo"]
demo.cli()
"""
USER_WHO_IS_KILLED = """
import os, signal
from scripts._anvil import running_anvil

with running_anvil() as url:
    print(url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
PATIENCE = 120
"""For how many seconds to wait for the end of a chain that nobody waited for."""


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def port_in(output: str) -> int:
    return int(re.search(r"http://127\.0\.0\.1:(\d+)", output)[1])


@pytest.fixture(scope="module")
def run():
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


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", INTERRUPTIONS, ids=lambda number: number.name)
def test_interrupted_demo_stops_its_chain(number):
    demo = subprocess.Popen(  # noqa: S603
        DEMO, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    output = ""
    for line in demo.stdout:
        output += line
        if "IdentityRegistry is deployed" in line:
            break
    assert is_listening(port_in(output))
    demo.send_signal(number)
    rest, _ = demo.communicate(timeout=PATIENCE)
    assert demo.returncode == 128 + number
    assert f"The demo was interrupted by {number.name}; its chain is stopped." in rest
    assert not is_listening(port_in(output))


def test_demo_whose_steps_do_not_do_what_they_say_tells_so_and_fails():
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", MISLEADING_CHAPTER], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stdout + run.stderr
    failures = re.findall(r"✗ .*\n +(.*)\n", run.stdout)
    assert failures == [
        "StepError: agents is 0, not 5",
        "StepError: nothing was checked",
        "ERC721NonexistentToken: tokenId=1",
        "StepError: it was not refused",
        "StepError: it was refused otherwise, with ERC721NonexistentToken(tokenId=5)",
        "StepError: it was refused otherwise, with NotOwnerOrWallet(account=another, agentId=1)",
    ]
    assert "6 of the steps did not do what they say." in run.stdout
    assert not is_listening(port_in(run.stdout))


def test_chain_is_stopped_when_its_user_fails():
    with pytest.raises(ZeroDivisionError), running_anvil() as url:
        assert is_listening(port_in(url))
        raise ZeroDivisionError
    assert not is_listening(port_in(url))


def test_chain_ends_after_its_user_is_killed():
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", USER_WHO_IS_KILLED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == -signal.SIGKILL
    until = time.monotonic() + PATIENCE
    while is_listening(port_in(run.stdout)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_listening(port_in(run.stdout))


def test_chain_that_cannot_start_is_an_error():
    with (
        pytest.raises(RuntimeError, match=r"^anvil ended before it was ready, with exit code 2$"),
        running_anvil("--no-such-option"),
    ):
        pass


def test_interruption_while_the_chain_starts_is_held_back():
    release = Release()
    release.handle(signal.SIGTERM, None)
    with pytest.raises(Interrupted) as interruption:
        release()
    assert interruption.value.signal == signal.SIGTERM


def test_second_interruption_does_not_interrupt_the_clean_up():
    release = Release()
    release()
    with pytest.raises(Interrupted):
        release.handle(signal.SIGINT, None)
    release.handle(signal.SIGINT, None)
