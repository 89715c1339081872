"""The registry that installed commands use, and a service that runs from the installed wheel."""

from __future__ import annotations

import json
import re
import subprocess

import pytest


@pytest.fixture
def record(chain, identity, tmp_path):
    """The deployment record of an identity registry."""
    path = tmp_path / "record.json"
    path.write_text(
        json.dumps({"chainId": chain.chain_id, "contracts": {"IdentityRegistry": {"address": identity.address}}})
    )
    return path


@pytest.fixture
def service(installed, tmp_path, chain, record):
    """The URL of a service that runs from the installed wheel."""
    node = ["--rpc-url", chain.provider.uri, "--deployment", record]
    words = [installed("api,cli") / "bilateral", "serve", *node, "--port", "0", "--database", "sqlite:///i.sqlite"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)  # noqa: S603
    told = ""
    for line in process.stderr:
        told += line
        if match := re.search(r"listening on (\S+)", line):
            yield match[1]
            break
    else:
        pytest.fail(told)
    process.terminate()
    process.communicate()
