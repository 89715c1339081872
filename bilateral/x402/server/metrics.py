"""Figures of a server for Prometheus. They stand in the default registry, which `prometheus_client` serves."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

SIGNED: Final = Counter("x402_signed_responses", "Paid answers that carry a signed proof", ["profile"])
UNSIGNED: Final = Counter("x402_unsigned_responses", "Paid answers that went out without a proof", ["profile"])
