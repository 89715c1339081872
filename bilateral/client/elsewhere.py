"""A signer whose key is elsewhere, such as in the wallet of a visitor of a web page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from bilateral.core.identifiers import checksummed
from bilateral.core.signatures.messages import Signable

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage


class SignatureNeededError(Exception):
    """The account has to sign a message before the work can go on.

    Attributes:
        typed_data: The message, as `eth_signTypedData_v4` takes it; None for a message of bytes.
        message: The bytes, as `personal_sign` takes them (EIP-191); None for a typed message.
    """

    def __init__(self, account: str, typed_data: dict[str, Any] | None, message: bytes | None = None) -> None:
        super().__init__(f"{account} has to sign")
        self.account = account
        self.typed_data = typed_data
        self.message = message


@dataclass(frozen=True)
class _Signed:
    signature: bytes


class SignerElsewhere:
    """Stands for an account whose key is not here. Writes of a client with it must be dry runs.

    It passes on a signature that was made elsewhere. Without one it raises an error with the message to sign, which
    arrives as the cause of a `SignerFailedError`.

    Args:
        address: The account.
        signature: The account's signature of the one message that it will be asked for; None without one.
    """

    def __init__(self, address: str, signature: bytes | None = None) -> None:
        self.address = checksummed(address)
        self._signature = signature

    def sign_message(self, message: SignableMessage, /) -> _Signed:
        """Return the signature that was made elsewhere."""
        if self._signature is None:
            if isinstance(message, Signable):
                raise SignatureNeededError(self.address, message.typed_data)
            raise SignatureNeededError(self.address, None, bytes(message.body))
        return _Signed(self._signature)

    def sign_transaction(self, transaction: Any, /) -> NoReturn:
        """Refuse: the wallet signs transactions, and sends them."""
        del transaction
        raise TypeError("a signer elsewhere signs no transaction here: use a client with dry_run=True")
