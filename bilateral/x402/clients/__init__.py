"""Clients that pay for requests, verify the answers and rate the agents."""

import bilateral.x402.proof  # noqa: F401  # checks the extra
