"""Sellers in TypeScript on a chain with Python's facilitator. `make test-npm` installs what they need."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import contextmanager

import pytest

from scripts._build import ROOT
from scripts.npm_package import SOURCE, prepare_tests
from tests.x402.conftest import (  # noqa: F401  # fixtures
    agent,
    deployment,
    every_facilitator_url,
    loader,
    payment_chain,
    publish,
    register,
    rpc,
    seller,
    selling_client,
    verifier,
    web3,
)
from tests.x402.world import SIGNING_KEY

SECONDS = 120
INSTALLED = ROOT / ".cache" / "npm-package"


class NodeShop:
    """A running shop.

    Attributes:
        url: Its URL.
        lines: What it printed since.
    """

    def __init__(self, process):
        self._process, self.lines = process, []
        self.url = process.stdout.readline().strip()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        for line in self._process.stdout:
            self.lines.append(line.strip())


@pytest.fixture(scope="session")
def bundled():
    """Bundles a program of npm/tests/sellers for Node. It stays beside the installed packages, where Node looks."""
    if not (SOURCE / "source" / "openapi.ts").exists():  # `make test-npm` has written it anew
        prepare_tests()

    def bundle(name, platform="node"):
        target = INSTALLED / f"{name}.mjs"
        esbuild = INSTALLED / "node_modules" / ".bin" / "esbuild"
        options = ["--bundle", f"--platform={platform}", "--log-level=error", f"--outfile={target}"]
        options += ["--packages=external"] if platform == "node" else []
        options += [] if name == "page" else ["--format=esm"]
        command = [esbuild, SOURCE / f"tests/sellers/{name}.ts", *options]
        subprocess.run(command, check=True, timeout=SECONDS)  # noqa: S603  # our own programs
        return target

    return bundle


@pytest.fixture(scope="session")
def shop_settings(rpc, payment_chain, every_facilitator_url, seller, agent, deployment):  # noqa: F811  # fixtures
    """The settings of the honest seller's shop."""
    return {
        "facilitator": every_facilitator_url,
        "rpc": rpc,
        "token": payment_chain.token,
        "payTo": seller.address,
        "agentId": agent,
        "registries": {"IdentityRegistry": deployment.identity, "ReputationRegistry": deployment.reputation},
        "key": SIGNING_KEY.secret.hex(),
        "algorithm": SIGNING_KEY.algorithm,
    }


@pytest.fixture(scope="session")
def open_node_shop(bundled, shop_settings):
    """Returns a context with a shop of a framework, of the honest seller unless settings say otherwise."""
    program = bundled("shop")

    @contextmanager
    def run(framework, node="node", **settings):
        process = subprocess.Popen(  # noqa: S603  # our own program
            [node, program, framework],
            env=os.environ | {"SHOP": json.dumps(shop_settings | settings)},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield NodeShop(process)
        finally:
            process.kill()
            process.wait()

    return run
