"""Fields of a stranger's JSON, read leniently: a field of the wrong type is named, and does not hide the others.

Whole files stay in `file_content`. Texts in columns have limits, so that one agent cannot fill the indexes of search.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bilateral.text import printable

MAX_NAME: Final = 200
"""Characters of a name, a kind of service, a skill or a tag."""

MAX_URI: Final = 2_000
"""Characters of a URI. The picture of a data URI is not needed for search."""

MAX_TEXT: Final = 10_000
"""Characters of a description or comment."""

MAX_ITEMS: Final = 500
"""Entries of one list."""

_MAX_PROBLEMS: Final = 10  # enough to mend a file by; a hostile one may have thousands
_SHOWN_NAME: Final = 60  # characters of a field's name, which strangers choose


class Fields:
    """The fields of one JSON object.

    Args:
        value: The object; anything else has no fields.
        problems: The list that takes a sentence for each field that cannot be read.
        place: The object's place in the file, for these sentences.
    """

    def __init__(self, value: Any, problems: list[str], place: str = "") -> None:
        self._place = place
        self._problems = problems
        self._value = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self.note("", "an object")

    def text(self, *names: str, limit: int = MAX_NAME) -> str | None:
        """Return a text; None if it is missing. Numbers become text.

        Args:
            names: The names of the field; the first that the object has counts.
            limit: The characters to keep.
        """
        name, value = self._find(names)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
            self.note(name, "a text")
            return None
        return None if value is None else stored_text(value if isinstance(value, str) else json.dumps(value), limit)

    def flag(self, *names: str) -> bool | None:
        """Return true or false; None if it is missing."""
        name, value = self._find(names)
        if value is not None and not isinstance(value, bool):
            self.note(name, "true or false")
            return None
        return value

    def number(self, *names: str) -> int | None:
        """Return an unsigned integer of up to 256 bits, from a number or from its digits; None for anything else."""
        _, value = self._find(names)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 78:  # noqa: PLR2004  # of 2**256
            value = int(value)
        is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**256
        return value if is_number else None

    def items(self, *names: str) -> list[Any]:
        """Return the first entries of a list; an empty list if it is missing."""
        name, value = self._find(names)
        if value is None:
            return []
        if not isinstance(value, list):
            self.note(name, "a list")
            return []
        return value[:MAX_ITEMS]

    def names(self, *names: str) -> list[str]:
        """Return the entries of a list of texts. An object in it counts by its `name` or `id`."""
        texts = []
        for entry in self.items(*names):
            value = (entry.get("name") or entry.get("id")) if isinstance(entry, dict) else entry
            if isinstance(value, str) and value:
                texts.append(stored_text(value, MAX_NAME))
            else:
                self.note(names[0], "a list of texts")
        return list(dict.fromkeys(texts))

    def object(self, name: str) -> Fields:
        """Return the fields of an inner object, which has none if it is missing."""
        value = self._value.get(name)
        return Fields({} if value is None else value, self._problems, f"{self._place}{name}.")

    def _find(self, names: tuple[str, ...]) -> tuple[str, Any]:
        """Return the first of some fields that the object has, with its name."""
        return next(
            ((name, self._value[name]) for name in names if self._value.get(name) is not None), (names[0], None)
        )

    def note(self, name: str, expected: str) -> None:
        """Note that a field is not what it must be.

        Args:
            name: The field.
            expected: The type or the kind of thing that it must be.
        """
        place = printable(f"{self._place}{name}".rstrip(".")[:_SHOWN_NAME]) or "the document"
        sentence = f"{place} is not {expected}"
        if sentence not in self._problems and len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(sentence)


def stored_text(text: str, limit: int) -> str:
    """Return the beginning of a text, with U+FFFD for NUL, which PostgreSQL cannot store."""
    return text[:limit].replace("\0", "\N{REPLACEMENT CHARACTER}")
