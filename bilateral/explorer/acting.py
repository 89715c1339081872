"""The content of the pages on which visitors act: a form for each action, pre-filled from the URL's query."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, column, literal, select, table

from bilateral.core.contracts import Deployment, Registry
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.core.events import ClientRated, NewFeedback, Registered, ValidatorRated
from bilateral.core.events.decoder import topic_of
from bilateral.core.identifiers import FeedbackId
from bilateral.core.text.encoding import decode_object, encode_object
from bilateral.core.values.feedback import STANDARD_TAGS
from bilateral.explorer.networks import agent_path, chain_of, rating_path, slug_of
from bilateral.explorer.records import progress_of
from bilateral.explorer.signing import indexed_deployment, signing_facts
from bilateral.explorer.words import words_of
from bilateral.index.agents.tables import agent as agent_table
from bilateral.index.files.queries import names_of
from bilateral.index.files.tables import file_content
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.reading.registries import AgentKey, Registries, agent_key


@dataclass(frozen=True, slots=True)
class Field:
    """A form field.

    Attributes:
        name: The field's name in the request body.
        hint: A sentence displayed below the field.
        kind: `text`, `area`, `number`, `check`, `payment`, or `key` for a value that the link to the page fills in.
        is_required: True if the field must be filled in.
        value: The field's initial value.
        present: The field's value in the agent's current file; None if the value does not come from the file.
        options: Suggested values, each with its meaning. Other values are allowed.
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
        title: The page's title. The agent's name may be appended to it.
        intro: A sentence that introduces the form.
        shows: Where the action's result appears: `rating`, `row`, `agent`, `new agent` or `validation`; empty if the
            result is only a signature.
        says: A template for the sentence that says what is signed. Field names in braces are replaced with values; text
            in brackets is omitted while any field in it is empty.
        steps: An additional sentence per signature, for an action with several signatures.
    """

    action: str
    title: str
    intro: str
    fields: tuple[Field, ...]
    shows: str
    says: str
    steps: tuple[str, ...] = ()


def _scale(name: str) -> str:
    tag = STANDARD_TAGS[name]
    if tag.binary:
        return f"{tag.measures}: 1 for yes, 0 for no"
    limits = "any number" if tag.lowest is None else f"from {tag.lowest}"
    highest = "" if tag.highest is None else f" to {tag.highest}"
    return f"{tag.measures}: {limits}{highest}{'' if tag.unit.startswith('of') else f', in {tag.unit}'}"


KEEP: Final = "keep"
"""The form field for storing a file on this service."""

_WORDS: Final = words_of("forms")


def _field(name: str, *, is_required: bool) -> Field:
    """Return the field with a given name from `forms.toml`. The feedback tag's field suggests the standard tags."""
    field = Field(**{"name": name, **_WORDS["fields"][name]})
    options = tuple((tag, _scale(tag)) for tag in STANDARD_TAGS) if name == "tag1" else ()
    return replace(field, options=options, is_required=is_required or field.is_required)


def _form(fields: Sequence[str], required: Sequence[str] = (), steps: Sequence[str] = (), **texts: str) -> Form:
    filled = tuple(_field(name, is_required=name in required) for name in fields)
    return Form(fields=filled, steps=tuple(steps), **texts)


FORMS: Final = {words["action"]: _form(**words) for words in _WORDS["forms"]}
"""The forms, by action."""

CONFIRMATIONS: Final = 3
"""The number of blocks after which a transaction counts as confirmed. Reorganisations seldom revert more than two."""

_LONGEST: Final = 4_000
"""The maximum length of a field's initial value."""

_SPONSORED: Final = "sponsored_feedback"

_EVENTS: Final = {
    "register_agent": (Registry.IDENTITY, Registered),
    "give_feedback": (Registry.REPUTATION, NewFeedback),
    _SPONSORED: (Registry.REPUTATION, NewFeedback),
    "rate_client": (Registry.BIDIRECTIONAL, ClientRated),
    "rate_validator": (Registry.BIDIRECTIONAL, ValidatorRated),
}
"""The event that each action emits, for the path to its result."""

_ABOUT_FEEDBACK: Final = frozenset(
    form.action for form in FORMS.values() if any(field.name == "feedback" for field in form.fields)
)

_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_PLACE: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Offers:
    """What an operator offers to visitors.

    Attributes:
        sponsors: The chains on which the operator pays the gas for visitors' feedback.
        files: The base URL under which the operator publishes registration files; None if it stores none.
        final: The sentence that states what an action makes irreversible.
    """

    sponsors: frozenset[int] = frozenset()
    files: str | None = None
    final: str = ""


@dataclass(frozen=True, slots=True)
class ActPage:
    """The content of a page on which a visitor acts.

    Attributes:
        form: The form, with values from the URL's query.
        agent: The agent that the action is about; None if it is not about an agent.
        names: The agent's name, by short id.
        shows: The path of the result. `{block}`, `{log}` and `{id}` are replaced with data from the transaction's
            event.
        topic: The first topic of the transaction's event; empty if `shows` contains no placeholders.
        confirmations: The number of blocks after which the transaction counts as confirmed.
        sponsored: The path of the form for gasless feedback; None if not offered.
        final: The sentence that states what cannot be undone.
        facts: The facts with which the page checks what the service asks the wallet to sign; see `signing_facts`.
    """

    form: Form
    chain_id: int
    agent: str | None
    names: dict[str, str]
    shows: str
    topic: str
    confirmations: int
    progress: ChainProgress
    sponsored: str | None
    final: str
    facts: dict[str, Any]


def act_page(
    connection: Connection, registries: Registries, action: str, query: Mapping[str, str], offers: Offers
) -> ActPage | None:
    """Read the content of a page on which a visitor acts."""
    form = FORMS.get(action)
    if form is None:
        return None
    chain_id, key = _subject(form, registries, query)
    if action == _SPONSORED and chain_id not in offers.sponsors:
        return None
    present = _present(connection, key) if action == "edit_registration" and key else {}
    values = {**present, **query}
    offered = (field for field in form.fields if offers.files is not None or field.name != KEEP)
    filled = tuple(
        replace(field, value=values.get(field.name, field.value)[:_LONGEST], present=present.get(field.name))
        for field in offered
    )
    agent = None if key is None else key.id
    can_rate_free = action == "give_feedback" and chain_id in offers.sponsors
    return ActPage(
        form=replace(form, fields=filled),
        chain_id=chain_id,
        agent=agent,
        names=names_of(connection, registries, [agent]),
        shows=_place(form, chain_id, agent, query),
        topic=f"0x{topic_of(*_EVENTS[action]).hex()}" if action in _EVENTS else "",
        confirmations=CONFIRMATIONS,
        progress=progress_of(connection, chain_id),
        sponsored=f"/act/{_SPONSORED}?agent={agent}" if can_rate_free else None,
        final=offers.final,
        facts=_facts(indexed_deployment(registries, chain_id), action, key, query, offers)
        | ({"present": _present_file(connection, key)} if action == "edit_registration" and key else {}),
    )


def _facts(
    deployment: Deployment, action: str, key: AgentKey | None, query: Mapping[str, str], offers: Offers
) -> dict[str, Any]:
    facts = signing_facts(deployment, action) | {"files": offers.files}
    if key is not None:
        facts["agent"] = str(key.agent_id)
    if "feedback" in query and action in _ABOUT_FEEDBACK:
        feedback = FeedbackId.parse(query["feedback"])
        facts |= {"about": str(feedback.agent), "by": feedback.client, "number": str(feedback.on_chain_index)}
    return facts


def _subject(form: Form, registries: Registries, query: Mapping[str, str]) -> tuple[int, AgentKey | None]:
    """Return the chain that a form's query specifies and, unless the form only needs a chain, the agent."""
    fields = {field.name for field in form.fields}
    subject = query.get("agent", "")
    if form.action in _ABOUT_FEEDBACK:
        subject = ":".join(query.get("feedback", "").split(":")[:2])
    if subject and "chain" not in fields:
        key = agent_key(registries, subject)
        return key.chain_id, key
    chain_id = chain_of(query.get("chain", ""))
    if chain_id is None or "chain" not in fields:
        raise InvalidArgumentError(
            "the path contains neither an agent nor a chain: open the action from an agent's page"
        )
    registries.require_indexed([chain_id])
    return chain_id, None


def _present(connection: Connection, key: AgentKey) -> dict[str, str]:
    agent = read_agent(connection, key)
    file = None if agent is None else agent.registration
    if file is None:
        return {}
    services = (" ".join(filter(None, (service.name, service.endpoint, service.version))) for service in file.services)
    texts = {"name": file.name, "description": file.description, "image": file.image, "services": "\n".join(services)}
    return {name: text or "" for name, text in texts.items()} | {
        name: "true" if flag else "false" for name, flag in {"x402": file.x402_support, "active": file.active}.items()
    }


def _present_file(connection: Connection, key: AgentKey) -> str | None:
    """Return an agent's current registration file from the index; None if it is missing or not UTF-8 JSON."""
    view = table("agent_registration", *map(column, ("chain_id", "identity_registry", "agent_id", "content_hash")))
    content = connection.execute(
        select(file_content.c.content)
        .join_from(view, file_content, file_content.c.content_hash == view.c.content_hash)
        .where(view.c.chain_id == key.chain_id, view.c.identity_registry == key.identity_registry)
        .where(view.c.agent_id == literal(key.agent_id, agent_table.c.agent_id.type))
    ).scalar()
    try:
        return None if content is None else encode_object(decode_object(content)).decode()
    except MalformedDocumentError:
        return None


def _place(form: Form, chain_id: int, agent: str | None, query: Mapping[str, str]) -> str:
    network = f"/{slug_of(chain_id)}"
    row = _PLACE.fullmatch(query.get("at", ""))
    if form.shows == "row" and row is not None:
        return rating_path(chain_id, int(row[1]), int(row[2]))
    request = query.get("request", "")
    if form.shows == "validation" and _HASH.fullmatch(request):
        return f"{network}/validations/{request}"
    places = {"rating": f"{network}/ratings/{{block}}-{{log}}", "new agent": f"{network}/{{id}}"}
    return places.get(form.shows, "/" if agent is None else agent_path(agent))
