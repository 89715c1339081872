"""Interfaces, answers and tables are as they were recorded."""

from __future__ import annotations

import difflib

import pytest

from tests.recordings.recordings import FOLDER, RECORDINGS

SHOWN = 60
"""The lines of a difference that a failure shows."""


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording_is_of_the_present_state(name):
    recorded = (FOLDER / name).read_text(encoding="utf-8")
    present = RECORDINGS[name]()
    if present != recorded:
        lines = difflib.unified_diff(
            recorded.splitlines(), present.splitlines(), "recorded", "present", lineterm="", n=0
        )
        listed = [line if len(line) < 1_000 else f"{line[:1_000]}…" for line in lines]
        shown = "\n".join(listed[:SHOWN])
        pytest.fail(f"{name} differs in {len(listed)} lines: python -m tests.recordings {name}\n{shown}", pytrace=False)
