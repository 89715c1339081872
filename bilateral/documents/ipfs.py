"""IPFS files, read from blocks that are checked against their identifiers (CIDs). Requires the extra `ipfs`.

Neither the server nor the author of the blocks is trusted. The number of blocks and the file's size are limited, and
the blocks (UnixFS and dag-pb) are read in a loop, without recursion.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

from bilateral.core import errors
from bilateral.core.text import quoted

RAW: Final = 0x55  # the codec `raw` of the multicodec table
DAG_PB: Final = 0x70  # the codec `dag-pb` of the multicodec table
_SHA2_256: Final = 0x12  # the hash `sha2-256` of the multicodec table
_DIGEST_BYTES: Final = 32  # of SHA-256
_MAX_LENGTH: Final = 128  # a CID of SHA-256 has 59 characters in base32, and 75 in base16


@dataclass(frozen=True)
class Cid:
    """A CID of version 0 or 1 for a block of an IPFS file: raw bytes or dag-pb, hashed with SHA-256.

    Attributes:
        version: The CID's version, 0 or 1.
        codec: The block's codec, `RAW` or `DAG_PB`.
        digest: The block's SHA-256 hash.
    """

    version: int
    codec: int
    digest: bytes

    @classmethod
    def parse(cls, cid: str | bytes) -> Self:
        """Parse a CID from text in any multibase encoding, or from bytes, as in links between blocks."""
        visible = quoted(cid) if isinstance(cid, str) else f"0x{cid[:_MAX_LENGTH].hex()}"
        if len(cid) > _MAX_LENGTH:
            raise errors.UnsupportedUriError(f"{visible} is too long for a CID")
        try:
            parts = _libipld().decode_cid(cid)
        except ValueError as error:
            raise errors.UnsupportedUriError(f"{visible} is not a CID: {error}") from None
        codec, digest = parts["codec"], parts["hash"]
        if codec not in (RAW, DAG_PB):
            raise errors.UnsupportedUriError(f"{visible} has the codec 0x{codec:x}; only raw and dag-pb are supported")
        if digest["code"] != _SHA2_256 or digest["size"] != _DIGEST_BYTES:
            raise errors.UnsupportedUriError(
                f"{visible} has the hash function 0x{digest['code']:x}; only sha2-256 is supported"
            )
        return cls(parts["version"], codec, digest["digest"])

    @classmethod
    def of_raw(cls, block: bytes) -> Self:
        """Return the CID of bytes that are stored as a single raw block, as IPFS does with small files."""
        return cls(1, RAW, hashlib.sha256(block).digest())

    def verify(self, block: bytes) -> None:
        """Check that a block matches this CID."""
        digest = hashlib.sha256(block).digest()
        if digest != self.digest:
            raise errors.CidMismatchError(str(self), str(Cid(self.version, self.codec, digest)))

    def __str__(self) -> str:
        """Return the canonical text: base58 for version 0, base32 for version 1."""
        multihash = bytes([_SHA2_256, _DIGEST_BYTES]) + self.digest
        if self.version == 0:
            return str(_libipld().encode_multibase("z", multihash)[1:])  # the one CID without the multibase prefix
        return str(_libipld().encode_multibase("b", bytes([self.version, self.codec]) + multihash))


def _libipld() -> Any:
    try:
        import libipld  # noqa: PLC0415  # of the extra `ipfs`
    except ModuleNotFoundError as error:
        raise errors.MissingExtraError("ipfs", [str(error.name)]) from None
    return libipld


MAX_BLOCKS: Final = 256
"""The maximum number of blocks to read for one file. Without a limit, reading a hostile file might never end."""

_RAW_DATA: Final = 0  # `DataType.Raw` of the specification of UnixFS
_DIRECTORY: Final = 1  # `DataType.Directory`
_FILE: Final = 2  # `DataType.File`
_TYPES: Final = {3: "metadata", 4: "a symbolic link", 5: "a sharded folder"}  # `DataType` of unixfs.proto


def is_of_block(cid: Cid, content: bytes) -> bool:
    """Return True if a CID identifies the given content as a file of one block: raw, or a dag-pb leaf."""
    if cid.codec != RAW:
        new_node, new_data, _ = _messages()
        data = new_data(Type=_FILE, Data=content, filesize=len(content))
        content = new_node(Data=data.SerializeToString()).SerializeToString()
    return hashlib.sha256(content).digest() == cid.digest


def read_file(fetch: Callable[[Cid], bytes], root: Cid, path: Sequence[str], limit: int) -> bytes:
    """Read the IPFS file at a path below a root CID."""
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
            raise errors.MalformedDocumentError(f"{cid} is a file, not a folder that contains {quoted(names[0])}")
        content += data
        if len(content) > limit:
            raise errors.DocumentTooLargeError(limit)
        pending += [Cid.parse(link.Hash) for link in reversed(links)]
        if not pending:
            return bytes(content)
    raise errors.DocumentTooLargeError(limit)


def _member(links: Sequence[Any], names: list[str]) -> Cid:
    """Look up the first path segment in a folder, remove it from `names`, and return its CID."""
    if not names:
        raise errors.MalformedDocumentError("the CID identifies a folder, not a file")
    name = names.pop(0)
    for link in links:
        if link.Name == name.encode(errors="replace"):
            return Cid.parse(link.Hash)
    raise errors.MalformedDocumentError(f"{quoted(name)} is not in the folder")


def _read_block(cid: Cid, block: bytes) -> tuple[bytes, Sequence[Any], bool]:
    if cid.codec == RAW:
        return block, (), False
    new_node, new_data, decode_error = _messages()
    node, data = new_node(), new_data()
    try:
        node.ParseFromString(block)
        data.ParseFromString(node.Data)
    except decode_error:
        raise errors.MalformedDocumentError(f"{cid} is not a UnixFS block") from None
    if not data.HasField("Type"):
        raise errors.MalformedDocumentError(f"{cid} is not a UnixFS block")
    if data.Type in (_RAW_DATA, _FILE):
        return data.Data, node.Links, False
    if data.Type == _DIRECTORY:
        return b"", node.Links, True
    raise errors.UnsupportedUriError(f"{cid} is {_TYPES.get(data.Type, 'of an unknown type')}, not a file")


@cache
def _messages() -> tuple[Any, Any, type[Exception]]:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory  # noqa: PLC0415  # extra
    except ModuleNotFoundError:
        raise errors.MissingExtraError("ipfs", ["protobuf"]) from None
    field = descriptor_pb2.FieldDescriptorProto
    proto = descriptor_pb2.FileDescriptorProto(name="unixfs.proto", package="unixfs", syntax="proto2")
    for type_, fields in {
        "PBLink": [("Hash", 1, field.TYPE_BYTES, ""), ("Name", 2, field.TYPE_BYTES, "")],
        "PBNode": [("Data", 1, field.TYPE_BYTES, ""), ("Links", 2, field.TYPE_MESSAGE, ".unixfs.PBLink")],
        "Data": [
            *(("Type", 1, field.TYPE_UINT64, ""), ("Data", 2, field.TYPE_BYTES, "")),
            ("filesize", 3, field.TYPE_UINT64, ""),
        ],
    }.items():
        described = proto.message_type.add(name=type_)
        for name, number, kind, type_name in fields:
            label = field.LABEL_REPEATED if type_name else field.LABEL_OPTIONAL
            described.field.add(name=name, number=number, type=kind, label=label, type_name=type_name or None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    node, data = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"unixfs.{name}")) for name in ("PBNode", "Data")
    )
    return node, data, message.DecodeError
