"""Content identifiers of IPFS (CIDs), which name a block by its hash. They need the extra `ipfs`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, Self

from bilateral.core.errors import CidMismatchError, MissingExtraError, UnsupportedUriError
from bilateral.core.text import quoted

RAW: Final = 0x55  # the codec `raw` of the multicodec table
DAG_PB: Final = 0x70  # the codec `dag-pb` of the multicodec table
_SHA2_256: Final = 0x12  # the hash `sha2-256` of the multicodec table
_DIGEST_BYTES: Final = 32  # of SHA-256
_MAX_LENGTH: Final = 128  # a CID of SHA-256 has 59 characters in base32, and 75 in base16


@dataclass(frozen=True)
class Cid:
    """A CID of version 0 or 1 for a block of raw bytes or of dag-pb, hashed by SHA-256, as IPFS files have.

    Attributes:
        version: 0 or 1.
        codec: `RAW` or `DAG_PB`.
        digest: The block's SHA-256 hash.
    """

    version: int
    codec: int
    digest: bytes

    @classmethod
    def parse(cls, cid: str | bytes) -> Self:
        """Parse a CID in text (any multibase) or, as links have it, in bytes."""
        visible = quoted(cid) if isinstance(cid, str) else f"0x{cid[:_MAX_LENGTH].hex()}"
        if len(cid) > _MAX_LENGTH:
            raise UnsupportedUriError(f"{visible} is too long for a CID")
        try:
            parts = _libipld().decode_cid(cid)
        except ValueError as error:
            raise UnsupportedUriError(f"{visible} is not a CID: {error}") from None
        codec, digest = parts["codec"], parts["hash"]
        if codec not in (RAW, DAG_PB):
            raise UnsupportedUriError(f"{visible} has the codec 0x{codec:x}; raw and dag-pb are supported")
        if digest["code"] != _SHA2_256 or digest["size"] != _DIGEST_BYTES:
            raise UnsupportedUriError(f"{visible} has the hash function 0x{digest['code']:x}; sha2-256 is supported")
        return cls(parts["version"], codec, digest["digest"])

    @classmethod
    def of_raw(cls, block: bytes) -> Self:
        """Return the CID of bytes as one raw block, as IPFS stores a small file."""
        return cls(1, RAW, hashlib.sha256(block).digest())

    def verify(self, block: bytes) -> None:
        """Check that this CID names a block."""
        digest = hashlib.sha256(block).digest()
        if digest != self.digest:
            raise CidMismatchError(str(self), str(Cid(self.version, self.codec, digest)))

    def __str__(self) -> str:
        """Return the canonical text: base 58 for version 0, base 32 for version 1."""
        multihash = bytes([_SHA2_256, _DIGEST_BYTES]) + self.digest
        if self.version == 0:
            return str(_libipld().encode_multibase("z", multihash)[1:])  # the one CID without the multibase prefix
        return str(_libipld().encode_multibase("b", bytes([self.version, self.codec]) + multihash))


def _libipld() -> Any:
    """Import libipld, which only documents in IPFS need."""
    try:
        import libipld  # noqa: PLC0415  # of the extra `ipfs`
    except ModuleNotFoundError as error:
        raise MissingExtraError("ipfs", [str(error.name)]) from None
    return libipld
