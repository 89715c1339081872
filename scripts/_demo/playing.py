"""Runs what `make play` shows: a chain, a running economy, and the service over its index."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
from ape.logging import get_rich_console, logger
from rich.console import Console

from bilateral.core.contracts import Deployment
from bilateral.dev.anvil import Interrupted, ended_after_us
from bilateral.dev.servers import facilitator_app, serving
from bilateral.x402 import Preflight, Verifier, declare_8004_reputation
from scripts._demo import paid
from scripts._demo.living import DAYS, Economy
from scripts._demo.stage import Stage
from scripts._pictures import write_play_pictures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PICTURES_SECONDS: Final = 60.0
"""The seconds after which pictures are taken: by then, the economy has lived a while, and is analysed again."""

_ANALYSIS_SECONDS: Final = 300.0
"""The longest wait for the first analysis, which takes some seconds. Without it, nothing is ranked."""

_LIVELY: Final = 600
_CALM: Final = 5
"""After so many events, the pause is so many times as long. The chain keeps 256 states, each with all that was ever
stored, which takes 0.1 MB a block: 2.5 GB a day, where it would else be 11."""

_LOOK_SECONDS: Final = 0.2
_STOP_SECONDS: Final = 10
_SIGNAL_EXIT: Final = 128
_SETTINGS: Final = """[[chain]]
rpc_urls = ["{url}"]
deployments = ["{record}"]

[chain.payments]
tokens = {{"{token}" = 6}}
"""
"""The settings of the index: it learns the payments of the demo's token, too."""

_COMMAND: Final = str(Path(sys.executable).with_name("bilateral"))


def run(port: int, pause: float, *, pictures: bool) -> None:
    """Run the economy and the service until an interruption, which ends this process.

    Args:
        port: The port of the service, or 0 for a free one.
        pause: The seconds between two events.
        pictures: Take pictures after an analysis, and end.
    """
    logger.set_level(logging.CRITICAL)
    logging.getLogger("x402").setLevel(logging.CRITICAL)
    get_rich_console(sys.stdout).quiet = True
    console = Console(width=110, highlight=False)
    try:
        with ExitStack() as stack:
            _play(stack, console, port, pause, pictures=pictures)
    except Interrupted as interruption:
        console.print(f"\nStopped by {interruption}: the chain, the service and the economy have ended.")
        sys.exit(0 if interruption.signal == signal.SIGINT else _SIGNAL_EXIT + interruption.signal)


def _play(stack: ExitStack, console: Console, port: int, pause: float, *, pictures: bool) -> None:
    """Start everything, print the link, and let the economy live."""
    console.print("A chain starts, and sixty days of an economy are played, usually in 10 to 20 seconds …")
    begin = int(time.time()) - DAYS * 86_400
    stage = stack.enter_context(Stage.opened(Console(quiet=True), "--timestamp", str(begin)))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    economy = _economy(stack, stage)
    economy.begin()
    database = f"sqlite:///{folder / 'index.sqlite'}"
    settings = folder / "index.toml"
    settings.write_text(_SETTINGS.format(url=stage.url, record=stage.record, token=economy.token), encoding="utf-8")
    source = ("--settings", str(settings), "--database", database)
    console.print("The service starts and reads the chain, and analyses it, usually in 10 seconds …")
    service = stack.enter_context(_child("serve", *source, "--port", str(port), "--rate", "1000000/second"))
    url = _address(service)
    _await_analysis(service, url)
    console.print(f"\n  [bold]{url}[/]\n\nThe economy keeps running. Ctrl-C stops everything.")
    until = time.monotonic() + _PICTURES_SECONDS
    while service.poll() is None:
        _live(economy, pause)
        if pictures and time.monotonic() > until:
            console.print("Pictures are taken …")
            write_play_pictures(url)
            return
    raise SystemExit(f"the service ended with exit code {service.returncode}")


def _await_analysis(service: subprocess.Popen[str], url: str) -> None:
    """Wait until the service is ready, which it is once it has read and analysed the chain."""
    until = time.monotonic() + _ANALYSIS_SECONDS
    problems: list[str] = []
    while service.poll() is None and time.monotonic() < until:
        answer = httpx.get(f"{url}/readyz", timeout=_ANALYSIS_SECONDS)
        if answer.is_success:
            return
        problems = answer.json().get("problems", [answer.text])
        time.sleep(_LOOK_SECONDS)
    raise SystemExit(f"the service is not ready: {'; '.join(problems)}")


def _live(economy: Economy, pause: float) -> None:
    """Let one event happen, and pause."""
    economy.live()
    time.sleep(pause if economy.events <= _LIVELY else pause * _CALM)


def _economy(stack: ExitStack, stage: Stage) -> Economy:
    """Open the shop of paid requests, and return the economy."""
    deployment = Deployment(
        stage.chain_id,
        identity=stage.registry("IdentityRegistry").address,
        reputation=stage.registry("BidirectionalReputationRegistry").address,
    )
    token = stage.account("deployer").deploy(stage.contract("MockPaymentToken"))
    facilitator = facilitator_app(stage.url, stage.account("facilitator").private_key, f"eip155:{stage.chain_id}")
    market = paid.Market(stage, deployment, token, stack.enter_context(serving(facilitator)))
    paid.open_shop(market)
    verifier = stack.enter_context(Verifier({stage.url: deployment}))
    declared = declare_8004_reputation(market.agent, deployment)
    shop = market.shop(stage.account("forecaster"), declared, Preflight(verifier))
    url = stack.enter_context(serving(shop)) + "/weather"
    return Economy(stage, market, verifier, url)


@contextmanager
def _child(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command of the package, and end it with all of its own processes."""
    command: Sequence[str] = (_COMMAND, *arguments)
    process = subprocess.Popen(  # noqa: S603  # ours
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        with ended_after_us(process):
            yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with _nobody_left():
                os.killpg(process.pid, number)
            try:
                process.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                continue


@contextmanager
def _nobody_left() -> Iterator[None]:
    """Go on if a group of processes has ended already."""
    try:
        yield
    except ProcessLookupError:
        return


def _address(service: subprocess.Popen[str]) -> str:
    """Wait until the service listens, and return its URL. A thread reads on, because a full pipe would block it."""
    told = ""
    while line := service.stderr.readline() if service.stderr else "":
        if match := re.search(r"listening on (\S+)", line):
            threading.Thread(target=service.communicate, daemon=True).start()
            return match[1]
        told += line
    raise SystemExit(f"the service ended: {told}")
