"""Keystores in the format and the folder of Ape's accounts: read with limits, created, imported, listed."""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bilateral.cli.errors import KeyUnavailableError
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount

_MAX_BYTES: Final = 64 * 1024  # a keystore (Web3 Secret Storage) has less than a kilobyte
_MAX_SCRYPT_MEMORY: Final = 1 << 30
"""Bytes that scrypt may take: 128 * n * r. Keystores in use take 2^28 at most."""
_MAX_SCRYPT_WORK: Final = 1 << 25
"""Blocks that scrypt may mix: n * r * p. Keystores in use mix 2^21."""
_MAX_ITERATIONS: Final = 10_000_000
"""Iterations of PBKDF2. Keystores in use take 262,144 or a million."""

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
            raise ValueError("n is not a power of two")
        if 128 * self.n * self.r > _MAX_SCRYPT_MEMORY or self.n * self.r * self.p > _MAX_SCRYPT_WORK:
            raise ValueError("n, r and p ask for more memory or time than a keystore needs")
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
    """Return the folder of Ape's accounts."""
    return Path(os.environ.get("APE_DATA_FOLDER") or Path.home() / ".ape") / "accounts"


def aliases() -> list[str]:
    """Return the aliases of all keystores in the folder."""
    return sorted(path.stem for path in keystore_folder().glob("*.json"))


def keystore_path(alias: str) -> Path:
    """Return the file of an account, which need not exist.

    Args:
        alias: The account's name.

    Raises:
        KeyUnavailableError: The text cannot be an alias.
    """
    if not re.fullmatch(r"[\w.-]+", alias) or alias.startswith("."):
        raise KeyUnavailableError("unknown_account", f"{quoted(alias)} is not the alias of an account")
    return keystore_folder() / f"{alias}.json"


def read_keystore(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read a keystore (Web3 Secret Storage, version 3), without its passphrase.

    The limits hold for the parameters of the key derivation: a hostile keystore takes neither memory nor time.

    Args:
        path: The file.

    Returns:
        The keystore, its names in lower case, and the address that it names, in checksum form; None if it names none.

    Raises:
        KeyUnavailableError: `malformed_keystore`: the file is missing, is not a keystore, or is above the limits.
    """
    from bilateral.core.identifiers import checksummed  # noqa: PLC0415
    from bilateral.core.text.encoding import decode_object  # noqa: PLC0415  # so that lists of aliases start quickly

    problem: str | None
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES)
        keystore = _lower(decode_object(content))  # a longer file is cut, and so is not JSON
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
    """Write a new keystore that Ape opens too, readable by its owner only.

    Args:
        alias: The account's name.
        passphrase: Encrypts the key.
        key: The private key; a random one when left out.

    Returns:
        The account and the file.

    Raises:
        KeyUnavailableError: The alias is taken or cannot be one, or the file cannot be written.
    """
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
            os.link(draft, path)  # fails if the alias was taken in between, where a rename would overwrite it
        finally:
            draft.unlink()
    except FileExistsError:
        raise KeyUnavailableError(
            "account_exists", f"there is an account {quoted(alias)} already: choose another alias", account=alias
        ) from None
    except OSError as error:
        raise KeyUnavailableError(
            "unwritable_keystore", f"{quoted(str(path))} cannot be written: {error.strerror}"
        ) from None
    return account, path


def _lower(value: Any) -> Any:
    """Write the names of all objects in lower case: some wallets write `Crypto`."""
    return {name.lower(): _lower(inner) for name, inner in value.items()} if isinstance(value, dict) else value
