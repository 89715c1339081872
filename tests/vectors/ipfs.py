"""Writes `ipfs.json`: files of IPFS block by block, built from the specifications, and what readers make of them."""

from __future__ import annotations

from typing import Any

from tests.sdk.servers import Blocks

SMALL, LARGE = b'{"name":"Weather"}', bytes(range(256)) * 4


def vectors() -> dict[str, Any]:
    """Return the content of the file."""
    blocks = Blocks()
    files: list[tuple[str, str, bytes | None]] = []
    raw, old = blocks.add(SMALL), blocks.add(SMALL, raw_leaves=False, version=0)
    leaf = blocks.add(SMALL, raw_leaves=False)
    many, many_old = blocks.add(LARGE, chunk=100), blocks.add(LARGE, raw_leaves=False, version=0, chunk=100)
    files += [("one raw block", raw, SMALL), ("version 0", old, SMALL), ("one block of dag-pb", leaf, SMALL)]
    files += [("eleven raw blocks", many, LARGE), ("eleven blocks of version 0", many_old, LARGE)]
    folder = blocks.folder(**{"agent.json": raw, "large.bin": many})
    files += [
        ("a file in a folder", f"{folder}/agent.json", SMALL),
        ("a long one in a folder", f"{folder}/large.bin", LARGE),
    ]
    files += [("a folder", folder, None), ("a name that is not there", f"{folder}/other", None)]
    files += [("a file as a folder", f"{raw}/agent.json", None), ("no CID", "agent", None)]
    files += [("a CID that is cut off", raw[:-3], None), ("a block that no gateway has", raw[:-6] + "aaaaaa", None)]
    broken = blocks.put(b"\x0a\x05ab", 0x70, 1)
    text = next(cid for cid, block in blocks.items() if block == b"\x0a\x05ab")
    files += [("a block that is cut off", text, None)]
    assert broken
    wrong = blocks.add(b"what the author wrote")
    blocks[wrong] = b"what the gateway delivers"
    files += [("a block of another content", wrong, None)]
    return {
        "blocks": [{"cid": cid, "block": block.hex()} for cid, block in blocks.items()],
        "files": [
            {"name": name, "uri": f"ipfs://{uri}", "content": None if content is None else content.hex()}
            for name, uri, content in files
        ],
    }
