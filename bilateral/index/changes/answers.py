"""Changes as the feed reports them, built from event rows and from notes of off-chain changes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bilateral.core import events
from bilateral.core.events.agents import ADDRESS_BYTES, NOBODY, address_of_bytes
from bilateral.core.identifiers import global_agent_id
from bilateral.index.changes.tables import EVENT_KINDS, MOST_TEXT, ChangeKind
from bilateral.index.reading.registries import Registries, exact, hexadecimal, short_text

Detail = str | int | bool | None
"""A value in a change. Integers that may exceed 53 bits are converted to text."""


@dataclass(frozen=True, slots=True)
class FeedChange:
    """A change in the feed.

    Attributes:
        id: The change's id, unique within one index's feed. The id also serves as the cursor for reading later changes.
        retracts: The id of the earlier change that a reorganisation reverted; None if this change reverts nothing.
        event: The event's name in its contract; None for off-chain changes.
        block: The change's block or, for off-chain changes, the last block indexed at that time.
        log_index: The event's position in the block; None for off-chain changes.
        time: The time of the block, the analysis or the fetch, in Unix seconds.
        transaction: The change's transaction; None for off-chain changes.
        registry: The contract that emitted the event, or the identity registry that the off-chain change concerns.
        agents: The agents that the change concerns.
        accounts: The accounts that the change mentions.
        tags: The tags of the feedback or validation, which are untrusted text.
        details: The new values, keyed by name. Untrusted text is truncated after 1,000 characters.
    """

    id: str
    kind: ChangeKind
    retracts: str | None
    chain: int
    event: str | None
    block: int
    log_index: int | None
    time: int
    transaction: str | None
    registry: str
    agents: tuple[str, ...]
    accounts: tuple[str, ...]
    tags: tuple[str, ...]
    details: dict[str, Detail]


@dataclass(frozen=True, slots=True)
class RawChange:
    """A change as it is stored in rows.

    Attributes:
        agents: The agents' token ids.
        accounts: The accounts, in checksum form.
        details: The new values, by name.
    """

    kind: ChangeKind
    agents: tuple[int, ...]
    accounts: tuple[str, ...]
    tags: tuple[str, ...]
    details: dict[str, Detail]


def raw_change(event: type[events.Event], row: Mapping[str, Any]) -> RawChange:
    """Return the change that an event represents."""
    shape = _SHAPES[event]
    accounts = (_value(row, account) for account in shape.accounts)
    return RawChange(
        EVENT_KINDS[event],
        tuple(int(row[agent_id]) for agent_id in shape.agents),
        tuple(dict.fromkeys(account for account in accounts if account not in (None, NOBODY))),
        tuple(dict.fromkeys(_value(row, tag) for tag in shape.tags)),
        _cut({name: _value(row, cell) for name, cell in shape.details.items()}),
    )


def raw_note(row: Any) -> RawChange:
    """Return the change that a note describes."""
    details = _cut(json.loads(row.details))
    agents = () if row.agent_id is None else (int(row.agent_id),)
    return RawChange(ChangeKind(row.kind), agents, () if row.account is None else (row.account,), (), details)


def _cut(details: Mapping[str, Detail]) -> dict[str, Detail]:
    """Return the values. Texts that are too long for the feed are truncated and end in an ellipsis."""
    return {
        name: f"{value[:MOST_TEXT]}…" if isinstance(value, str) and len(value) > MOST_TEXT else value
        for name, value in details.items()
    }


def displayed_agent(registries: Registries, chain_id: int, identity_registry: str, agent_id: int) -> str:
    """Return an agent's short id, or its global id if the short id would refer to an agent in another registry."""
    if chain_id in registries.chains and registries.identity_of(chain_id) == identity_registry:
        return f"{chain_id}:{agent_id}"
    return global_agent_id(chain_id, identity_registry, agent_id)


_Cell: TypeAlias = str | Callable[[Mapping[str, Any]], Detail]
"""A column of an event, or a function that computes a value from the event's row."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The parts of an event that make up a change. `details` contains values by name."""

    accounts: tuple[_Cell, ...]
    details: Mapping[str, _Cell]
    tags: tuple[_Cell, ...] = ()
    agents: tuple[str, ...] = ("agent_id",)


def _value(row: Mapping[str, Any], cell: _Cell) -> Any:
    return row[cell] if isinstance(cell, str) else cell(row)


def _digits(column: str) -> _Cell:
    return lambda row: str(row[column])


def _hash(column: str) -> _Cell:
    return lambda row: hexadecimal(row[column])


def _tag(column: str) -> _Cell:
    return lambda row: short_text(row[column])


def _exact(row: Mapping[str, Any]) -> str:
    return format(exact(int(row["value"]), row["value_decimals"]), "f")


def _previous_owner(row: Mapping[str, Any]) -> str | None:
    return None if row["from_address"] == NOBODY else row["from_address"]


def _wallet(row: Mapping[str, Any]) -> str | None:
    value = row["metadata_value"]
    return address_of_bytes(value) if len(value) == ADDRESS_BYTES and any(value) else None


def _rating(subject: str) -> _Shape:
    rated = f"{subject}_id"
    details: dict[str, _Cell] = {subject: _digits(rated), "server": _digits("server_id"), "rating": "rating"}
    return _Shape((), details, agents=(rated, "server_id"))


_OF_FEEDBACK: Final[Mapping[str, _Cell]] = {"client": "client_address", "feedback_index": _digits("feedback_index")}
_REQUEST: Final[Mapping[str, _Cell]] = {"validator": "validator_address", "request_hash": _hash("request_hash")}
_TAGS: Final = {"tag1": _tag("tag1"), "tag2": _tag("tag2")}
_TEXTS: Final[Mapping[str, _Cell]] = {name: name for name in ("tag1", "tag2", "endpoint")}

_SHAPES: Final[Mapping[type[events.Event], _Shape]] = {
    events.NewFeedback: _Shape(
        ("client_address",),
        {**_OF_FEEDBACK, "value": _exact, **_TEXTS, "uri": "feedback_uri", "hash": _hash("feedback_hash")},
        ("tag1", "tag2"),
    ),
    events.NewAuthorizedFeedback: _Shape(
        ("client_address",),
        {"client": "client_address", "value": _digits("score"), **_TAGS}
        | {"uri": "file_uri", "hash": _hash("file_hash")},
        tuple(_TAGS.values()),
    ),
    events.FeedbackRevoked: _Shape(("client_address",), _OF_FEEDBACK),
    events.ResponseAppended: _Shape(
        ("client_address", "responder"),
        {**_OF_FEEDBACK, "responder": "responder", "uri": "response_uri", "hash": _hash("response_hash")},
    ),
    events.ClientRated: _rating("client"),
    events.ValidatorRated: _rating("validator"),
    events.RatingsOpened: _Shape(
        ("client",),
        {name: _digits(f"{name}_id") for name in ("client", "server")}
        | {"interaction": _hash("interaction"), "account": "client", "feedback_index": _digits("feedback_index")},
        agents=("client_id", "server_id"),
    ),
    events.ValidationRequest: _Shape(("validator_address",), {**_REQUEST, "uri": "request_uri"}),
    events.ValidationResponse: _Shape(
        ("validator_address",),
        {**_REQUEST, "response": "response", "uri": "response_uri", "hash": _hash("response_hash"), "tag": "tag"},
        ("tag",),
    ),
    events.Transfer: _Shape(("from_address", "to_address"), {"former_owner": _previous_owner, "owner": "to_address"}),
    events.MetadataSet: _Shape((_wallet,), {"wallet": _wallet}),
    events.URIUpdated: _Shape(("updated_by",), {"uri": "new_uri", "updated_by": "updated_by"}),
    events.AgentUpdated: _Shape(("agent_address",), {"domain": "agent_domain", "account": "agent_address"}),
}
