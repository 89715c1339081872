"""README's command that serves a chain of the address book, rehearsed on a local chain with that chain's id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from web3 import HTTPProvider, Web3

from bilateral.core.contracts import Registry
from tests.api.test_serve import serving, wait_until
from tests.sdk.client.helpers import plain
from tests.sdk.deployed.world import CANONICAL, CHAIN_ID, OWNER, canonical_chain

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.nightly
def test_readmes_command_answers_for_the_canonical_registries(project, tmp_path):
    text = README.read_text(encoding="utf-8")
    words, path = re.search(
        r"\nbilateral serve ([^\n]*)\ncurl http://127\.0\.0\.1:8004(/v1/agents/8453:)247\n", text
    ).groups()
    with canonical_chain() as url:
        web3 = Web3(HTTPProvider(url))
        identity = plain(web3, Registry.IDENTITY, CANONICAL.identity)
        sent = identity.functions.register("data:application/json,%7B%7D").transact({"from": OWNER.address})
        web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)
        arguments = words.replace("https://mainnet.base.org", url).split()
        with serving(*arguments, "--database", f"sqlite:///{tmp_path / 'index.sqlite'}") as (_, client):
            wait_until(lambda: client.get(f"{path}0").status_code == 200)
            answer = client.get(f"{path}0").json()
    assert (answer["owner"], str(CHAIN_ID)) == (OWNER.address, path.split("/")[-1].rstrip(":"))
