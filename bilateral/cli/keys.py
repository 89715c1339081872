"""Keys to sign with, from keystores or from an environment variable. See `bilateral.cli.secrets` for arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bilateral.cli.errors import KeyUnavailableError
from bilateral.cli.keystores import aliases, keystore_path, read_keystore
from bilateral.cli.secrets import KEY, KEY_VARIABLE, PASSPHRASE_VARIABLE
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage
    from eth_account.signers.local import LocalAccount

Ask: TypeAlias = Callable[[str], str]
"""Shows a question at the terminal and returns what is typed, which is not shown."""


class KeystoreSigner:
    """Signs with the key in a keystore.

    It unlocks the keystore for the first signature, after all other checks. A dry run needs no passphrase, unless the
    keystore does not name its address.
    """

    def __init__(self, alias: str, path: Path, passphrase_file: Path | None, ask: Ask) -> None:
        self._alias, self._path, self._passphrase_file, self._ask = alias, path, passphrase_file, ask
        self._keystore, self._address = read_keystore(path)
        self._account: LocalAccount | None = None

    @property
    def address(self) -> str:
        """The account's address; a keystore that does not name it is unlocked first."""
        return self._address or self._unlocked().address

    def sign_transaction(self, transaction: Any, /) -> Any:
        """Sign a transaction."""
        return self._unlocked().sign_transaction(transaction)

    def sign_message(self, message: SignableMessage, /) -> Any:
        """Sign a message."""
        return self._unlocked().sign_message(message)

    def _unlocked(self) -> LocalAccount:
        if self._account is None:
            from eth_account import Account  # noqa: PLC0415  # slow to import

            passphrase = find_passphrase(self._alias, self._passphrase_file, self._ask)
            try:
                account: LocalAccount = Account.from_key(Account.decrypt(self._keystore, passphrase))
            except ValueError:  # its structure is checked, so its code of authentication is wrong
                raise KeyUnavailableError(
                    "wrong_passphrase", f"the passphrase does not open the keystore of {quoted(self._alias)}"
                ) from None
            if self._address not in (None, account.address):
                raise KeyUnavailableError(
                    "malformed_keystore",
                    f"{quoted(str(self._path))} names {self._address}, but holds the key of {account.address}",
                )
            self._account = account
        return self._account


def find_signer(
    account: str | None, passphrase_file: Path | None, ask: Ask, keystore: Path | None = None
) -> KeystoreSigner | LocalAccount:
    """Return the key to sign with: of a keystore if one is named, else of the environment variable.

    Args:
        account: The alias of a keystore, or None.
        passphrase_file: A file that holds its passphrase, or None.
        ask: Asks for the passphrase at the terminal.
        keystore: A keystore file, instead of an alias.

    Raises:
        InvalidArgumentError: Both an alias and a file are named.
        KeyUnavailableError: The key is missing, or cannot be read.
    """
    if account is not None and keystore is not None:
        raise InvalidArgumentError("sign with --account or with --keystore, not with both")
    if keystore is not None:
        return KeystoreSigner(keystore.stem, keystore, passphrase_file, ask)
    if account is not None:
        return open_keystore(account, passphrase_file, ask)
    return key_of_variable(KEY_VARIABLE, "--account or --keystore")


def open_keystore(alias: str, passphrase_file: Path | None, ask: Ask) -> KeystoreSigner:
    """Read the keystore of one of Ape's accounts.

    Args:
        alias: The account's name in Ape.
        passphrase_file: A file that holds its passphrase, or None.
        ask: Asks for the passphrase at the terminal.

    Raises:
        KeyUnavailableError: The account is unknown, or its keystore cannot be read.
    """
    if KEY.fullmatch(alias):
        raise KeyUnavailableError(
            "key_as_argument",
            "this looks like a private key; name the alias of a keystore. If it was a real one, replace it.",
        )
    path = keystore_path(alias)
    if not path.is_file():
        known = ", ".join(aliases()) or "none"
        raise KeyUnavailableError(
            "unknown_account",
            f"no account {quoted(alias)} in {path.parent}; there are: {known}. Make one: bilateral account new",
            account=alias,
        )
    return KeystoreSigner(alias, path, passphrase_file, ask)


def key_of_variable(variable: str, option: str) -> LocalAccount:
    """Return the key in an environment variable.

    Args:
        variable: Its name.
        option: The option that names a keystore instead.

    Raises:
        KeyUnavailableError: The variable is not set, or holds no key. The error does not repeat what it holds.
    """
    from eth_account import Account  # noqa: PLC0415  # slow to import

    value = os.environ.get(variable, "").strip()
    if not value:
        raise KeyUnavailableError("no_key", f"no key to sign with: name a keystore by {option}, or set {variable}")
    problem = KeyUnavailableError("malformed_key", f"{variable} holds no private key (64 hexadecimal digits)")
    if not KEY.fullmatch(value):
        raise problem
    try:
        account: LocalAccount = Account.from_key(value)
    except ValueError:  # zero, or beyond the order of the curve
        raise problem from None
    return account


def find_passphrase(alias: str, file: Path | None, ask: Ask, *, is_new: bool = False) -> str:
    """Return a passphrase: from a file, a variable (Ape's or ours), or from the terminal.

    Args:
        alias: The account's name.
        file: A file that holds it, or None.
        ask: Asks for it at the terminal.
        is_new: True for a new passphrase, which the terminal is asked for twice.

    Raises:
        KeyUnavailableError: There is no passphrase, or the two differ.
    """
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
            f"no terminal to ask for the passphrase of {quoted(alias)}: "
            f"set {PASSPHRASE_VARIABLE}, or name a file by --passphrase-file",
        )
    try:
        passphrase = ask(f"Passphrase of {alias}: ")
        if is_new and ask("The same again: ") != passphrase:
            raise KeyUnavailableError("no_passphrase", "the two passphrases differ")
    except EOFError:
        raise KeyUnavailableError("no_passphrase", "no passphrase was typed") from None
    return passphrase
