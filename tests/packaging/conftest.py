"""The registry that installed commands use."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def record(chain, identity, tmp_path):
    """The deployment record of an identity registry."""
    path = tmp_path / "record.json"
    path.write_text(
        json.dumps({"chainId": chain.chain_id, "contracts": {"IdentityRegistry": {"address": identity.address}}})
    )
    return path
