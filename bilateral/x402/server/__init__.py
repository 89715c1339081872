"""Servers that sell answers, sign proofs of them, and receive feedback on them."""

import bilateral.x402.proof  # noqa: F401  # checks the extra
