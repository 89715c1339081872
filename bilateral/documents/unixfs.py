"""Files of IPFS, read from blocks that are checked against their CIDs (UnixFS and dag-pb). They need the extra `ipfs`.

Neither the server nor the author of the blocks is trusted. The number of blocks and the size of the file have limits,
and the walk over blocks does not recurse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from bilateral.core.errors import DocumentTooLargeError, MalformedDocumentError, MissingExtraError, UnsupportedUriError
from bilateral.core.text import quoted
from bilateral.documents.cid import RAW, Cid

MAX_BLOCKS: Final = 256
"""Blocks of one file: a hostile one would be read block by block without end."""

_RAW_DATA: Final = 0  # `DataType.Raw` of the specification of UnixFS
_DIRECTORY: Final = 1  # `DataType.Directory`
_FILE: Final = 2  # `DataType.File`
_TYPES: Final = {3: "metadata", 4: "a symbolic link", 5: "a sharded folder"}  # `DataType` of unixfs.proto


def is_of_block(cid: Cid, content: bytes) -> bool:
    """Return True if a CID is that of a file of one block: the content alone, or as a leaf in dag-pb."""
    if cid.codec != RAW:
        length = _varint(len(content))
        data = b"\x08" + bytes([_FILE]) + b"\x12" + length + content + b"\x18" + length  # Type, Data, filesize
        content = b"\x0a" + _varint(len(data)) + data  # Data of the node
    return hashlib.sha256(content).digest() == cid.digest


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:  # noqa: PLR2004  # seven bits a byte
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def read_file(fetch: Callable[[Cid], bytes], root: Cid, path: Sequence[str], limit: int) -> bytes:
    """Read a file of IPFS."""
    content = bytearray()
    names = list(path)
    pending = [root]
    for _ in range(MAX_BLOCKS):
        cid = pending.pop()
        block = fetch(cid)
        cid.verify(block)
        data, links, is_folder = _read_block(cid, block)
        if is_folder:
            pending = [_member(links, names)]
            continue
        if names:
            raise MalformedDocumentError(f"{cid} is a file, not a folder with {quoted(names[0])}")
        content += data
        if len(content) > limit:
            raise DocumentTooLargeError(limit)
        pending += [Cid.parse(link.Hash) for link in reversed(links)]
        if not pending:
            return bytes(content)
    raise DocumentTooLargeError(limit)


def _member(links: Sequence[Any], names: list[str]) -> Cid:
    """Return the CID of the first name in a folder, and remove the name."""
    if not names:
        raise MalformedDocumentError("the CID names a folder, not a file")
    name = names.pop(0)
    for link in links:
        if link.Name == name.encode(errors="replace"):
            return Cid.parse(link.Hash)
    raise MalformedDocumentError(f"{quoted(name)} is not in the folder")


def _read_block(cid: Cid, block: bytes) -> tuple[bytes, Sequence[Any], bool]:
    """Return the content of a block, its links, and whether it is a folder."""
    if cid.codec == RAW:
        return block, (), False
    new_node, new_data, decode_error = _messages()
    node, data = new_node(), new_data()
    try:
        node.ParseFromString(block)
        data.ParseFromString(node.Data)
    except decode_error:
        raise MalformedDocumentError(f"{cid} is not a UnixFS block") from None
    if not data.HasField("Type"):
        raise MalformedDocumentError(f"{cid} is not a UnixFS block")
    if data.Type in (_RAW_DATA, _FILE):
        return data.Data, node.Links, False
    if data.Type == _DIRECTORY:
        return b"", node.Links, True
    raise UnsupportedUriError(f"{cid} is {_TYPES.get(data.Type, 'of an unknown type')}, not a file")


@cache
def _messages() -> tuple[Any, Any, type[Exception]]:
    """Return the messages of dag-pb and UnixFS with the fields that a reader needs, and the error of their parser."""
    try:
        from google.protobuf.descriptor_pb2 import (  # noqa: PLC0415  # of the extra `ipfs`
            FieldDescriptorProto,
            FileDescriptorProto,
        )
        from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415
        from google.protobuf.message import DecodeError  # noqa: PLC0415
        from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtraError("ipfs", ["protobuf"]) from None
    field = FieldDescriptorProto
    proto = FileDescriptorProto(name="unixfs.proto", package="unixfs", syntax="proto2")
    for message, fields in {
        "PBLink": [("Hash", 1, field.TYPE_BYTES, ""), ("Name", 2, field.TYPE_BYTES, "")],
        "PBNode": [("Data", 1, field.TYPE_BYTES, ""), ("Links", 2, field.TYPE_MESSAGE, ".unixfs.PBLink")],
        "Data": [("Type", 1, field.TYPE_UINT64, ""), ("Data", 2, field.TYPE_BYTES, "")],
    }.items():
        described = proto.message_type.add(name=message)
        for name, number, kind, type_name in fields:
            label = field.LABEL_REPEATED if type_name else field.LABEL_OPTIONAL
            described.field.add(name=name, number=number, type=kind, label=label, type_name=type_name or None)
    pool = DescriptorPool()
    pool.Add(proto)
    node, data = (GetMessageClass(pool.FindMessageTypeByName(f"unixfs.{name}")) for name in ("PBNode", "Data"))
    return node, data, DecodeError
