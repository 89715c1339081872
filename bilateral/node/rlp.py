"""Recursive Length Prefix, the serialisation of headers, transactions and receipts (Yellow Paper, appendix B)."""

from typing import Any, Final

_SHORT: Final = 56  # from this length on, the length is encoded separately


def encode(item: Any) -> bytes:
    """Encode bytes, a number, or a sequence of items."""
    if isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8)
    if not isinstance(item, bytes):
        content = b"".join(map(encode, item))
        return _prefix(len(content), 0xC0) + content
    return item if len(item) == 1 and item < b"\x80" else _prefix(len(item), 0x80) + item


def _prefix(length: int, offset: int) -> bytes:
    if length < _SHORT:
        return bytes([offset + length])
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes([offset + _SHORT - 1 + len(size)]) + size
