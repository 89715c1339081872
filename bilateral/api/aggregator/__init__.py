"""The aggregator's HTTP API. `routes` requires the `x402` extra, and is loaded only if an aggregator is configured."""

from typing import Final

FEEDBACK_PATH: Final = "/v1/aggregator/feedback"
"""The path that servers declare as `feedbackAggregator`."""

MAX_FEEDBACK: Final = 1024 * 1024 * 4 // 3 + 64 * 1024
"""The maximum size, in bytes, of a message with the bodies of the paid request (up to 1 MiB, in base64)."""
