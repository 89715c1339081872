"""Text that strangers wrote, made safe to show. Anybody can put any character into a tag, a URI or a name on chain."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Make a stranger's text safe for a terminal or a log.

    Args:
        text: Any text.

    Returns:
        The text with every character that is not printable (controls, escape sequences, line breaks, marks that
        reverse the direction of writing, lone surrogates) and every backslash written as a Python escape, so that
        nothing in it acts and what is shown is unambiguous.
    """
    return "".join(
        character if character.isprintable() and character != "\\" else repr(character)[1:-1] for character in text
    )


def quoted(text: str, limit: int = 120) -> str:
    """Quote a stranger's text within a message.

    Args:
        text: Any text.
        limit: The number of its characters to show at most.

    Returns:
        The beginning of the text, printable and in quotation marks, and how long it is where that is not all of it.
    """
    shown = f'"{printable(text[:limit])}"'
    return shown if len(text) <= limit else f"{shown}… ({len(text)} characters)"
