"""Servers that sell, prove their answers and take feedback."""

import bilateral.x402.proof  # noqa: F401  # checks the extra
