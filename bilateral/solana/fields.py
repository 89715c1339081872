"""Accounts, and a reader that decodes the fields in their bytes and checks every length before using it."""

from dataclasses import dataclass
from hashlib import sha256

from bilateral.core.errors.solana import MalformedAccountError


class Fields:
    """Reads bytes from start to end.

    Args:
        content: The bytes.
        kind: What the bytes represent, such as "a mint", for error messages.
    """

    def __init__(self, content: bytes, kind: str) -> None:
        self._content, self._kind, self.position = content, kind, 0

    @property
    def left(self) -> int:
        """The number of bytes that have not been read yet."""
        return len(self._content) - self.position

    def take(self, length: int) -> bytes:
        """Return the given number of bytes that come next."""
        if length > self.left:
            raise self.malformed(f"{length} bytes are expected at {self.position}, but only {self.left} are left")
        self.position += length
        return self._content[self.position - length : self.position]

    def number(self, length: int) -> int:
        """Return the next bytes as a little-endian number."""
        return int.from_bytes(self.take(length), "little")

    def compact(self) -> int:
        """Return the next number, encoded in one to three bytes with seven bits each, as in transactions."""
        value = 0
        for shift in (0, 7, 14):
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                if (byte == 0 and shift) or value > 0xFFFF:  # noqa: PLR2004  # the largest of 16 bits
                    raise self.malformed("a length is not in its shortest form")
                return value
        raise self.malformed("a length has more than three bytes")

    def text(self) -> str:
        """Return the next string: its length in four bytes, followed by UTF-8."""
        try:
            return self.take(self.number(4)).decode()
        except UnicodeDecodeError:
            raise self.malformed("a string is not UTF-8") from None

    def end(self) -> None:
        """Check that all bytes have been read."""
        if self.left:
            raise self.malformed(f"{self.left} extra bytes follow the end")

    def malformed(self, problem: str) -> MalformedAccountError:
        """Return the error for a problem with these bytes."""
        return MalformedAccountError(self._kind, problem)


@dataclass(frozen=True)
class Account:
    """An account as a node returns it.

    Attributes:
        owner: The program that owns the account.
        content: The account's bytes.
    """

    owner: str
    content: bytes


def anchor_account(account: Account | None, program: str, kind: str, name: str, length: int) -> Fields:
    """Return the fields of an Anchor program's account, after the discriminator."""
    if account is None:
        raise MalformedAccountError(kind, "it does not exist")
    if account.owner != program:
        raise MalformedAccountError(kind, f"the account belongs to the program {account.owner}, not to {program}")
    fields = Fields(account.content, kind)
    if len(account.content) != length or fields.take(8) != sha256(f"account:{name}".encode()).digest()[:8]:
        raise fields.malformed(f"the {len(account.content)} bytes do not match the layout of the supported version")
    return fields
