"""`bilateral account …`: keystores, in the same format and folder as Ape's accounts."""

import os
import sys
from typing import Annotated

from bilateral.cli.columns import columns
from bilateral.cli.errors import KeyUnavailableError
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, make_group
from bilateral.cli.secrets import KEY_VARIABLE

app = make_group("account")

Alias = Annotated[str, argument("ALIAS", "The alias of the account's keystore.")]


@command(app, creates=True)
def new(invocation: Invocation, alias: Alias) -> None:
    """Create a key, and encrypt it into a keystore. The file is the only copy, so back it up."""
    _create(invocation, alias, None, "Account created")


@command(app, "import", creates=True)
def import_key(invocation: Invocation, alias: Alias) -> None:
    """Encrypt a private key (from the terminal, standard input or an environment variable) into a keystore."""
    from bilateral.cli.keys import key_of  # noqa: PLC0415  # slow to import

    text = os.environ.get(KEY_VARIABLE, "").strip()
    if not text and sys.stdin.isatty():
        text = invocation.output.ask(f"Private key of {alias}: ").strip()
    elif not text:
        text = sys.stdin.readline(1024).strip()
    _create(invocation, alias, bytes(key_of(text, "that is not a").key), "Account imported")


@command(app, "list", is_local=True)
def list_accounts(invocation: Invocation) -> None:
    """List the keystores and their addresses."""
    from bilateral.cli.keys import aliases, keystore_path, read_keystore  # noqa: PLC0415  # slow to import

    rows: list[dict[str, str | None]] = []
    for alias in aliases():
        row: dict[str, str | None] = {"alias": alias, "address": None, "problem": None}
        try:
            row["address"] = read_keystore(keystore_path(alias))[1]
        except KeyUnavailableError as error:
            row["problem"] = str(error)
        rows.append(row)
    fields = columns("alias", address=lambda row: row["address"] or row["problem"] or "not stored in the keystore")
    invocation.output.results(rows, fields, none="no accounts: create one with `bilateral account new ALIAS`")


def _create(invocation: Invocation, alias: str, key: bytes | None, title: str) -> None:
    from bilateral.cli.keys import create_keystore, find_passphrase, keystore_path  # noqa: PLC0415  # slow to import

    if keystore_path(alias).exists():  # before the user types a passphrase
        raise KeyUnavailableError(
            "account_exists", f'an account named "{alias}" already exists: choose another alias', account=alias
        )
    passphrase = find_passphrase(alias, invocation.settings.passphrase_file, invocation.output.ask, is_new=True)
    if not passphrase:
        raise KeyUnavailableError("no_passphrase", "the passphrase is empty: choose one that protects the key")
    account, path = create_keystore(alias, passphrase, key)
    invocation.output.result({"alias": alias, "address": account.address, "keystore": path}, title=title)
