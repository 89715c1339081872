"""Names of the user's own accounts, where a command takes an address."""

from __future__ import annotations

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import FeedbackId
from bilateral.core.text import quoted


def parse_feedback(text: str) -> FeedbackId:
    """Parse the id of a feedback, of which the client may be the alias of a keystore: `84532:42:alice:0`.

    Raises:
        MalformedIdentifierError: The text has another form, or its client is neither an address nor an alias.
        KeyUnavailableError: The keystore of the alias is invalid.
    """
    agent, *named = text.rsplit(":", 2)
    if len(named) == 2 and not named[0].lower().startswith("0x"):  # noqa: PLR2004  # client and index
        from bilateral.cli.keystores import aliases, keystore_path, read_keystore  # noqa: PLC0415  # slow to import

        client, index = named
        address = read_keystore(keystore_path(client))[1] if client in aliases() else None
        if address is None:
            problem = f"the client {quoted(client)} is neither an address nor in bilateral account list"
            raise MalformedIdentifierError("a feedback id", text, problem)
        text = f"{agent}:{address}:{index}"
    return FeedbackId.parse(text)
