"""Spares HTTP clients the certificates of authorities: to read them takes 28 ms for each client, and 0.2 s under load.

No test asks a public server. A test that serves by TLS has an authority of its own, and gives its clients a context.
"""

from __future__ import annotations

import os
from functools import cache

import httpx._transports.default
import httpx2._transports.default

_NAMED = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The environment variables that name other authorities."""


def share_certificates():
    """Let all clients of `httpx`, and of its fork that `solana` and `mcp` use, share one context."""
    for transports in (httpx._transports.default, httpx2._transports.default):
        transports.create_ssl_context = _shared(transports.create_ssl_context)


def _shared(create):
    @cache
    def usual(*_):
        return create()

    def create_ssl_context(verify=True, cert=None, trust_env=True):
        if verify is True and cert is None and trust_env:
            return usual(*map(os.environ.get, _NAMED))
        return create(verify=verify, cert=cert, trust_env=trust_env)

    return create_ssl_context
