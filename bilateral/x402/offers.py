"""Servers' offers: a request's price, as stated in a 402 response. This module does not need any extra."""

import base64
import binascii
import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text.encoding import decode_object

MAX_HEADER: Final = 64 * 1024
"""The maximum header length in characters."""

PAYMENT_REQUIRED: Final = "payment-required"
"""The header of a version 2 offer."""

_TERMS: Final = {
    name: re.compile(pattern)
    for name, pattern in {
        "scheme": r"[a-z][a-z-]{0,39}",
        "network": r"[-a-z0-9]{3,32}(:[-_a-zA-Z0-9]{1,32})?",  # CAIP-2, or a name of version 1
        "asset": r"[-.%:/a-zA-Z0-9]{1,128}",
        "amount": r"[0-9]{1,78}",
        "payTo": r"[-.%:a-zA-Z0-9]{1,128}",
    }.items()
}


def decode_header(value: str | None) -> dict[str, Any] | None:
    """Decode a header; return None if it is missing, malformed, too long, or not in canonical form."""
    if value is None or len(value) > MAX_HEADER:
        return None
    try:
        content = base64.b64decode(value, validate=True)
        is_plain = base64.b64encode(content).decode() == value and not content.startswith(codecs.BOM_UTF8)
        return decode_object(content) if is_plain else None
    except (binascii.Error, ValueError, MalformedDocumentError):
        return None


@dataclass(frozen=True)
class Offer:
    """The payment terms in a server's 402 response.

    Attributes:
        message: The message as clients read it; None if there is no readable message. In a version 1 option,
            `maxAmountRequired` is also available as `amount`.
        version: 2 if the offer is in the header, 1 if it is only in the body.
        differs: True if the header and the body contain different terms.
    """

    message: Mapping[str, Any] | None
    version: int
    differs: bool = False

    @property
    def options(self) -> list[Mapping[str, Any]]:
        """The payment options."""
        return _options(self.message)

    @property
    def whole_options(self) -> list[Mapping[str, Any]]:
        """The options that specify a scheme, network, asset, amount and payee, all in a valid format."""
        return [option for option in self.options if all(map(_is_term, _TERMS, map(option.get, _TERMS)))]


def read_offer(header: str | None, body: bytes) -> Offer:
    """Read a 402 response's offer from its `PAYMENT-REQUIRED` header (version 2), or else from its body (version 1)."""
    message = decode_header(header)
    try:
        old = decode_object(body)
    except MalformedDocumentError:
        old = {}
    old_options = [
        {"amount": option.get("maxAmountRequired"), **option}
        for option in _options(old)
        if "payTo" in option or "maxAmountRequired" in option
    ]
    if header is not None or not old_options:
        differs = bool(old_options) and _terms_of(_options(message)) != _terms_of(old_options)
        return Offer(message, 2, differs)
    return Offer({**old, "accepts": old_options}, 1)


def _options(message: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    accepts = (message or {}).get("accepts")
    return [option for option in accepts if isinstance(option, dict)] if isinstance(accepts, list) else []


def _is_term(name: str, value: object) -> bool:
    return isinstance(value, str) and _TERMS[name].fullmatch(value) is not None


def _terms_of(options: Sequence[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    """Return the terms that both versions write in the same way. Network names are omitted, because they differ."""
    return {tuple(str(option.get(name)).lower() for name in ("asset", "amount", "payTo")) for option in options}
