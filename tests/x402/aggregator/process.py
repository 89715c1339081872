"""Aggregators in processes of their own, which end themselves by SIGKILL at a chosen point."""

from __future__ import annotations

import itertools
import json
import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.core.contracts import Registry
from bilateral.index.log.database import open_database
from bilateral.x402.aggregator.blind import BlindRelay
from bilateral.x402.aggregator.queue import WorkQueue
from bilateral.x402.aggregator.records import Acceptance
from bilateral.x402.aggregator.service import Aggregator
from bilateral.x402.aggregator.settings import read_aggregator_settings
from bilateral.x402.aggregator.submitter import Submitter
from tests.processes import CONTEXT

POINTS = {
    "before it is accepted": (Acceptance, "accept", "before"),
    "after it is accepted": (Acceptance, "accept", "after"),
    "before it has a nonce": (WorkQueue, "assign_nonce", "before"),
    "after it has a nonce": (WorkQueue, "assign_nonce", "after"),
    "before its transaction is stored": (WorkQueue, "store_transaction", "before"),
    "after its transaction is stored": (WorkQueue, "store_transaction", "after"),
    "after its transaction is sent": (Submitter, "_broadcast", "after"),
    "before its block is noted": (WorkQueue, "finish", "before"),
    "after its block is noted": (WorkQueue, "finish", "after"),
}
"""The points at which a process may end: a method, and the moment before or after it."""

RELAY_POINTS = {
    "before the second side is stored": (BlindRelay, "accept", "before", 1),
    "after the second side is stored": (BlindRelay, "accept", "after", 1),
    "after the first transaction is sent": (BlindRelay, "_send", "before", 1),
    "after the first transaction is in a block": (BlindRelay, "_send", "after", 1),
    "after the second transaction is sent": (BlindRelay, "_send", "before", 2),
    "after the second transaction is in a block": (BlindRelay, "_send", "after", 2),
}
"""The points of a relay of blind ratings: a method, the moment, and the call of it that counts."""


@dataclass(frozen=True)
class Running:
    """A process that serves an aggregator.

    Attributes:
        process: The process.
        url: The URL of its feedback.
    """

    process: object
    url: str

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()


def write_settings(folder, settings):
    """Write settings of one chain as their TOML file, and return its path and the environment that it needs."""
    (chain,) = settings.chains
    contracts = {
        str(Registry.IDENTITY): {"address": chain.deployment.identity, "block": 1},
        str(Registry.BIDIRECTIONAL): {"address": chain.deployment.reputation, "block": 1},
    }
    record = {"chainId": chain.chain_id, "contracts": contracts}
    (folder / "record.json").write_text(json.dumps(record))
    path = folder / "aggregator.toml"
    (token, minimum) = next(iter(chain.tokens.items()))
    path.write_text(f"""
answer_seconds = {settings.answer_seconds}
lease_seconds = {settings.lease_seconds}
resend_seconds = {settings.resend_seconds}
allow_private = true
[[chain]]
rpc_url = "{chain.rpc_url}"
deployment = "record.json"
key_variable = "SPONSOR_KEY"
budget = "{chain.budget}"
confirmations = {chain.confirmations}
private_mempool = {json.dumps(bool(chain.private_mempool))}
poll_seconds = {chain.poll_seconds}
tokens = {{ "{token}" = {minimum} }}
""")
    return path, {"SPONSOR_KEY": chain.signer.key.hex()}


def work_until_killed(database, settings, environment, point, content, seconds=300):
    """Let an aggregator take a message in a process of its own, which ends itself at a point.

    Return its exit code; None if it did not end itself in time.
    """
    arguments = (database, str(settings), environment, point, content)
    process = CONTEXT.Process(target=_work, args=arguments, daemon=True)
    process.start()
    process.join(seconds)
    exit_code = process.exitcode
    process.kill()  # its own code is -9, too
    process.join()
    return exit_code


@contextmanager
def running(database, settings, environment):
    """Serve an aggregator in a process of its own."""
    open_database(database).dispose()
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(database, str(settings), environment, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Running(process, f"{ours.recv()}/v1/aggregator/feedback")
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        ours.close()


def _work(database, settings, environment, point, content):
    """Work until killed."""
    os.environ.update(environment)
    if point is not None:
        _arm(*(POINTS | RELAY_POINTS)[point])
    with Aggregator(open_database(database), read_aggregator_settings(Path(settings))) as aggregator:
        (aggregator.relay if point in RELAY_POINTS else aggregator.submit)(content)
        signal.pause()


def _serve(database, settings, environment, connection):
    """Serve until killed."""
    os.environ.update(environment)
    app = create_app(ApiSettings(database=database, rate=None, aggregator=settings))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", access_log=False)
    socket = config.bind_socket()
    socket.listen()
    connection.send(f"http://127.0.0.1:{socket.getsockname()[1]}")
    uvicorn.Server(config).run(sockets=[socket])


def _arm(owner, name, moment, last=1):
    """Make a call of a method end the process; `last` counts the calls from 1."""
    method, numbers = getattr(owner, name), itertools.count(1)

    def deadly(*arguments, **options):
        is_last = next(numbers) == last
        answer = method(*arguments, **options) if moment == "after" or not is_last else None
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(owner, name, deadly)
