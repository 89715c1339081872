"""The examples run as their own text says: outside the checkout, from the built wheel, in a clean environment."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from x402.http import decode_payment_required_header

import examples
from bilateral.client import Client
from bilateral.core.identifiers import FeedbackId
from tests.helpers import free_port
from tests.packaging.fixtures import run
from tests.x402.world import PRICE, SIGNING_KEY

FOLDER = Path(examples.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
DOMAIN = {"name": "Test Dollar", "version": "2"}


def output(name):
    """Return the commands of an example's text: what to install, which variables to set, and what to run."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    return [shlex.split(line) for line in text.splitlines() if line.startswith("    ")]


def variables(name):
    """Return the variables that an example's text sets."""
    return {word.partition("=")[0] for words in output(name) if words[0] == "export" for word in words[1:]}


@pytest.fixture
def copied(installed, tmp_path):
    """Installs what an example asks for, and copies it alone into an empty folder. Returns folder and programs."""

    def copy(name):
        pip, install, package, *others = output(name)[0]
        assert (pip, install) == ("pip", "install")
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(FOLDER / f"{name}.py", folder)
        return folder, installed(re.fullmatch(r"(?:bilateral|\.)\[(.*)\]", package)[1], *others)

    return copy


@pytest.fixture
def record(tmp_path, deployment):
    """The deployment record of the chain."""
    places = {"IdentityRegistry": deployment.identity, "BidirectionalReputationRegistry": deployment.reputation}
    contracts = {name: {"address": address} for name, address in places.items()}
    path = tmp_path / "31337.json"
    path.write_text(json.dumps({"chainId": deployment.chain_id, "contracts": contracts}))
    return path


def environment(programs, **values):
    """Return what a shell of the user has: programs of the environment, and the values that the text asks for."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"PATH": f"{programs}:/usr/bin:/bin"} | {name: str(value) for name, value in values.items()}


@contextmanager
def served(copied, name, **values):
    """Run an example's server, and yield its URL."""
    folder, programs = copied(name)
    assert variables(name) <= values.keys()
    port = free_port()
    command = [programs / output(name)[-1][0], *output(name)[-1][1:], "--port", str(port)]
    process = subprocess.Popen(  # noqa: S603  # the example's own command
        command, cwd=folder, env=environment(programs, **values), stderr=subprocess.PIPE, text=True
    )
    told = ""
    try:
        for line in process.stderr:
            told += line
            if "Uvicorn running" in line:
                yield f"http://127.0.0.1:{port}"
                return
        pytest.fail(told)
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.nightly
def test_paid_weather_agent_and_its_client_trade(
    copied, rpc, deployment, record, facilitator, token, seller, agent, buyer
):
    price = json.dumps({"asset": token.address, "amount": str(PRICE), "extra": DOMAIN})
    of_both = {"BILATERAL_RPC_URL": rpc, "BILATERAL_DEPLOYMENT": record}
    of_agent = {"BILATERAL_X402_KEY": SIGNING_KEY.secret.hex(), "AGENT_ID": agent, "PAY_TO": seller.address}
    of_client = {"BILATERAL_PRIVATE_KEY": buyer.key.hex(), "TOKEN": token.address}
    folder, programs = copied("paid_weather_client")
    command = output("paid_weather_client")[-1]
    assert variables("paid_weather_client") <= (of_both | of_client).keys()
    with served(copied, "paid_weather_agent", **of_both, **of_agent, FACILITATOR_URL=facilitator, PRICE=price) as url:
        words = [programs / command[0], command[1], command[2].replace("https://agent.example", url)]
        answer, line = run(*words, cwd=folder, environment=environment(programs, **of_both, **of_client)).splitlines()
    assert answer == '{"city":"Oslo","weather":"snow"}'
    with Client(rpc, deployment=deployment) as client:
        entry = client.get_feedback(FeedbackId.parse(line.removeprefix("feedback ")))
    assert (entry.value, entry.id.client) == (95, buyer.address)


@pytest.mark.nightly
def test_client_pays_in_no_token_that_it_does_not_know(copied, rpc, record, facilitator, token, seller, agent, buyer):
    price = json.dumps({"asset": token.address, "amount": str(PRICE), "extra": DOMAIN})
    of_both = {"BILATERAL_RPC_URL": rpc, "BILATERAL_DEPLOYMENT": record}
    of_agent = {"BILATERAL_X402_KEY": SIGNING_KEY.secret.hex(), "AGENT_ID": agent, "PAY_TO": seller.address}
    folder, programs = copied("paid_weather_client")
    with served(copied, "paid_weather_agent", **of_both, **of_agent, FACILITATOR_URL=facilitator, PRICE=price) as url:
        ran = subprocess.run(  # noqa: S603  # the example's own command
            [programs / "python", "paid_weather_client.py", f"{url}/weather?city=Oslo"],
            cwd=folder,
            env=environment(programs, **of_both, BILATERAL_PRIVATE_KEY=buyer.key.hex()),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode != 0
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.nightly
def test_discount_seller_asks_the_full_price_of_strangers(copied, facilitator, token, seller, deployment):
    price = json.dumps({"asset": token.address, "amount": "6000000", "extra": DOMAIN})
    names = {"SELLER": f"eip155:31337:{deployment.identity}#1", "PAY_TO": seller.address, "PRICE": price}
    with served(
        copied, "discount_seller", PROVIDER="http://127.0.0.1:1/api/buyer", FACILITATOR_URL=facilitator, **names
    ) as url:
        answer = httpx.get(f"{url}/audit")
    assert answer.status_code == 402
    assert decode_payment_required_header(answer.headers["payment-required"]).accepts[0].amount == "6000000"


@pytest.mark.parametrize("name", NAMES)
def test_example_has_at_most_forty_lines_of_code(name):
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) - tree.body[0].end_lineno <= 40
