"""Files of IPFS, put together from blocks of which each is checked against its CID (UnixFS and dag-pb).

Whoever delivers the blocks is not trusted, and neither is their author: the number of blocks and the size of the file
are limited, and blocks are walked without recursion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from bilateral.documents.cid import RAW, Cid
from bilateral.errors import DocumentTooLargeError, MalformedDocumentError, UnsupportedUriError
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_BLOCKS: Final = 256

_RAW_DATA: Final = 0
_DIRECTORY: Final = 1
_FILE: Final = 2
_TYPES: Final = {3: "metadata", 4: "a symbolic link", 5: "a sharded folder"}


def read_file(fetch: Callable[[Cid], bytes], root: Cid, path: Sequence[str], limit: int) -> bytes:
    """Read a file of IPFS.

    Args:
        fetch: Delivers the block of a CID. What it delivers is checked.
        root: The file, or a folder that holds it.
        path: The names that lead from the root to the file; none if the root is the file.
        limit: The size of the file in bytes at most.

    Returns:
        The content of the file.

    Raises:
        CidMismatchError: A block is not the one that its CID names.
        DocumentTooLargeError: The file is larger than the limit, or of more than 256 blocks.
        MalformedDocumentError: A block is no file or folder, or the path leads nowhere.
        UnsupportedUriError: A link has a CID, or a block a type, that is not supported.
    """
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
            raise MalformedDocumentError(f"{cid} is a file, so it holds no {quoted(names[0])}")
        content += data
        if len(content) > limit:
            raise DocumentTooLargeError(limit)
        pending += [Cid.parse(link.Hash) for link in reversed(links)]
        if not pending:
            return bytes(content)
    raise DocumentTooLargeError(limit)


def _member(links: Sequence[Any], names: list[str]) -> Cid:
    """The CID of what the first name leads to in a folder; the name is taken off."""
    if not names:
        raise MalformedDocumentError("the CID names a folder, not a file")
    name = names.pop(0)
    for link in links:
        if link.Name == name.encode(errors="replace"):
            return Cid.parse(link.Hash)
    raise MalformedDocumentError(f"the folder holds no {quoted(name)}")


def _read_block(cid: Cid, block: bytes) -> tuple[bytes, Sequence[Any], bool]:
    """The content of a block, its links, and whether it is a folder."""
    if cid.codec == RAW:
        return block, (), False
    node, data = _PBNode(), _Data()
    try:
        node.ParseFromString(block)
        data.ParseFromString(node.Data)
    except DecodeError:
        raise MalformedDocumentError(f"{cid} is not a UnixFS block") from None
    if not data.HasField("Type"):
        raise MalformedDocumentError(f"{cid} is not a UnixFS block")
    if data.Type in (_RAW_DATA, _FILE):
        return data.Data, node.Links, False
    if data.Type == _DIRECTORY:
        return b"", node.Links, True
    raise UnsupportedUriError(f"{cid} is {_TYPES.get(data.Type, 'of an unknown type')}, not a file")


def _messages() -> tuple[Any, Any]:
    """The two messages of the dag-pb and UnixFS specifications, as far as reading needs them."""
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
    return tuple(GetMessageClass(pool.FindMessageTypeByName(f"unixfs.{name}")) for name in ("PBNode", "Data"))  # type: ignore[return-value]


_PBNode, _Data = _messages()
