"""Signing, which may take long and fail in many ways, and checking signatures as the registries do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eth_abi.abi import encode

from bilateral.client.operations import registries
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import recover_signer, signer_errors
from bilateral.node.steps import Blocking

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage

    from bilateral.client.inputs import TransactionSigner
    from bilateral.client.state import ClientState
    from bilateral.node.steps import Operation

_IS_VALID_SIGNATURE: Final = bytes.fromhex("1626ba7e")
"""The selector of ERC-1271's `isValidSignature(bytes32,bytes)`, and the first bytes of the answer that accepts."""

_DIGEST_BYTES: Final = 32  # of keccak-256, as EIP-712 signs it


def sign_message(signer: TransactionSigner, signable: SignableMessage) -> Operation[bytes]:
    """Sign a message.

    Raises:
        SignerFailedError: The signer raised an exception.
    """

    def sign() -> bytes:
        with signer_errors():
            return bytes(signer.sign_message(signable).signature)

    signature: bytes = yield Blocking(sign)
    return signature


def sign_transaction(signer: TransactionSigner, unsigned: dict[str, Any]) -> Operation[bytes]:
    """Sign a transaction, and return its raw form.

    Raises:
        SignerFailedError: The signer raised an exception.
    """

    def sign() -> bytes:
        with signer_errors():
            return bytes(signer.sign_transaction(unsigned).raw_transaction)

    raw: bytes = yield Blocking(sign)
    return raw


def is_valid(
    state: ClientState, account: str, digest: bytes, signature: bytes, verifier: str | None
) -> Operation[bool]:
    """See `Client.is_valid_signature`."""
    if len(digest) != _DIGEST_BYTES:
        raise InvalidArgumentError(f"a digest has 32 bytes, not {len(digest)}")
    signer = checksummed(account)
    if recover_signer(digest, signature) == signer:
        return True
    yield from registries.connect(state)
    question = _IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, signature])
    call = {"to": signer, "data": "0x" + question.hex()} | ({"from": checksummed(verifier)} if verifier else {})
    try:
        answer = yield from registries.simulate(call)
    except ContractRevertError:
        return False
    return answer[:32] == _IS_VALID_SIGNATURE.ljust(32, b"\0")
