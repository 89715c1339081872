"""Blind ratings: the filter that selects them, and the sides under which they are summed."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

BLIND_SIDES: Final = {"server": "b-server", "client": "b-client"}
"""The sides under which blind ratings have summaries of their own. They count in those of the plain sides too."""


class Blind(StrEnum):
    """A filter of ratings. Without it, open ratings and blind ones are shown alike."""

    ONLY = "only"
    """Only ratings that were sealed before either side saw the other's."""
