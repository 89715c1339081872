"""The filter that selects blind ratings."""

from enum import StrEnum


class Blind(StrEnum):
    """A filter of ratings. Without it, open and blind ratings are included alike."""

    ONLY = "only"
    """Only ratings that were sealed before either side saw the other's."""
