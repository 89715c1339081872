"""Changes as the feed shows them, made from rows of events and from notes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bilateral.core import events
from bilateral.core.identifiers import checksummed, global_agent_id
from bilateral.index.changes.tables import EVENT_KINDS, MOST_TEXT, ChangeKind
from bilateral.index.reading.registries import Registries
from bilateral.index.reading.values import exact, hexadecimal, short_text

Detail = str | int | bool | None
"""A value of a change. Integers that may exceed 53 bits are text."""

_ADDRESS_BYTES: Final = 20  # of an account of Ethereum
_NOBODY: Final = "0x" + "0" * 40


@dataclass(frozen=True, slots=True)
class FeedChange:
    """A change of the feed.

    Attributes:
        id: Its id, unique in the feed of one index. It is also the cursor of later changes.
        retracts: The id of the change that a reorganisation took back; None for a change that happened.
        event: The event's name in its contract; None for what is not on the chain.
        block: Its block; for what is not on the chain, the last indexed block.
        log_index: Its place in the block; None for what is not on the chain.
        time: The time of the block, or of the analysis or fetch, Unix seconds.
        transaction: Its transaction; None for what is not on the chain.
        registry: The contract, or the identity registry of the analysis.
        agents: The agents that it is about.
        accounts: The accounts that it names.
        tags: The tags of the feedback or validation, words of a stranger.
        details: The new values, by name. A text of a stranger is cut after 1,000 characters.
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
    """A change as rows hold it.

    Attributes:
        agents: The ids of the agents' tokens.
        accounts: The accounts, in checksum form.
        details: The new values, by name.
    """

    kind: ChangeKind
    agents: tuple[int, ...] = ()
    accounts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    details: Mapping[str, Detail] | None = None


def raw_change(event: type[events.Event], row: Mapping[str, Any]) -> RawChange:
    """Return the change that an event is.

    Args:
        event: The event's type.
    """
    agents, accounts, tags, details = _SHAPES[event](row)
    return RawChange(
        EVENT_KINDS[event],
        tuple(int(agent_id) for agent_id in agents),
        tuple(dict.fromkeys(account for account in accounts if account not in (None, _NOBODY))),
        tuple(dict.fromkeys(tags)),
        {name: cut(value) if isinstance(value, str) else value for name, value in details.items()},
    )


def raw_note(row: Any) -> RawChange:
    """Return the change that a note is.

    Args:
        row: The row of `change_note`.
    """
    details = {name: cut(value) if isinstance(value, str) else value for name, value in json.loads(row.details).items()}
    agents = () if row.agent_id is None else (int(row.agent_id),)
    return RawChange(ChangeKind(row.kind), agents, () if row.account is None else (row.account,), (), details)


def cut(text: str) -> str:
    """Return a text, or its beginning with an ellipsis if it is longer than the feed shows."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def shown_agent(registries: Registries, chain_id: int, identity_registry: str, agent_id: int) -> str:
    """Return the short id of an agent, or the global one if the short one means another registry.

    Args:
        registries: The indexed registries.
        agent_id: Its token.
    """
    if chain_id in registries.chains and registries.identity_of(chain_id) == identity_registry:
        return f"{chain_id}:{agent_id}"
    return global_agent_id(chain_id, identity_registry, agent_id)


_Shape = tuple[tuple[int, ...], tuple[str | None, ...], tuple[str, ...], dict[str, Detail]]


def _feedback(row: Mapping[str, Any]) -> _Shape:
    details = {
        "client": row["client_address"],
        "feedback_index": str(row["feedback_index"]),
        "value": format(exact(int(row["value"]), row["value_decimals"]), "f"),
        "tag1": row["tag1"],
        "tag2": row["tag2"],
        "endpoint": row["endpoint"],
        "uri": row["feedback_uri"],
        "hash": hexadecimal(row["feedback_hash"]),
    }
    return (row["agent_id"],), (row["client_address"],), (row["tag1"], row["tag2"]), details


def _authorized(row: Mapping[str, Any]) -> _Shape:
    tags = (short_text(row["tag1"]), short_text(row["tag2"]))
    details = {
        "client": row["client_address"],
        "value": str(row["score"]),
        "tag1": tags[0],
        "tag2": tags[1],
        "uri": row["file_uri"],
        "hash": hexadecimal(row["file_hash"]),
    }
    return (row["agent_id"],), (row["client_address"],), tags, details


def _revoked(row: Mapping[str, Any]) -> _Shape:
    details = {"client": row["client_address"], "feedback_index": str(row["feedback_index"])}
    return (row["agent_id"],), (row["client_address"],), (), details


def _response(row: Mapping[str, Any]) -> _Shape:
    details = {
        "client": row["client_address"],
        "feedback_index": str(row["feedback_index"]),
        "responder": row["responder"],
        "uri": row["response_uri"],
        "hash": hexadecimal(row["response_hash"]),
    }
    return (row["agent_id"],), (row["client_address"], row["responder"]), (), details


def _rating(subject: str) -> Callable[[Mapping[str, Any]], _Shape]:
    def shape(row: Mapping[str, Any]) -> _Shape:
        details = {subject: str(row[f"{subject}_id"]), "server": str(row["server_id"]), "rating": row["rating"]}
        return (row[f"{subject}_id"], row["server_id"]), (), (), details

    return shape


def _opened(row: Mapping[str, Any]) -> _Shape:
    details = {
        "client": str(row["client_id"]),
        "server": str(row["server_id"]),
        "interaction": hexadecimal(row["interaction"]),
        "account": row["client"],
        "feedback_index": str(row["feedback_index"]),
    }
    return (row["client_id"], row["server_id"]), (row["client"],), (), details


def _request(row: Mapping[str, Any]) -> _Shape:
    details = {
        "validator": row["validator_address"],
        "request_hash": hexadecimal(row["request_hash"]),
        "uri": row["request_uri"],
    }
    return (row["agent_id"],), (row["validator_address"],), (), details


def _answer(row: Mapping[str, Any]) -> _Shape:
    details = {
        "validator": row["validator_address"],
        "request_hash": hexadecimal(row["request_hash"]),
        "response": row["response"],
        "uri": row["response_uri"],
        "hash": hexadecimal(row["response_hash"]),
        "tag": row["tag"],
    }
    return (row["agent_id"],), (row["validator_address"],), (row["tag"],), details


def _transfer(row: Mapping[str, Any]) -> _Shape:
    former = None if row["from_address"] == _NOBODY else row["from_address"]
    details = {"former_owner": former, "owner": row["to_address"]}
    return (row["agent_id"],), (row["from_address"], row["to_address"]), (), details


def _wallet(row: Mapping[str, Any]) -> _Shape:
    value = row["metadata_value"]
    wallet = checksummed(f"0x{value.hex()}") if len(value) == _ADDRESS_BYTES and any(value) else None
    return (row["agent_id"],), (wallet,), (), {"wallet": wallet}


def _uri(row: Mapping[str, Any]) -> _Shape:
    details = {"uri": row["new_uri"], "updated_by": row["updated_by"]}
    return (row["agent_id"],), (row["updated_by"],), (), details


def _domain(row: Mapping[str, Any]) -> _Shape:
    details = {"domain": row["agent_domain"], "account": row["agent_address"]}
    return (row["agent_id"],), (row["agent_address"],), (), details


_SHAPES: Final[Mapping[type[events.Event], Callable[[Mapping[str, Any]], _Shape]]] = {
    events.NewFeedback: _feedback,
    events.NewAuthorizedFeedback: _authorized,
    events.FeedbackRevoked: _revoked,
    events.ResponseAppended: _response,
    events.ClientRated: _rating("client"),
    events.ValidatorRated: _rating("validator"),
    events.RatingsOpened: _opened,
    events.ValidationRequest: _request,
    events.ValidationResponse: _answer,
    events.Transfer: _transfer,
    events.MetadataSet: _wallet,
    events.URIUpdated: _uri,
    events.AgentUpdated: _domain,
}
