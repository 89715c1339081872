"""The forms of the actions that visitors take with their own wallets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bilateral.core.values.feedback import STANDARD_TAGS
from bilateral.explorer.words import words_of


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes:
        name: Its name in the body of the request.
        hint: A sentence below it.
        kind: `text`, `area`, `number`, `check`, `payment`, or `key`: one that the link to the page fills.
        is_required: True if it must be filled.
        value: Its value at first.
        present: Its value in the agent's present file; None if it does not come from there.
        options: Values to choose from, each with its meaning. Others are possible.
    """

    name: str
    label: str
    hint: str = ""
    kind: str = "text"
    is_required: bool = False
    value: str = ""
    present: str | None = None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """A form for an action.

    Attributes:
        action: The action's name in the API.
        title: The title of its page; an agent's name may follow.
        intro: A sentence about it.
        shows: The place where its result is shown: `rating`, `row`, `agent`, `new agent` or `validation`;
            empty for a signature alone.
        says: The sentence about what is signed. Names of fields in braces stand for their values; a part in brackets
            is left out while a field in it is empty.
        steps: A further sentence for each signature of an action with several.
    """

    action: str
    title: str
    intro: str
    fields: tuple[Field, ...]
    shows: str
    says: str
    steps: tuple[str, ...] = ()


def _scale(name: str) -> str:
    """Return the meaning of values under a standard tag."""
    tag = STANDARD_TAGS[name]
    if tag.binary:
        return f"{tag.measures}: 1 for yes, 0 for no"
    limits = "any number" if tag.lowest is None else f"from {tag.lowest}"
    highest = "" if tag.highest is None else f" to {tag.highest}"
    return f"{tag.measures}: {limits}{highest}{'' if tag.unit.startswith('of') else f', in {tag.unit}'}"


KEEP: Final = "keep"
"""The field that only services with a store have."""

_WORDS: Final = words_of("forms")


def _field(name: str, *, is_required: bool) -> Field:
    """Return a field by its name among the words. The tag of feedback has the standard ones to choose from."""
    field = Field(**{"name": name, **_WORDS["fields"][name]})
    options = tuple((tag, _scale(tag)) for tag in STANDARD_TAGS) if name == "tag1" else ()
    return replace(field, options=options, is_required=is_required or field.is_required)


def _form(fields: Sequence[str], required: Sequence[str] = (), steps: Sequence[str] = (), **texts: str) -> Form:
    filled = tuple(_field(name, is_required=name in required) for name in fields)
    return Form(fields=filled, steps=tuple(steps), **texts)


FORMS: Final = {words["action"]: _form(**words) for words in _WORDS["forms"]}
"""The forms by action."""
