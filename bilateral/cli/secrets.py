"""Rejects keys in arguments, and removes keys from messages.

Every process on the machine can see a command's arguments, and the shell's history stores them. A command line with a
key is therefore rejected before anything else happens, and no message repeats the key.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from bilateral.cli.errors import KeyUnavailableError

ACCOUNT_VARIABLE: Final = "BILATERAL_ACCOUNT"
KEYSTORE_VARIABLE: Final = "BILATERAL_KEYSTORE"
KEY_VARIABLE: Final = "BILATERAL_PRIVATE_KEY"
PASSPHRASE_VARIABLE: Final = "BILATERAL_PASSPHRASE"  # noqa: S105  # the name of a variable
PINATA_VARIABLE: Final = "BILATERAL_PINATA_JWT"
PINNING_VARIABLE: Final = "BILATERAL_PINNING_TOKEN"  # the name of an environment variable
PASSPHRASE_FILE_VARIABLE: Final = "BILATERAL_PASSPHRASE_FILE"  # noqa: S105  # likewise

KEY: Final = re.compile(r"(0x)?[0-9a-fA-F]{64}")
"""The pattern of a private key."""

_FORBIDDEN_OPTION = re.compile(
    r"--?(private|secret|signing)?[-_]?(key|keys|secret|mnemonic|seed|seed[-_]phrase|passphrase|password)(=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_KEY_INSIDE = re.compile(r"(0[xX])?[0-9a-fA-F]{41,}")
"""The pattern of more hexadecimal digits than an address has, which may contain a key or part of one."""


def refuse_keys(arguments: Sequence[str]) -> None:
    """Reject a command line that contains a key or a passphrase."""
    for argument in arguments:
        if _FORBIDDEN_OPTION.fullmatch(argument):
            raise KeyUnavailableError(
                "key_as_argument",
                "keys and passphrases are not accepted as arguments, because other processes and the shell history can "
                f"expose them. If the key is real, replace it. Use --account or {KEY_VARIABLE}.",
            )


def without_keys(value: Any, hashes: Collection[str]) -> Any:
    """Replace every string that may be a key with `…`."""
    match value:
        case str():
            return _KEY_INSIDE.sub(lambda match: match[0] if match[0] in hashes else "…", value)
        case dict():
            return {name: without_keys(inner, hashes) for name, inner in value.items()}
        case list():
            return [without_keys(inner, hashes) for inner in value]
    return value
