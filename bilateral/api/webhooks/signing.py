"""Signatures of deliveries: HTTP message signatures (RFC 9421) by Ed25519, over a digest of the body (RFC 9530)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import httpx
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from bilateral.core.errors import InvalidArgumentError

TAG: Final = "bilateral-webhook"
"""The tag of the signatures. A receiver asks for it, so that no other signature by the same key passes for one."""

COVERED: Final = ("@method", "@target-uri", "content-type", "webhook-delivery")
"""The signed parts of a request, besides `content-digest`, which covers the body."""

_CURVE: Final = "Ed25519"


class Signer:
    """Signs requests with the operator's key.

    Args:
        key: The private key.

    Attributes:
        key_id: The thumbprint of the key (RFC 7638), by which receivers know it.
    """

    def __init__(self, key: OKPKey) -> None:
        self.key_id = key.thumbprint()
        private: Any = key.private_key  # of the curve that `read_key` requires
        keys = MappingKeyResolver(private_keys={self.key_id: private}, public_keys={})
        self._signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=keys)

    def headers(self, url: str, body: bytes, delivery: str) -> dict[str, str]:
        """Return the headers of a signed POST."""
        headers = {"Content-Type": "application/json", "Webhook-Delivery": delivery}
        request = httpx.Request("POST", url, headers=headers, content=body)
        self._signer.sign(
            request, key_id=self.key_id, label="webhook", tag=TAG, covered_component_ids=COVERED, body=body
        )
        signed = ("Content-Digest", "Signature-Input", "Signature")
        return {**headers, **{name: request.headers[name] for name in signed}}


def read_key(path: Path) -> OKPKey:
    """Read an Ed25519 private key from a PEM file that only its owner reads."""
    try:
        content = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as problem:
        raise InvalidArgumentError(f"the key {path} cannot be read: {problem.strerror}") from None
    if os.name == "posix" and mode & 0o077:
        raise InvalidArgumentError(f"the key {path} can be read by others: chmod 600 {path}")
    unusable = InvalidArgumentError(f"{path} has no Ed25519 private key in PEM: bilateral webhooks new-key makes one")
    try:
        key = OKPKey.import_key(content)
    except (JoseError, ValueError, TypeError):
        raise unusable from None
    if key.curve_name != _CURVE or not key.is_private:
        raise unusable
    return key


def write_key(path: Path) -> OKPKey:
    """Make an Ed25519 key, and write it to a file that only its owner reads."""
    key = OKPKey.generate_key(_CURVE)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.as_pem(private=True))
    except OSError as problem:
        raise InvalidArgumentError(f"the key {path} cannot be written: {problem.strerror}") from None
    return key
