"""Anchor in a process of its own, which stops at a point until it is killed.

The process imports only what it needs, so that it starts quickly. It reads its task from the standard input, and writes
a line when it has reached the point.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

from eth_account import Account

from bilateral.buyers import anchoring
from bilateral.client import Client
from bilateral.index.log.database import open_database

ROOT = Path(__file__).parents[3]
POINTS = ["while it stores states", "before it sends the root", "after it sent the root"]


def anchor_and_kill(point, *task):
    """Start the process, wait until it has reached a point, and kill it.

    Args:
        point: One of `POINTS`.
        task: The node, the deployment, the signer's key, the database and the policies.
    """
    command = [sys.executable, "-m", __name__]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:  # noqa: S603  # this file
        try:
            process.stdin.write(pickle.dumps((point, *task)))
            process.stdin.close()
            overdue = threading.Timer(120, process.kill)
            overdue.start()
            assert process.stdout.readline() == b"ready\n"
            overdue.cancel()
        finally:
            process.kill()


def hang():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    time.sleep(600)


def anchor_until(point, url, deployment, key, database, policies):
    """Anchor, and stop at a point."""
    client = Client(url, signer=Account.from_key(key), deployment=deployment, poll_interval=0.01)
    store, send = anchoring.store_tree, client.anchor_root
    if point == "while it stores states":
        anchoring.store_tree = lambda *terms: store(*terms) and hang()
    elif point == "before it sends the root":
        client.anchor_root = lambda *_: hang()
    else:
        client.anchor_root = lambda *terms: send(*terms) and hang()
    anchoring.anchor_states(open_database(database), client, policies)


if __name__ == "__main__":
    anchor_until(*pickle.load(sys.stdin.buffer))  # noqa: S301  # our own process wrote it
