"""The tokens of prices: a wrong token, or a wrong EIP-712 domain, makes every purchase fail at its signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.crypto import keccak
from x402.mechanisms.evm.utils import get_asset_info

from bilateral.client.operations.registries import simulate
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import printable, quoted
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.x402.proof.errors import PaymentRefusedError
from bilateral.x402.proof.payments import unsupported_kind

_DOMAIN_TYPE: Final = keccak(text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_DOMAIN_FIELDS: Final = ("bytes1", "string", "string", "uint256", "address", "bytes32", "uint256[]")
"""The types of the values of `eip712Domain()` (ERC-5267)."""

_ALL_FIELDS: Final = b"\x0f"
"""A domain with name, version, chain and contract, and without a salt."""

_STATE_ARGUMENTS: Final = encode(("address", "bytes32"), ("0x" + "00" * 20, bytes(32)))
_MOST_TEXT: Final = 80  # characters of a stranger's name in a problem


def check_token(terms: Mapping[str, Any]) -> Operation[None]:
    """Check that a token takes the payments that its terms ask for. The node must be of the terms' network."""
    network, extra = str(terms.get("network")), terms.get("extra")
    kind = unsupported_kind(terms.get("scheme"), network, extra)
    if kind is not None:
        raise PaymentRefusedError(kind, "offer the scheme exact, by EIP-3009 (transfers with authorization)")
    try:
        token = checksummed(str(terms.get("asset")))
    except MalformedIdentifierError as error:
        raise PaymentRefusedError("token_not_found", f"asset: {error}") from None
    if not answers.data((yield Rpc("eth_getCode", (token, "latest")))):
        raise PaymentRefusedError("token_not_found", f"asset: {network} has no contract at {token}")
    if (yield from _view(token, "authorizationState(address,bytes32)", _STATE_ARGUMENTS)) is None:
        problem = f"asset: {token} has no transfers with authorization (EIP-3009), which the scheme exact needs"
        raise PaymentRefusedError("token_without_eip3009", problem)
    yield from _check_domain(token, network, extra if isinstance(extra, dict) else {})


def _check_domain(token: str, network: str, extra: Mapping[str, Any]) -> Operation[None]:
    """Compare the EIP-712 domain that clients sign with the token's own."""
    name, version = _signed_domain(token, network, extra)
    chain = int(network.rpartition(":")[2])
    parts = (_DOMAIN_TYPE, keccak(text=name), keccak(text=version), chain, token)
    separator = keccak(encode(("bytes32", "bytes32", "bytes32", "uint256", "address"), parts))
    own = yield from _own_domain(token)
    own_separator = None if own is not None else (yield from _view(token, "DOMAIN_SEPARATOR()"))
    if own == (_ALL_FIELDS, name, version, chain, token.lower()) or own_separator == separator:
        return
    if own is None and own_separator is None:
        problem = f"{token} has neither eip712Domain() nor DOMAIN_SEPARATOR(): its EIP-712 domain cannot be compared"
        raise PaymentRefusedError("token_domain_unreadable", problem)
    own_name, own_version = own[1:3] if own is not None else (yield from _texts(token))
    raise PaymentRefusedError(
        "token_domain_mismatch",
        f"extra: clients would sign for name {_short(name)} and version {_short(version)}, but the EIP-712 domain of "
        f"{token} is another one; the token calls itself {_short(own_name)}, version {_short(own_version)}",
    )


def _signed_domain(token: str, network: str, extra: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and version that the SDK's client signs: those of the terms, or of a token that it knows."""
    name, version = extra.get("name"), extra.get("version", "1")
    if name is None:
        try:
            listed: Mapping[str, Any] = get_asset_info(network, token)
        except ValueError:
            listed = {}
        name, version = listed.get("name"), listed.get("version", "1")
    if not isinstance(name, str) or not isinstance(version, str):
        problem = "extra: name and version of the token's EIP-712 domain must be given as text"
        raise PaymentRefusedError("token_domain_missing", problem)
    return name, version


def _own_domain(token: str) -> Operation[tuple[bytes, str, str, int, str] | None]:
    """Return the domain that a token itself names (ERC-5267): its fields, name, version, chain and contract."""
    returned = yield from _view(token, "eip712Domain()")
    try:
        fields, name, version, chain, contract = decode(_DOMAIN_FIELDS, returned or b"")[:5]
    except (DecodingError, UnicodeDecodeError):
        return None
    return fields, name, version, chain, contract.lower()


def _texts(token: str) -> Operation[tuple[str, str]]:
    """Return the texts of `name()` and `version()`; empty where a token has none."""
    texts = []
    for function in ("name()", "version()"):
        returned = yield from _view(token, function)
        try:
            texts.append(str(decode(("string",), returned or b"")[0]))
        except (DecodingError, UnicodeDecodeError):
            texts.append("")
    return texts[0], texts[1]


def _view(token: str, signature: str, arguments: bytes = b"") -> Operation[bytes | None]:
    """Call a view; None if the contract does not have it."""
    data = "0x" + (keccak(text=signature)[:4] + arguments).hex()
    try:
        return (yield from simulate({"to": token, "data": data})) or None
    except ContractRevertError:
        return None


def _short(text: str) -> str:
    return quoted(printable(text[:_MOST_TEXT]))
