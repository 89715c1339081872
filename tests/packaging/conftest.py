"""The registry that installed commands use, and a service that runs from the installed wheel."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import contextmanager

import pytest


@pytest.fixture
def record(chain, identity, tmp_path):
    """The deployment record of an identity registry."""
    path = tmp_path / "record.json"
    path.write_text(
        json.dumps({"chainId": chain.chain_id, "contracts": {"IdentityRegistry": {"address": identity.address}}})
    )
    return path


@contextmanager
def service_of(programs, folder, chain, record):
    """Run a service from a folder of installed programs, and yield its URL."""
    node = ["--rpc-url", chain.provider.uri, "--deployment", record]
    words = [programs / "bilateral", "serve", *node, "--port", "0", "--database", "sqlite:///i.sqlite"]
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)  # noqa: S603
    log = ""
    for line in process.stderr:
        log += line
        if match := re.search(r"listening on (\S+)", line):
            yield match[1]
            break
    else:
        pytest.fail(log)
    process.terminate()
    process.communicate()


@pytest.fixture
def service(installed, tmp_path, chain, record):
    """The URL of a service that runs from the installed wheel."""
    with service_of(installed("api,cli"), tmp_path, chain, record) as url:
        yield url
