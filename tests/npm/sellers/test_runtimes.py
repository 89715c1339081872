"""A seller of Hono sells in Node 22 and 24, Deno, Bun and workerd, and `trustedFetch` buys there.

`RUNTIMES` names the folder that has their packages of npm.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bilateral.x402.clients.transports import paid_request
from tests.helpers import free_port
from tests.waiting import until
from tests.x402.metered import pay_headers

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif("RUNTIMES" not in os.environ, reason="RUNTIMES names no folder with runtimes"),
]

BINARIES = {
    "node-22": "node-22/bin/node",
    "node-24": "node-24/bin/node",
    "deno": "@deno/linux-x64-glibc/deno",
    "bun": "@oven/bun-linux-x64/bin/bun",
    "workerd": "@cloudflare/workerd-linux-64/bin/workerd",
}
WORKER = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "network", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:%d", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "edge.mjs", esModule = embed "edge.mjs")],
  compatibilityDate = "2025-09-01",
  compatibilityFlags = [%s],
  globalOutbound = "network",
  bindings = [(name = "SHOP", text = %s)],
);
"""


@pytest.fixture
def open_edge(bundled, open_node_shop, shop_settings, tmp_path):
    """Returns a context with the URL of a shop in a runtime."""
    program = bundled("edge", "browser")

    @contextmanager
    def run(runtime, flags=""):
        port, shop = free_port(), json.dumps(shop_settings)
        binary = Path(os.environ["RUNTIMES"], "node_modules", BINARIES[runtime])
        if runtime.startswith("node"):
            with open_node_shop("hono", node=binary) as node_shop:
                yield node_shop.url
            return
        (tmp_path / "edge.mjs").write_bytes(program.read_bytes())
        (tmp_path / "worker.capnp").write_text(WORKER % (port, flags, json.dumps(shop)), encoding="utf-8")
        arguments = {
            "deno": ["serve", "--allow-all", "--port", str(port), "edge.mjs"],
            "bun": ["run", "edge.mjs"],
            "workerd": ["serve", "worker.capnp"],
        }[runtime]
        environment = os.environ | {"SHOP": shop, "PORT": str(port), "DENO_DIR": str(tmp_path), "NO_COLOR": "1"}
        process = subprocess.Popen([binary, *arguments], cwd=tmp_path, env=environment)  # noqa: S603  # pinned packages
        url = f"http://127.0.0.1:{port}"
        try:
            until(lambda: process.poll() is None and is_open(url), bool, 60)
            yield url
        finally:
            process.kill()
            process.wait()

    return run


def is_open(url):
    try:
        return httpx.get(url + "/free").status_code == 200
    except httpx.HTTPError:
        return False


RUNTIMES = pytest.mark.parametrize(
    ("runtime", "flags"),
    [*((runtime, "") for runtime in BINARIES), ("workerd", '"nodejs_compat"')],
)


@RUNTIMES
def test_seller_sells_in_other_runtimes(open_edge, payment_chain, verifier, runtime, flags):
    with open_edge(runtime, flags) as url:
        headers = pay_headers(url + "/eip3009", payment_chain.buyer())
        response = httpx.post(url + "/eip3009", headers=headers, content=b"snow")
        assert (response.status_code, response.content) == (200, b"snow"), response.headers
        sent = paid_request(headers["PAYMENT-SIGNATURE"], f"POST {url}/eip3009", {}, b"snow", response.headers, b"snow")
        verification = verifier.verify(sent)
    assert verification.is_verified, verification.problems


@RUNTIMES
def test_buyer_buys_in_other_runtimes(open_edge, open_node_shop, shop_settings, payment_chain, runtime, flags):
    chain = {"id": 31337, "rpc": shop_settings["rpc"], "registries": shop_settings["registries"]}
    with open_node_shop("express") as shop, open_edge(runtime, flags) as url:
        order = {"url": shop.url + "/eip3009", "key": "0x" + payment_chain.buyer().key.hex(), "chain": chain}
        answer = httpx.post(url + "/buy", json=order, timeout=60)
    assert answer.json() == {"body": "snow", "isVerified": True, "problems": []}
