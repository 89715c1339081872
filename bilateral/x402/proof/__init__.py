"""Proofs of paid answers: what is signed, and how it is verified."""

from bilateral.core.errors import require_modules

require_modules("x402", "brotli", "jsonschema", "nacl", "prometheus_client", "rfc8785", "x402")
