"""The aggregator over HTTP. `routes` is loaded only if the settings name one: it needs the extra `x402`."""

from typing import Final

FEEDBACK_PATH: Final = "/v1/aggregator/feedback"
"""The path that servers declare as `feedbackAggregator`."""

MAX_FEEDBACK: Final = 1024 * 1024 * 4 // 3 + 64 * 1024
"""Bytes of a feedback with the bodies of its paid request, which have 1 MiB at most, in base64."""
