"""The stage of the demo notices a step that does not do what it says, and leaves nothing behind."""

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
        pytest.raises(RuntimeError, match=r"^anvil exited before it was ready, with exit code 2$"),
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
