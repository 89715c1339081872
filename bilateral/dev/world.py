"""The components of `bilateral dev`, in order of their dependencies."""

import json
import logging
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eth_account import Account
from eth_account.signers.local import LocalAccount

from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.dev.anvil import running_anvil
from bilateral.dev.contracts import LocalChain
from bilateral.dev.servers import PATH, facilitator_app, serving, shop_app
from bilateral.documents import RegistrationFile
from bilateral.x402 import Secp256k1Key

ROLES: Final = ("deployer", "seller", "buyer", "facilitator", "newcomer")
"""The roles of anvil's accounts, in order. The newcomer owns no agent yet, but has test dollars, as does the buyer."""

STATES: Final = 1_000
"""The number of blocks whose state anvil retains. Repeating an earlier check requires the state of its block."""

FUNDS: Final = 1_000_000_000
"""The balance of the buyer and of the newcomer, in the token's smallest unit: a thousand dollars."""

RECORD: Final = "deployment.json"
ENVIRONMENT: Final = "environment.sh"
_WAIT_UNTIL: Final = """
# wait_until LOG COMMAND …: repeats a command for a minute, until it succeeds. If it does not, or if the process that
# was started last has ended, this shows the end of its log and fails.
wait_until() {
  _log=$1
  shift
  for _try in $(seq 200); do
    if "$@" > /dev/null 2>&1; then return 0; fi
    kill -0 $! 2> /dev/null || break
    sleep 0.3
  done
  echo "still failing: $*; end of $_log:" >&2
  tail -n 20 "$_log" >&2
  return 1
}
"""
"""A shell function in the environment file, used by documentation pages to wait for programs to start."""

_MODE: Final = 0o600  # only the user may read the keys
_POLL_SECONDS: Final = 0.05  # the local node mines at once


@dataclass(frozen=True)
class Ports:
    """The components' ports; 0 for any free port.

    Attributes:
        chain: The port of the chain's JSON-RPC.
        service: The port of the service that serves the index.
        facilitator: The port of the facilitator, which settles payments.
        shop: The port of the seller's paid route.
    """

    chain: int = 8545
    service: int = 8004
    facilitator: int = 8402
    shop: int = 8403


@dataclass(frozen=True)
class World:
    """A running local market: its components' addresses, its accounts, and its agents.

    Attributes:
        rpc_url: The URL of the chain's JSON-RPC.
        weather_url: The URL of the seller's paid route.
        token: The address of the payment token.
        deployment: The registries.
        record: The path of the deployment record.
        keys: The accounts with their keys, keyed by role.
        agents: The id of each agent, keyed by role.
    """

    rpc_url: str
    facilitator_url: str
    weather_url: str
    token: str
    deployment: Deployment
    record: Path
    keys: Mapping[str, LocalAccount]
    agents: Mapping[str, int]

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that contain the addresses of all components, for commands and examples."""
        return {
            "BILATERAL_RPC_URL": self.rpc_url,
            "BILATERAL_DEPLOYMENT": str(self.record),
            "FACILITATOR_URL": self.facilitator_url,
            "WEATHER_URL": self.weather_url,
            "TOKEN": self.token,
            **{f"{role.upper()}_AGENT": str(agent) for role, agent in self.agents.items()},
            **{f"{role.upper()}_ADDRESS": account.address for role, account in self.keys.items()},
            **{f"{role.upper()}_KEY": f"0x{bytes(account.key).hex()}" for role, account in self.keys.items()},
        }


@contextmanager
def running_world(anvil: Path, folder: Path, ports: Ports) -> Iterator[World]:
    """Start the chain with the registries, the facilitator and the seller's route; stop all of them at the end."""
    logging.getLogger("x402").setLevel(logging.CRITICAL)
    logging.getLogger("bilateral.x402").setLevel(logging.ERROR)  # it would warn that no preflight checks the route
    accounts = folder / "accounts.json"
    with ExitStack() as stack:
        node = running_anvil(anvil, "--config-out", str(accounts), port=ports.chain, states=STATES)
        rpc_url = stack.enter_context(node)
        private_keys = json.loads(accounts.read_text())["private_keys"]
        accounts.unlink()
        keys: dict[str, LocalAccount] = {
            role: Account.from_key(secret) for role, secret in zip(ROLES, private_keys, strict=False)
        }
        chain = LocalChain(rpc_url)
        content, token = chain.deploy()
        record = folder / RECORD
        record.write_text(json.dumps(content, indent=2) + "\n")
        deployment = Deployment.from_record(record.read_bytes())
        for role in ("buyer", "newcomer"):
            chain.mint(token, keys[role].address, FUNDS)
        network, payer = f"eip155:{deployment.chain_id}", bytes(keys["facilitator"].key).hex()
        settling = facilitator_app(rpc_url, payer, network, deployment.buyers)
        facilitator_url = stack.enter_context(serving(settling, ports.facilitator))
        signing_key = Secp256k1Key(secrets.token_bytes(32))
        agents = {role: _register(rpc_url, deployment, keys[role]) for role in ("seller", "buyer")}
        wallet = keys["seller"].address
        shop = shop_app(deployment, agents["seller"], signing_key, wallet, token, facilitator_url)
        weather_url = stack.enter_context(serving(shop, ports.shop)) + PATH
        files = _files(weather_url, signing_key)
        for role, agent_id in agents.items():
            with Client(rpc_url, signer=keys[role], deployment=deployment, poll_interval=_POLL_SECONDS) as client:
                client.set_agent_uri(agent_id, file=files[role]).wait()
        yield World(rpc_url, facilitator_url, weather_url, token, deployment, record, keys, agents)


def write_environment(path: Path, variables: Mapping[str, str]) -> None:
    """Write a shell file that sets variables and defines the function `wait_until`.

    Only the file's owner may read it, although anvil's keys are public.
    """
    path.touch(_MODE)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    path.write_text(exports + _WAIT_UNTIL)


def _register(rpc_url: str, deployment: Deployment, account: LocalAccount) -> int:
    with Client(rpc_url, signer=account, deployment=deployment, poll_interval=_POLL_SECONDS) as client:
        return client.register_agent().wait().agent.token_id


def _files(weather_url: str, key: Secp256k1Key) -> dict[str, RegistrationFile]:
    image = "https://agent.example/image.png"
    signer = {"publicKey": key.public_key, "algorithm": "secp256k1", "role": "delegate", "validFrom": 0}
    weather = RegistrationFile.new(
        "Weather agent",
        "It forecasts the weather of a city",
        image,
        services=[{"name": "x402", "endpoint": weather_url}],
        x402Support=True,
        signers=[{**signer, "validUntil": None}],
    )
    closed = [{"name": "web", "endpoint": "http://127.0.0.1:9/"}]  # so that a watchtower finds a service that is down
    traveller = RegistrationFile.new("Traveller", "It buys forecasts", image, services=closed)
    return {"seller": weather, "buyer": traveller}
