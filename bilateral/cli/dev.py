"""`bilateral dev`: a complete local market to try things out."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from bilateral.cli.errors import UsageProblemError
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command, flag, option, optional
from bilateral.core.errors import require_modules

if TYPE_CHECKING:
    from bilateral.dev.world import Ports, World

app = typer.Typer()

_PACKAGES: Final = ("fastapi", "libipld", "limits", "mcp", "nacl", "psycopg", "sqlalchemy", "uvicorn", "web3", "x402")
_SIGNAL_EXIT: Final = 128  # a shell reports a program ended by a signal as this plus the signal
_POLL_SECONDS: Final = 0.25
"""Seconds between two polls for a new block. Anvil mines one block per transaction."""

_INDEX_SECONDS: Final = 60
"""The timeout in seconds for indexing and analysing the first twenty blocks, which takes ten on a busy machine."""


@command(app, is_local=True)
def dev(
    invocation: Invocation,
    folder: Path = option(
        "FOLDER",
        "Write the deployment record and a file of environment variables to this folder.",
        default=Path("bilateral-dev"),
    ),
    anvil: Path | None = optional(
        "PROGRAM",
        "The anvil program, which runs the chain; by default, from the PATH, node_modules or ~/.foundry.",
        envvar="BILATERAL_ANVIL",
    ),
    any_ports: bool = flag(
        "--any-ports", "Use any free ports instead of 8545, 8004, 8402 and 8403.", envvar="BILATERAL_ANY_PORTS"
    ),
) -> None:
    """Start a local chain with registries, a token, a facilitator, two agents and the service. Stop it with Ctrl-C."""
    require_modules("all", *_PACKAGES)
    from bilateral.dev.anvil import Interrupted, find_anvil  # noqa: PLC0415  # slow to import
    from bilateral.dev.world import Ports, running_world  # noqa: PLC0415

    program, ports = find_anvil(anvil), Ports(0, 0, 0, 0) if any_ports else Ports()
    _require_free(ports)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    invocation.output.note("starting the chain and the agents …")
    try:
        with running_world(program, folder.resolve(), ports) as world:
            _serve(invocation, world, folder, ports.service)
    except Interrupted as interruption:
        raise typer.Exit(_SIGNAL_EXIT + interruption.signal) from None
    finally:
        _clean(folder, is_new=is_new)


def _require_free(ports: Ports) -> None:
    for name, port in vars(ports).items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                raise UsageProblemError(
                    f"port {port}, for the {name}, is in use: stop the other program, or pass --any-ports"
                ) from None


def _serve(invocation: Invocation, world: World, folder: Path, port: int) -> None:
    from bilateral.api.serve import serve  # noqa: PLC0415  # slow to import
    from bilateral.api.settings import ApiSettings  # noqa: PLC0415
    from bilateral.core.text.log_lines import log_safely  # noqa: PLC0415
    from bilateral.dev.world import ENVIRONMENT, write_environment  # noqa: PLC0415
    from bilateral.index.files.worker import FileSettings  # noqa: PLC0415
    from bilateral.index.operating.settings import ChainSettings, IndexSettings  # noqa: PLC0415
    from bilateral.index.payments.terms import PaymentTerms  # noqa: PLC0415

    def show(url: str) -> None:
        _await_agents(world, url)
        variables = {**world.variables, "SERVICE_URL": url, "SERVICE_DATABASE": database}
        write_environment(folder / ENVIRONMENT, variables)
        _show(invocation, world, variables, folder / ENVIRONMENT)

    def report(url: str) -> None:  # the service responds only after this returns
        threading.Thread(target=show, args=(url,), daemon=True).start()

    log_safely()
    with tempfile.TemporaryDirectory() as databases:
        database = f"sqlite:///{Path(databases) / 'index.sqlite'}"
        payments = PaymentTerms({world.token: 6})
        index = IndexSettings(
            (ChainSettings((world.rpc_url,), (world.deployment,), payments=payments),),
            poll_seconds=_POLL_SECONDS,
            files=FileSettings(allow_private=True),  # sellers run on this machine
        )
        settings = ApiSettings(database=database, port=port, rate=None, allow_private=True)  # for local sellers
        serve(settings, index, report=report)


def _await_agents(world: World, url: str) -> None:
    """Wait until the index has the agents, their files and their standings, so that the first queries succeed."""
    import httpx  # noqa: PLC0415  # slow to import

    deadline = time.monotonic() + _INDEX_SECONDS
    for agent in world.agents.values():
        path = f"{url}/v1/agents/{world.deployment.chain_id}:{agent}"
        while time.monotonic() < deadline:
            answer, standing = httpx.get(path), httpx.get(f"{path}/standing")
            if answer.is_success and (answer.json()["registration"] or {}).get("name") and standing.is_success:
                break
            time.sleep(_POLL_SECONDS)


def _show(invocation: Invocation, world: World, variables: dict[str, str], environment: Path) -> None:
    deployment, url = world.deployment, variables["SERVICE_URL"]
    agents = {account: f"agent {world.agents[role]}" for role, account in world.keys.items() if role in world.agents}
    view = {
        "chain": f"{world.rpc_url} (id {deployment.chain_id})",
        "service": f"{url}, for models {url}/mcp",
        "facilitator": world.facilitator_url,
        "paid route": world.weather_url,
        "identity registry": deployment.identity,
        "reputation registry": deployment.reputation,
        "authorized registry": deployment.authorized,
        "validation registry": deployment.validation,
        "buyer registry": deployment.buyers,
        "token": f"{world.token} (Test Dollar, 6 decimals, anybody may mint)",
        "accounts": {
            role: f"{account.address} key 0x{bytes(account.key).hex()} {agents.get(account, '')}".rstrip()
            for role, account in world.keys.items()
        },
        "variables": f". {environment}",
        "end": "Ctrl-C",
    }
    invocation.output.result(variables, title="A market on this machine", view=view)


def _clean(folder: Path, *, is_new: bool) -> None:
    """Remove the files that this run wrote, and the folder if this run created it."""
    from bilateral.dev.world import ENVIRONMENT, RECORD  # noqa: PLC0415

    for name in (ENVIRONMENT, RECORD):
        (folder / name).unlink(missing_ok=True)
    if is_new and not os.listdir(folder):  # noqa: PTH208  # shorter than its iterator
        shutil.rmtree(folder)
