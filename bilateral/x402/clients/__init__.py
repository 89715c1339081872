"""Clients that pay, verify and rate."""

import bilateral.x402.proof  # noqa: F401  # checks the extra
