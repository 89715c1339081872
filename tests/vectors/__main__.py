"""Writes the vectors of this folder that a script makes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.vectors import exchanges, headers, ipfs, signatures

FOLDER = Path(__file__).parent
MODULES = {"exchanges": exchanges, "headers": headers, "ipfs": ipfs, "signatures": signatures}


def text_of(value: object) -> str:
    """Return the content of a file, one line an entry."""
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{json.dumps(name)}: {text_of(part)}" for name, part in value.items()) + "\n}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(part, separators=(",", ":")) for part in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    for name, module in MODULES.items():
        (FOLDER / f"{name}.json").write_text(text_of(module.vectors()) + "\n", encoding="utf-8")
