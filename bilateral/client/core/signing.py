"""Signing, which may take long, and fail in as many ways as there are signers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.client.steps import Blocking
from bilateral.signatures import signer_errors

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage

    from bilateral.client.inputs import TransactionSigner
    from bilateral.client.steps import Operation


def message(signer: TransactionSigner, signable: SignableMessage) -> Operation[bytes]:
    """The signature of a message.

    Raises:
        SignerFailedError: The signer raised an exception of its own.
    """

    def sign() -> bytes:
        with signer_errors():
            return bytes(signer.sign_message(signable).signature)

    signature: bytes = yield Blocking(sign)
    return signature


def transaction(signer: TransactionSigner, unsigned: dict[str, Any]) -> Operation[bytes]:
    """A transaction, signed, as it is sent.

    Raises:
        SignerFailedError: The signer raised an exception of its own.
    """

    def sign() -> bytes:
        with signer_errors():
            return bytes(signer.sign_transaction(unsigned).raw_transaction)

    raw: bytes = yield Blocking(sign)
    return raw
