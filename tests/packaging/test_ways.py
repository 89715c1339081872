"""The four ways in work as their pages stand, from the wheel and the npm package, outside of the checkout."""

from __future__ import annotations

import re
import subprocess
import time

import pytest

from scripts._build import ROOT
from tests.packaging.fixtures import market_of, seconds_of, unpack_with_tools

BLOCK = re.compile(r"^```(sh|text|python|solidity|js)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MARK = "=== end of a block ==="
MOST_SECONDS = 15 * 60
VARYING = (
    (re.compile(r"0x[0-9a-f]{64}"), "0x…"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"[\d.]+ ETH \(\d+ gas estimated\)"), "… ETH"),
)
"""Parts of outputs that differ from run to run: hashes, ports, costs."""


def steady(text):
    """Return an output without its varying parts and without spaces at the ends of lines."""
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return [line.rstrip() for line in text.strip().splitlines()]


class Page:
    """A page: its programs, its commands in order, and the output of each block of commands; None if it shows none."""

    def __init__(self, name):
        self.commands, self.outputs, self.programs = [], [], {}
        for kind, content in BLOCK.findall((ROOT / "docs" / name).read_text()):
            if kind in {"python", "solidity", "js"}:
                first, _, program = content.partition("\n")
                self.programs[first.split()[1]] = program
            elif kind == "sh":
                self.commands.append(content)
                self.outputs.append(None)
            else:
                self.outputs[-1] = content

    def play(self, market, folder):
        """Run all commands in one shell, and return the output of each block."""
        for name, program in self.programs.items():
            (folder / name).write_text(program)
        script = f"echo '{MARK}'\n".join(self.commands)
        ran = subprocess.run(  # noqa: S603  # the page
            ["bash", "-eu", "-m", "-c", script],  # noqa: S607
            cwd=folder,
            env=market.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout.split(f"{MARK}\n")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "names",
    [("for-buyers.md",), ("for-buyers.md", "for-sellers.md"), ("for-operators.md",), ("for-contract-authors.md",)],
    ids=lambda names: names[-1],
)
def test_page_leads_from_nothing_to_its_end_with_the_output_that_it_shows(installed, request, tmp_path, names):
    programs = installed("all")
    if names != ("for-operators.md",):
        unpack_with_tools(request.getfixturevalue("archive"), tmp_path / "node_modules")
    with market_of(programs, tmp_path) as market:
        for name in names:
            page = Page(name)
            began = time.monotonic()
            outputs = page.play(market, tmp_path)
            seconds = time.monotonic() - began
            print(
                f"{name}: {seconds_of(programs):.0f} + {market.seconds:.0f} + {seconds:.0f} s to install, start, play"
            )
            for command, shown, output in zip(page.commands, page.outputs, outputs, strict=True):
                if shown is not None:
                    assert steady(output) == steady(shown), command


def test_programs_of_the_pages_are_the_examples():
    programs = Page("for-buyers.md").programs | Page("for-sellers.md").programs
    examples = {"buy.py": "paid_weather_client.py", "seller.py": "paid_weather_agent.py"}
    examples |= {"buy.mjs": "paid_weather_client.mjs", "seller.mjs": "paid_tide_agent.mjs"}
    assert programs == {name: (ROOT / "examples" / example).read_text() for name, example in examples.items()}
