"""The commands of docs/first-steps.md work, one after another: on a local chain, and on a test network's id."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import ape
import pytest
from web3 import Web3

from scripts._anvil import running_anvil
from scripts._build import ROOT
from tests.deployment.conftest import BASE_SEPOLIA, PASSPHRASE, run_ape

PAGE = (ROOT / "docs" / "first-steps.md").read_text()
LOCAL_DEPLOYMENT, TEST_DEPLOYMENT = re.findall(r"ape run (deploy[^`\n]*)", PAGE)
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]
PROGRAM = Path(sys.executable).parent / "bilateral"


@pytest.fixture
def user(home):
    """A user whose keystores, Ape's settings and deployment records are in a folder of their own."""

    class User:
        def __init__(self):
            self.variables = {
                "APE_DATA_FOLDER": str(home),
                "BILATERAL_PASSPHRASE": PASSPHRASE,
                "APE_ACCOUNTS_alice_PASSPHRASE": PASSPHRASE,
            }

        def connect(self, url, chain_id):
            """Name the node, and the record that the deployment will write."""
            record = str(home / "records" / f"{chain_id}.json")
            self.variables |= {"WEB3_PROVIDER_URI": url, "BILATERAL_RPC_URL": url, "BILATERAL_DEPLOYMENT": record}

        def deploy(self, line):
            """Run a deployment of the page, without its question."""
            options = ["--records", str(home / "records"), "--yes"]
            ran = run_ape(home, *shlex.split(line), *options, **self.variables)
            assert ran.returncode == 0, ran.stdout + ran.stderr

        def run(self, line, stdin=None):
            """Run a command of the page; its output."""
            program, *arguments = shlex.split(line)
            assert program == "bilateral"
            ran = subprocess.run(  # noqa: S603  # the project's own command
                [PROGRAM, *arguments],
                env=os.environ | self.variables,
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, (line, ran.stderr)
            return ran.stdout

    return User()


@pytest.fixture
def local_chain():
    with running_anvil() as url:
        yield url


@pytest.mark.nightly
def test_the_page_goes_from_nothing_to_a_feedback_on_a_local_chain(user, local_chain, accounts):
    user.connect(local_chain, ape.chain.chain_id)
    user.deploy(LOCAL_DEPLOYMENT)
    keys = {"alice": accounts[1].private_key, "bob": accounts[2].private_key}
    assert len(COMMANDS) == 8
    for line in COMMANDS:
        *_, alias = line.split()
        out = user.run(line, stdin=keys[alias] if "account import" in line else None)
        if "agent show" in line:
            assert re.search(r"^file names it +yes$", out, re.MULTILINE)
    assert re.search(r"^average +87$", out, re.MULTILINE)


@pytest.mark.nightly
def test_the_page_goes_from_nothing_to_an_agent_on_a_test_network(user, node):
    user.connect(node, BASE_SEPOLIA)
    alice = json.loads(user.run("bilateral account new alice --json"))["address"]
    Web3(Web3.HTTPProvider(node)).provider.make_request("anvil_setBalance", [alice, hex(10**18)])  # the faucet
    user.deploy(TEST_DEPLOYMENT)
    assert re.search(r"^chain +84532$", user.run("bilateral info --account alice"), re.MULTILINE)
    register = next(line for line in COMMANDS if "agent register" in line)
    assert "Not sent" in user.run(f"{register} --dry-run")
    user.run(register)
    assert re.search(r"^name +Weather agent$", user.run("bilateral agent show 1"), re.MULTILINE)
