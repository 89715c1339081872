"""The authors of a registry's code."""

from enum import StrEnum


class Origin(StrEnum):
    """The authors of a registry's code."""

    CANONICAL = "canonical"
    """The authors of ERC-8004."""

    BILATERAL = "bilateral"
    """This project."""
