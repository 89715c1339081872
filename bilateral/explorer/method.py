"""The page that says how each figure is made, and what the API has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bilateral.explorer.words import words_of
from bilateral.index.operating.chains import ChainProgress


@dataclass(frozen=True, slots=True)
class Explanation:
    """The making of a figure.

    Attributes:
        anchor: The name with which a path leads to it: figures of other pages link to it.
        name: The figure, as pages name it.
        text: The explanation.
    """

    anchor: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Entrance:
    """A part of the API.

    Attributes:
        path: The path, or a pattern of it.
        link: The path to try it; None if it takes more than a path.
        text: The content.
    """

    path: str
    link: str | None
    text: str


@dataclass(frozen=True, slots=True)
class MethodPage:
    """The content of the page.

    Attributes:
        explanations: The making of each figure.
        api: The parts of the API.
        chains: The indexed chains.
    """

    explanations: tuple[Explanation, ...]
    api: tuple[Entrance, ...]
    chains: tuple[ChainProgress, ...]


_WORDS: Final = words_of("method")
EXPLANATIONS: Final = tuple(Explanation(**words) for words in _WORDS["explanations"])
API: Final = tuple(Entrance(words["path"], words.get("link"), words["text"]) for words in _WORDS["api"])


def method_page(chains: tuple[ChainProgress, ...]) -> MethodPage:
    """Return the content of the page.

    Args:
        chains: The indexed chains.
    """
    return MethodPage(EXPLANATIONS, API, chains)
