"""The content of the pages on which visitors act: a form for each action, filled from the path's query."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bilateral.contracts import Registry
from bilateral.errors import InvalidArgumentError
from bilateral.events import NewFeedback, topic_of
from bilateral.explorer.networks import agent_path, rating_path, slug_of
from bilateral.explorer.records import progress_of
from bilateral.query.chains import ChainProgress
from bilateral.query.names import names_of
from bilateral.query.registries import agent_key
from bilateral.values.feedback import STANDARD_TAGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from bilateral.query.registries import Registries

CONFIRMATIONS: Final = 3
"""The blocks after which a transaction counts as confirmed: reorganisations seldom take back more than two."""

_PLACE: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes:
        name: Its name in the body of the request.
        label: Its label.
        hint: A sentence below it.
        kind: `text`, `area`, `number`, `check`, or `key`: one that the link to the page fills.
        is_required: True if it must be filled.
        value: Its value at first.
        options: Values to choose from, each with its meaning. Others are possible.
    """

    name: str
    label: str
    hint: str = ""
    kind: str = "text"
    is_required: bool = False
    value: str = ""
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """A form for an action.

    Attributes:
        action: The action's name in the API.
        title: The title of its page; an agent's name may follow.
        intro: A sentence about it.
        fields: Its fields.
        shows: The place where its result is shown: `rating`, `row`, `agent`, `new agent` or `validation`.
        command: The command that does the same in a shell.
    """

    action: str
    title: str
    intro: str
    fields: tuple[Field, ...]
    shows: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class ActPage:
    """The content of a page on which a visitor acts.

    Attributes:
        form: The form, with the values of the path's query.
        chain_id: The chain.
        agent: The agent that it is about; None for an action about none.
        names: The agent's name, by its short id.
        shows: The path of the result. `{block}`, `{log}` and `{id}` stand for what the transaction's event says.
        topic: The first topic of this event; empty if there are no such parts.
        confirmations: The blocks after which the transaction counts as confirmed.
        progress: The chain's progress.
    """

    form: Form
    chain_id: int
    agent: str | None
    names: dict[str, str]
    shows: str
    topic: str
    confirmations: int
    progress: ChainProgress


def _scale(name: str) -> str:
    """Return the meaning of values under a standard tag."""
    tag = STANDARD_TAGS[name]
    if tag.binary:
        return f"{tag.measures}: 1 for yes, 0 for no"
    limits = "any number" if tag.lowest is None else f"from {tag.lowest}"
    return f"{tag.measures} in {tag.unit}: {limits}{'' if tag.highest is None else f' to {tag.highest}'}"


_AGENT: Final = Field("agent", "Agent", kind="key", is_required=True)
_FEEDBACK: Final = Field("feedback", "Feedback", kind="key", is_required=True)

FORMS: Final = {
    form.action: form
    for form in (
        Form(
            "give_feedback",
            "Rate",
            "Say how this agent served you. Everybody can read it.",
            (
                _AGENT,
                Field(
                    "tag1",
                    "Tag",
                    "The measured quantity. It decides the scale of the value.",
                    value="starred",
                    options=tuple((tag, _scale(tag)) for tag in STANDARD_TAGS),
                ),
                Field("value", "Value", kind="number", is_required=True),
                Field("tag2", "Second tag", "A qualifier, such as the period."),
                Field("endpoint", "Endpoint", "The address that you used."),
                Field("text", "Words", "They become a file, which the transaction stores.", kind="area"),
                Field(
                    "payment", "Payment", "The transaction in which you paid this agent. Your word then counts more."
                ),
            ),
            "rating",
            "bilateral feedback give",
        ),
        Form(
            "revoke_feedback",
            "Revoke your feedback",
            "Your feedback counts no more. Everybody still sees it, with a mark.",
            (_FEEDBACK,),
            "row",
            command="bilateral feedback revoke",
        ),
        Form(
            "append_response",
            "Respond",
            "Anybody may respond to a feedback. The words of the agent's owner or wallet are shown first.",
            (_FEEDBACK, Field("text", "Words", kind="area", is_required=True)),
            "row",
            command="bilateral feedback respond",
        ),
    )
}
"""The forms by action."""

_EVENTS: Final = {"give_feedback": (Registry.REPUTATION, NewFeedback)}
"""The events that say where the result of an action is shown."""


def act_page(connection: Connection, registries: Registries, action: str, query: Mapping[str, str]) -> ActPage | None:
    """Read the page on which a visitor acts.

    Args:
        connection: The database.
        registries: The indexed registries.
        action: The action.
        query: The query of the path, which fills fields.

    Returns:
        The content; None if there is no such action.

    Raises:
        BilateralError: The query names a malformed agent, or a chain that is not indexed.
    """
    form = FORMS.get(action)
    if form is None:
        return None
    chain_id, agent = _subject(registries, query)
    shows, topic = _place(form, chain_id, agent, query)
    filled = tuple(replace(field, value=query.get(field.name, field.value)[:4_000]) for field in form.fields)
    return ActPage(
        form=replace(form, fields=filled),
        chain_id=chain_id,
        agent=agent,
        names=names_of(connection, registries, [agent]),
        shows=shows,
        topic=topic,
        confirmations=CONFIRMATIONS,
        progress=progress_of(connection, chain_id),
    )


def _subject(registries: Registries, query: Mapping[str, str]) -> tuple[int, str | None]:
    """Return the chain and the agent that a query is about."""
    named = query.get("agent") or ":".join(query.get("feedback", "").split(":")[:2])
    if named:
        key = agent_key(registries, named)
        return key.chain_id, key.id
    raise InvalidArgumentError("the path names no agent: open the action from the page of one")


def _place(form: Form, chain_id: int, agent: str | None, query: Mapping[str, str]) -> tuple[str, str]:
    """Return the path where the result is shown, and the topic of the event that names it."""
    topic = f"0x{topic_of(*_EVENTS[form.action]).hex()}" if form.action in _EVENTS else ""
    network = f"/{slug_of(chain_id)}"
    if form.shows == "row":
        place = _PLACE.fullmatch(query.get("at", ""))
        if place is not None:
            return rating_path(chain_id, int(place[1]), int(place[2])), topic
    places = {"rating": f"{network}/ratings/{{block}}-{{log}}", "new agent": f"{network}/{{id}}"}
    return places.get(form.shows, agent_path(str(agent))), topic
