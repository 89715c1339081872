"""Untrusted text from the chain, where anyone can put any bytes into a tag, a URI or a name."""

from typing import Self


class ChainText(str):
    """Text from the chain: a `str` in which U+FFFD replaces every byte that is not UTF-8.

    Attributes:
        raw: The original bytes on chain.
    """

    raw: bytes
    __slots__ = ("raw",)

    def __new__(cls, raw: bytes) -> Self:
        """Decode the bytes."""
        text = str.__new__(cls, raw, "utf-8", "replace")
        text.raw = raw
        return text

    @property
    def is_valid(self) -> bool:
        """True if all bytes are UTF-8, so none were replaced."""
        return self.raw == self.encode()

    @property
    def printable(self) -> str:
        """The text, escaped so that it is safe to display; see `printable`."""
        return printable(self)


def printable(text: str) -> str:
    r"""Escape untrusted text so that it is safe in a terminal or a log.

    Args:
        text: Any text.

    Returns:
        The text with Python escapes in place of every backslash and every character that is not printable: control
            characters, escape sequences, line breaks, marks that reverse the writing direction, and lone surrogates.
    """
    return "".join(
        character if character.isprintable() and character != "\\" else repr(character)[1:-1] for character in text
    )


def quoted(text: str, limit: int = 120) -> str:
    """Quote untrusted text within a message.

    Args:
        text: Any text.
        limit: The maximum number of characters to show.

    Returns:
        The beginning of the text, escaped and in quotation marks, followed by the text's length if it is truncated.
    """
    beginning = f'"{printable(text[:limit])}"'
    return beginning if len(text) <= limit else f"{beginning}… ({len(text)} characters)"
