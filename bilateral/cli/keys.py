"""Keys to sign with: from keystores that Ape reads too, or from an environment variable. Never from an argument.

Arguments are seen by every process of the machine and kept in the shell's history. A key that is given as one is
refused before anything else is done, and nothing repeats it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from eth_account import Account
from eth_utils.address import is_hex_address

from bilateral.cli.errors import KeyUnavailableError
from bilateral.identifiers import checksummed
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from eth_account.messages import SignableMessage
    from eth_account.signers.local import LocalAccount

ACCOUNT_VARIABLE: Final = "BILATERAL_ACCOUNT"
KEY_VARIABLE: Final = "BILATERAL_PRIVATE_KEY"
PASSPHRASE_VARIABLE: Final = "BILATERAL_PASSPHRASE"  # noqa: S105  # the name of a variable
PASSPHRASE_FILE_VARIABLE: Final = "BILATERAL_PASSPHRASE_FILE"  # noqa: S105  # likewise

Ask: TypeAlias = Callable[[str], str]
"""Shows a question at the terminal and returns what is typed, unseen."""

_UNOPENED: Final = (
    *(ValueError, KeyError, NotImplementedError),
    *(TypeError, AttributeError, AssertionError, OverflowError),  # of parameters that no keystore has
)
"""What `eth_account` raises for a keystore that it does not open."""

_FORBIDDEN_OPTION = re.compile(
    r"--?(private|secret|signing)?[-_]?(key|keys|secret|mnemonic|seed|seed[-_]phrase|passphrase|password)(=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_KEY = re.compile(r"(0x)?[0-9a-fA-F]{64}")
_KEY_INSIDE = re.compile(r"(0[xX])?[0-9a-fA-F]{41,}")
"""More digits than an address has: a key, also after other digits, or as much of one as a message shows."""


class KeystoreSigner:
    """Signs with the key in a keystore, which it unlocks when the first signature is due.

    Nobody is asked for a passphrase before all has been checked that can be checked without, nor by a dry run.
    """

    def __init__(self, alias: str, path: Path, passphrase_file: Path | None, ask: Ask) -> None:
        """Read the keystore, still locked.

        Args:
            alias: The account's name.
            path: The keystore.
            passphrase_file: A file that holds the passphrase, if one was named.
            ask: Asks for the passphrase, if it is nowhere else.

        Raises:
            KeyUnavailableError: It cannot be read, or does not name its address.
        """
        self._alias, self._passphrase_file, self._ask = alias, passphrase_file, ask
        self._keystore, self.address = _read_keystore(alias, path)
        self._account: LocalAccount | None = None

    def sign_transaction(self, transaction: Any, /) -> Any:
        """Sign a transaction."""
        return self._unlocked().sign_transaction(transaction)

    def sign_message(self, message: SignableMessage, /) -> Any:
        """Sign a message."""
        return self._unlocked().sign_message(message)

    def _unlocked(self) -> LocalAccount:
        if self._account is None:
            passphrase = _passphrase(self._alias, self._passphrase_file, self._ask)
            try:
                account = Account.from_key(Account.decrypt(self._keystore, passphrase))
            except _UNOPENED:
                raise KeyUnavailableError(
                    "wrong_passphrase", f"the passphrase does not open the keystore of {quoted(self._alias)}"
                ) from None
            if account.address != self.address:
                raise KeyUnavailableError(
                    "malformed_keystore", f"the key in the keystore of {quoted(self._alias)} is not {self.address}'s"
                )
            self._account = account
        return self._account


def refuse_keys(arguments: Sequence[str]) -> None:
    """Refuse a command line that holds a key or a passphrase.

    Args:
        arguments: The arguments.

    Raises:
        KeyUnavailableError: An option is named as if it took a key. The error does not repeat its value.
    """
    for argument in arguments:
        if _FORBIDDEN_OPTION.fullmatch(argument):
            raise KeyUnavailableError(
                "key_as_argument",
                "keys and passphrases are not taken from arguments, which other processes and the shell's history see: "
                f"if it was a real one, move what it guards. Use --account, or {KEY_VARIABLE}.",
            )


def without_keys(value: Any, hashes: Collection[str]) -> Any:
    """Take whatever could be a key that was given where none belongs out of what an error says and is about.

    Args:
        value: A plain value: text, or objects and lists of it.
        hashes: The hashes of transactions that were sent, which are left in.
    """
    match value:
        case str():
            return _KEY_INSIDE.sub(lambda found: found[0] if found[0] in hashes else "…", value)
        case dict():
            return {name: without_keys(inner, hashes) for name, inner in value.items()}
        case list():
            return [without_keys(inner, hashes) for inner in value]
    return value


def find_signer(account: str | None, passphrase_file: Path | None, ask: Ask) -> KeystoreSigner | LocalAccount:
    """Find the key to sign with.

    Args:
        account: The alias of a keystore, if one was named.
        passphrase_file: A file that holds its passphrase, if one was named.
        ask: Asks for the passphrase, if it is nowhere else.

    Returns:
        The keystore's key, or else that of the environment variable.

    Raises:
        KeyUnavailableError: There is none, or it cannot be had.
    """
    if account is not None:
        return open_keystore(account, passphrase_file, ask)
    return key_of_variable(KEY_VARIABLE, "--account")


def open_keystore(alias: str, passphrase_file: Path | None, ask: Ask) -> KeystoreSigner:
    """Open a keystore where Ape keeps its accounts.

    Args:
        alias: The account's name in Ape.
        passphrase_file: A file that holds its passphrase, if one was named.
        ask: Asks for the passphrase, if it is nowhere else.

    Raises:
        KeyUnavailableError: There is none of that name, or it cannot be read.
    """
    if _KEY.fullmatch(alias):
        raise KeyUnavailableError(
            "key_as_argument",
            "this looks like a private key; name the alias of a keystore. If it was a real one, move what it guards.",
        )
    folder = keystore_folder()
    if not re.fullmatch(r"[\w.-]+", alias) or alias.startswith("."):
        raise KeyUnavailableError("unknown_account", f"{quoted(alias)} is not the alias of an account")
    path = folder / f"{alias}.json"
    if not path.is_file():
        known = ", ".join(aliases()) or "none"
        raise KeyUnavailableError(
            "unknown_account", f"no account {quoted(alias)} in {folder}; there are: {known}", account=alias
        )
    return KeystoreSigner(alias, path, passphrase_file, ask)


def key_of_variable(variable: str, option: str) -> LocalAccount:
    """Take a key from an environment variable.

    Args:
        variable: Its name.
        option: The option that names a keystore instead.

    Raises:
        KeyUnavailableError: It is not set, or holds no key. The error does not repeat what it holds.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise KeyUnavailableError("no_key", f"no key to sign with: name a keystore by {option}, or set {variable}")
    problem = KeyUnavailableError("malformed_key", f"{variable} holds no private key (64 hexadecimal digits)")
    if not _KEY.fullmatch(value):
        raise problem
    try:
        account: LocalAccount = Account.from_key(value)
    except ValueError:  # zero, or beyond the order of the curve
        raise problem from None
    return account


def keystore_folder() -> Path:
    """The folder of Ape's accounts."""
    return Path(os.environ.get("APE_DATA_FOLDER") or Path.home() / ".ape") / "accounts"


def aliases() -> list[str]:
    """The aliases of all keystores, for completion and for messages."""
    return sorted(path.stem for path in keystore_folder().glob("*.json"))


def _read_keystore(alias: str, path: Path) -> tuple[dict[str, Any], str]:
    """A keystore, and the address that it says it is for."""
    from bilateral.documents.encoding import decode_object  # noqa: PLC0415  # heavy, and for few commands

    try:
        keystore = decode_object(path.read_bytes())
        address = str(keystore["address"])
    except (OSError, ValueError, KeyError, TypeError):
        address = ""
    if not is_hex_address(address):
        raise KeyUnavailableError("malformed_keystore", f"the keystore of {quoted(alias)} cannot be read")
    return keystore, checksummed("0x" + address.lower().removeprefix("0x"))


def _passphrase(alias: str, file: Path | None, ask: Ask) -> str:
    """The passphrase of a keystore: from a file, a variable (Ape's or ours), or whoever is at the terminal."""
    if file is not None:
        try:
            return file.read_text().rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise KeyUnavailableError("no_passphrase", f"{quoted(str(file))} cannot be read") from None
    for variable in (f"APE_ACCOUNTS_{alias}_PASSPHRASE", PASSPHRASE_VARIABLE):
        if variable in os.environ:
            return os.environ[variable]
    if not sys.stdin.isatty():
        raise KeyUnavailableError(
            "no_passphrase",
            f"there is nobody to ask for the passphrase of {quoted(alias)}: "
            f"set {PASSPHRASE_VARIABLE}, or name a file by --passphrase-file",
        )
    try:
        return ask(f"Passphrase of {alias}: ")
    except EOFError:
        raise KeyUnavailableError("no_passphrase", "no passphrase was typed") from None
