"""Names that look alike: untrusted text that may imitate another name."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from bilateral.explorer.text import MAX_LENGTH, UNSEEN

_READ_AS: Final = (
    (re.compile(r"(?<=[a-z])I(?![A-Z])"), "l"),
    (re.compile(r"(?<=[A-Za-z])[1|](?=[A-Za-z])"), "l"),
    (re.compile(r"(?<=[A-Za-z0])0(?=0*[A-Za-z])"), "o"),
    (re.compile("vv"), "w"),
)
"""Plain characters that look like another letter in some contexts."""

_MARK: Final = "\u200e"
"""The mark that the look-alike library puts around right-to-left characters."""


def look_alikes(names: Mapping[str, str | None]) -> frozenset[str]:
    """Return the ids of the agents whose names look like another agent's name."""
    shapes = {id_: shape(name[:MAX_LENGTH]) for id_, name in names.items() if name}
    counts = Counter(shapes.values())
    return frozenset(id_ for id_, reading in shapes.items() if counts[reading] > 1)


def readings(name: str) -> tuple[str, ...]:
    """Return the plain-letter texts for which a name may be mistaken; empty if the name is unambiguous.

    A name is also unambiguous if it contains a letter of another alphabet that resembles no plain letter.
    """
    written, table = unicodedata.normalize("NFD", name[:MAX_LENGTH]), _stands_for()
    visible = [character for character in written if unicodedata.category(character) not in UNSEEN]
    plain = "".join(character if character.isascii() else table.get(character, character) for character in visible)
    # Only letters count: an apostrophe or another sign from a different character set deceives nobody.
    itself = "".join(
        character if character.isascii() or character.isalpha() else table.get(character, character)
        for character in written
    )
    swapped = plain
    for other, read in _READ_AS:
        swapped = other.sub(read, swapped)
    readings = dict.fromkeys(reading.casefold() for reading in (plain, swapped))
    return tuple(reading for reading in readings if reading.isascii() and reading != itself.casefold())


@lru_cache(maxsize=4096)
def shape(name: str) -> str:
    """Return the shape of a name. Names with the same shape look alike (the "skeleton" of Unicode UTS 39).

    Letters from other alphabets map to the letters that they resemble, according to Unicode's table. Case, blanks and
    invisible characters are ignored.
    """
    table = _stands_for()
    visible = (
        character for character in unicodedata.normalize("NFD", name) if unicodedata.category(character) not in UNSEEN
    )
    text = "".join(table.get(character, character) for character in visible).casefold()
    return "".join("".join(table.get(character, character) for character in text).split())


@cache
def _stands_for() -> dict[str, str]:
    """Return the text that each confusable character looks like."""
    # The library's table links each character with its model in both directions; a model has several links. Loading the
    # table takes 0.3 s, so it happens only for pages with names.
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415

    links = {name.strip(_MARK): [pair["c"].strip(_MARK) for pair in pairs] for name, pairs in confusables_data.items()}
    models = {}
    for name, (first, *more) in links.items():
        is_model = more or (len(first) == 1 and len(links.get(first, ())) == 1 and name < first)
        if len(name) == 1 and not is_model:
            models[name] = first
    return models
