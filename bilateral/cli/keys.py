"""Keys for signing, from keystores or an environment variable. `bilateral.cli.secrets` rejects keys in arguments."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bilateral.cli.errors import KeyUnavailableError
from bilateral.cli.secrets import KEY, KEY_VARIABLE, PASSPHRASE_VARIABLE
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage
    from eth_account.signers.local import LocalAccount

Ask: TypeAlias = Callable[[str], str]
"""Shows a prompt at the terminal, and returns the typed text without echoing it."""


class KeystoreSigner:
    """Signs with the key in a keystore.

    The keystore is unlocked for the first signature, after all other checks. A dry run needs no passphrase, unless the
    keystore does not contain its address.
    """

    def __init__(self, alias: str, path: Path, passphrase_file: Path | None, ask: Ask) -> None:
        self._alias, self._path, self._passphrase_file, self._ask = alias, path, passphrase_file, ask
        self._keystore, self._address = read_keystore(path)
        self._account: LocalAccount | None = None

    @property
    def address(self) -> str:
        """The account's address. A keystore that does not contain its address is unlocked first."""
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
            except ValueError:  # the structure was checked, so the authentication code is wrong
                raise KeyUnavailableError(
                    "wrong_passphrase", f"wrong passphrase for keystore {quoted(self._alias)}"
                ) from None
            if self._address not in (None, account.address):
                raise KeyUnavailableError(
                    "malformed_keystore",
                    f"{quoted(str(self._path))} declares the address {self._address}, "
                    f"but contains the key of {account.address}",
                )
            self._account = account
        return self._account


def find_signer(
    account: str | None, passphrase_file: Path | None, ask: Ask, keystore: Path | None = None
) -> KeystoreSigner | LocalAccount:
    """Return the signing key, from a keystore if one is specified, or else from the environment variable."""
    if account is not None and keystore is not None:
        raise InvalidArgumentError("sign with either --account or --keystore, not both")
    if keystore is not None:
        return KeystoreSigner(keystore.stem, keystore, passphrase_file, ask)
    if account is not None:
        return open_keystore(account, passphrase_file, ask)
    return key_of_variable(KEY_VARIABLE, "--account or --keystore")


def open_keystore(alias: str, passphrase_file: Path | None, ask: Ask) -> KeystoreSigner:
    """Read the keystore of an Ape account."""
    if KEY.fullmatch(alias):
        raise KeyUnavailableError(
            "key_as_argument",
            "this looks like a private key: pass the alias of a keystore instead. If the key is real, replace it.",
        )
    path = keystore_path(alias)
    if not path.is_file():
        existing = ", ".join(aliases()) or "none"
        raise KeyUnavailableError(
            "unknown_account",
            f"no account {quoted(alias)} in {path.parent} (existing: {existing}): create it with bilateral account new",
            account=alias,
        )
    return KeystoreSigner(alias, path, passphrase_file, ask)


def key_of_variable(variable: str, option: str) -> LocalAccount:
    """Return the key from an environment variable."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise KeyUnavailableError("no_key", f"no signing key: choose a keystore with {option}, or set {variable}")
    return key_of(value, f"{variable} contains no")


def key_of(text: str, refusal: str) -> LocalAccount:
    """Parse a private key. For any other text, raise an error whose message starts with `refusal`."""
    from eth_account import Account  # noqa: PLC0415  # slow to import

    problem = KeyUnavailableError("malformed_key", f"{refusal} private key (64 hexadecimal digits)")
    if not KEY.fullmatch(text):
        raise problem
    try:
        account: LocalAccount = Account.from_key(text)
    except ValueError:  # zero, or above the curve's order
        raise problem from None
    return account


def find_passphrase(alias: str, file: Path | None, ask: Ask, *, is_new: bool = False) -> str:
    """Return a passphrase from a file, from an environment variable (Ape's or ours) or from the terminal."""
    if file is not None:
        try:
            return file.read_text().rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise KeyUnavailableError("no_passphrase", f"the file {quoted(str(file))} cannot be read") from None
    for variable in (f"APE_ACCOUNTS_{alias}_PASSPHRASE", PASSPHRASE_VARIABLE):
        if variable in os.environ:
            return os.environ[variable]
    if not sys.stdin.isatty():
        raise KeyUnavailableError(
            "no_passphrase",
            f"there is no terminal on which to prompt for the passphrase for {quoted(alias)}: "
            f"set {PASSPHRASE_VARIABLE}, or pass --passphrase-file",
        )
    try:
        passphrase = ask(f"Passphrase of {alias}: ")
        if is_new and ask("Repeat the passphrase: ") != passphrase:
            raise KeyUnavailableError("no_passphrase", "the two passphrases differ")
    except EOFError:
        raise KeyUnavailableError("no_passphrase", "no passphrase was typed") from None
    return passphrase


_MAX_BYTES: Final = 64 * 1024  # a keystore (Web3 Secret Storage) has less than a kilobyte
_MAX_SCRYPT_MEMORY: Final = 1 << 30
"""The limit on scrypt's memory in bytes, 128 * n * r. Common keystores need at most 2^28."""
_MAX_SCRYPT_WORK: Final = 1 << 25
"""The limit on the number of blocks that scrypt mixes, n * r * p. Common keystores mix 2^21."""
_MAX_ITERATIONS: Final = 10_000_000
"""The limit on PBKDF2 iterations. Common keystores have 262,144 or a million."""

_Hex = Annotated[str, Field(pattern=r"^(0x)?([0-9a-fA-F]{2})*$", max_length=256)]
_Hex32 = Annotated[str, Field(pattern=r"^(0x)?[0-9a-fA-F]{64}$")]
_Length = Annotated[int, Field(ge=32, le=64)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)


class _Scrypt(_Part):
    n: Annotated[int, Field(ge=2)]
    r: Annotated[int, Field(ge=1)]
    p: Annotated[int, Field(ge=1)]
    dklen: _Length
    salt: _Hex

    @model_validator(mode="after")
    def _is_affordable(self) -> Self:
        if self.n & (self.n - 1):
            raise ValueError("the scrypt parameter n is not a power of two")
        if 128 * self.n * self.r > _MAX_SCRYPT_MEMORY or self.n * self.r * self.p > _MAX_SCRYPT_WORK:
            raise ValueError("n, r and p require more memory or time than a keystore may use")
        return self


class _Pbkdf2(_Part):
    c: Annotated[int, Field(ge=1, le=_MAX_ITERATIONS)]
    dklen: _Length
    prf: Literal["hmac-sha256"]
    salt: _Hex


class _CipherParameters(_Part):
    iv: Annotated[str, Field(pattern=r"^(0x)?([0-9a-fA-F]{2}){1,16}$")]


class _Crypto(_Part):
    cipher: Literal["aes-128-ctr"]
    cipherparams: _CipherParameters
    ciphertext: _Hex32
    kdf: Literal["scrypt", "pbkdf2"]
    kdfparams: dict[str, Any]
    mac: _Hex32

    @model_validator(mode="after")
    def _has_parameters(self) -> Self:
        (_Scrypt if self.kdf == "scrypt" else _Pbkdf2).model_validate(self.kdfparams)
        return self


class _Keystore(_Part):
    version: Literal[3]
    crypto: _Crypto
    address: Annotated[str, Field(pattern=r"^(0x|0X)?[0-9a-fA-F]{40}$")] | None = None


def keystore_folder() -> Path:
    """Return Ape's accounts folder."""
    return Path(os.environ.get("APE_DATA_FOLDER") or Path.home() / ".ape") / "accounts"


def aliases() -> list[str]:
    """Return the aliases of all keystores in the folder."""
    return sorted(path.stem for path in keystore_folder().glob("*.json"))


def keystore_path(alias: str) -> Path:
    """Return the file of an account, which may not exist."""
    if not re.fullmatch(r"[\w.-]+", alias) or alias.startswith("."):
        raise KeyUnavailableError("unknown_account", f"{quoted(alias)} is not a valid account alias")
    return keystore_folder() / f"{alias}.json"


def read_keystore(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read a keystore (Web3 Secret Storage, version 3) without decrypting it.

    The key derivation parameters are limited, so that a hostile keystore cannot exhaust memory or time.
    """
    from bilateral.core.identifiers import checksummed  # noqa: PLC0415
    from bilateral.core.text.encoding import decode_object  # noqa: PLC0415  # so that lists of aliases start quickly

    problem: str | None
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES)
        keystore = _lower(decode_object(content))  # a longer file is truncated, so it is not JSON
        address = _Keystore.model_validate(keystore).address
    except OSError as error:
        problem = error.strerror or "it cannot be read"
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc'])) or 'keystore'}: {first['msg']}"
    except ValueError as error:
        problem = str(error)
    else:
        return keystore, address and checksummed("0x" + address.lower().removeprefix("0x"))
    raise KeyUnavailableError("malformed_keystore", f"{quoted(str(path))} is not a usable keystore: {problem}")


def create_keystore(alias: str, passphrase: str, key: bytes | None = None) -> tuple[LocalAccount, Path]:
    """Write a new keystore that only its owner can read and that Ape can also open."""
    from eth_account import Account  # noqa: PLC0415  # slow to import, and for few commands

    path = keystore_path(alias)
    account: LocalAccount = Account.from_key(key or secrets.token_bytes(32))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps(Account.encrypt(account.key, passphrase))
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)  # unlike a rename, this fails if the alias was taken in the meantime
        finally:
            draft.unlink()
    except FileExistsError:
        raise KeyUnavailableError(
            "account_exists", f"an account named {quoted(alias)} already exists: choose another alias", account=alias
        ) from None
    except OSError as error:
        raise KeyUnavailableError(
            "unwritable_keystore", f"{quoted(str(path))} cannot be written: {error.strerror}"
        ) from None
    return account, path


def _lower(value: Any) -> Any:
    """Convert the keys of all objects to lower case, because some wallets write `Crypto`."""
    return {name.lower(): _lower(inner) for name, inner in value.items()} if isinstance(value, dict) else value
