"""The published SDKs, unmodified, find in the service what the world holds. `make test-interop` runs this."""

from __future__ import annotations

import json
import subprocess

import pytest

from scripts._build import ROOT
from tests.api.world import ALICE, ERIN, STARS, served

INSTALLED = ROOT / ".cache" / "interop"
PROBES = ROOT / "interop"
SECONDS = 300

ACTIVE = ["31337:1", "31337:2"]
STARRED = sorted([*(star for at, star in enumerate(STARS) if at != 3), 96, 40, 100])
EXPECTED = {
    "all": ["31337:1", "31337:2", "31337:3", "31337:6"],
    "name": ["31337:1"],
    "description": ["31337:2"],
    "mcp": ["31337:1"],
    "a2a": ["31337:2"],
    "web": ["31337:1"],
    "oasf": ["31337:3"],
    "tools": ["31337:1"],
    "skills": ["31337:2"],
    "oasf skills": ["31337:3"],
    "trust": ["31337:1"],
    "active": ACTIVE,
    "inactive": ["31337:3"],
    "x402": ["31337:1"],
    "owner": ["31337:1"],
    "wallet": ["31337:1"],
    "without a file": ["31337:4", "31337:5", "31337:7"],
    "metadata key": ["31337:1"],
    "metadata value": ["31337:1"],
    "since": ["31337:1", "31337:2", "31337:3", "31337:6"],
    "rated": ["31337:1", "31337:2", "31337:3", "31337:6"],
    "rated well": ["31337:1"],
    "rated by": ["31337:1", "31337:2", "31337:6"],
    "agent": {
        "agentId": "31337:1",
        "name": "Weather Oracle",
        "mcpTools": ["forecast", "current_weather"],
        "active": True,
        "x402support": True,
        "mcp": "https://weather.example/mcp",
    },
    "feedback": {"value": 96, "tags": ["starred", "day"]},
    "feedback of agent": sorted([*STARRED, 250]),
    "feedback of agents": [-3.2, 80, 99.77],
    "feedback with tag": STARRED,
}
"""The answers that both SDKs must give. Agents 4, 5 and 7 have no file, and the default filter leaves them out."""


@pytest.fixture(scope="module", params=["python", "node"])
def answers(request, api_world, api_settings):
    """The answers of one SDK."""
    with served(api_settings) as url:
        registries = [api_world.deployment.identity, api_world.deployment.reputation]
        arguments = [url, api_world.url, *registries, ERIN.address, ALICE.address]
        if request.param == "python":
            command = [INSTALLED / "python/bin/python", PROBES / "python_probe.py", *arguments]
        else:
            probe = INSTALLED / "npm" / "node_probe.mjs"  # beside node_modules, where Node looks for packages
            probe.write_bytes((PROBES / "node_probe.mjs").read_bytes())
            command = ["node", probe, *arguments]
        words = [str(entry) for entry in command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("question", EXPECTED)
def test_sdk_finds_what_the_chain_holds(answers, question):
    assert answers[question] == EXPECTED[question]


def test_python_sdk_shows_the_feedback_file(answers):
    if "feedback file" in answers:  # the SDK for Node reads one feedback from the chain, without its file
        assert answers["feedback file"] == {"text": "The forecast was right.", "tool": "forecast"}


def test_sdk_sorts_by_name(answers):
    assert answers["by name"] == sorted(answers["by name"])


def test_sdk_sums_reputation_up(answers):
    assert answers["reputation"]["count"] == len(STARRED) + 1
