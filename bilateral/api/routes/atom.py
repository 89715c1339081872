"""Atom feeds (RFC 4287) about agents and accounts, for feed readers."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Request, Response

from bilateral.api.answers import one_of, tagged
from bilateral.api.parameters import AddressPath, AgentPath
from bilateral.api.service import service_of
from bilateral.core.identifiers import checksummed
from bilateral.explorer.networks import account_path, agent_path, rating_path
from bilateral.explorer.text import plain
from bilateral.index.agents.queries import Change, changes_of
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_by, feedback_of
from bilateral.index.reading.registries import AgentKey

MEDIA_TYPE: Final = "application/atom+xml"

ENTRIES: Final = 50
"""The maximum number of entries in a feed, newest first."""

_TEXT: Final = 4_000
"""The maximum length of untrusted text. Invisible characters and those that change the text direction are marked."""

_ALL: Final = FeedbackFilter(include_revoked=True)
_NAMESPACE: Final = "http://www.w3.org/2005/Atom"
_NOT_OF_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ANSWERS: Final = one_of(str, 404) | {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}
_VERBS: Final = {
    "registered": "Registered by",
    "transferred": "Transferred to",
    "wallet": "Wallet:",
    "file": "File changed by",
    "domain": "Domain changed by",
}

_Entry = tuple[int, str, str, str, str]
"""An entry's time, id, title, text and path."""

router = APIRouter(tags=["changes"], default_response_class=Response)


@router.get("/v1/agents/{agent}/atom", responses=_ANSWERS)
def read_agent_feed(request: Request, agent_id: AgentPath) -> Response:
    """Return the newest feedback on an agent and its newest changes as an Atom feed."""
    service = service_of(request)
    key = service.agent_key(agent_id)
    page, changes = service.read(feedback_of, key, _ALL, limit=ENTRIES), service.read(changes_of, key, ENTRIES)
    entries = [*map(_feedback, page.items), *(_change(key, entry) for entry in changes)]
    return _answer(request, f"Agent {key.id}", key.global_id, agent_path(key.id), entries)


@router.get("/v1/accounts/{address}/atom", responses=_ANSWERS)
def read_account_feed(request: Request, address: AddressPath) -> Response:
    """Return the newest feedback that an account gave on any chain as an Atom feed."""
    service, account = service_of(request), checksummed(address)
    entries = [
        _feedback(entry)
        for chain_id in service.registries().by_chain
        for entry in service.read(feedback_by, chain_id, account, _ALL, limit=ENTRIES).items
    ]
    return _answer(request, f"Account {account}", account, account_path(account), entries)


def _feedback(entry: Feedback) -> _Entry:
    tags = plain(" ".join(filter(None, (entry.tag1, entry.tag2))))
    title = f"{entry.value:f} {tags} for {entry.agent}" + (" (revoked)" if entry.is_revoked else "")
    text = f"By {entry.client}, feedback {entry.id}, transaction {entry.transaction}"
    chain_id, place = int(entry.agent.partition(":")[0]), (entry.block, entry.log_index)
    return entry.time, f"{chain_id}:{place[0]}:{place[1]}", title, text, rating_path(chain_id, *place)


def _change(key: AgentKey, entry: Change) -> _Entry:
    title = f"{_VERBS[entry.kind]} {entry.account or 'removed'}"
    text = f"{plain(entry.text, _TEXT)}\nTransaction {entry.transaction}".strip()
    return entry.time, f"{key.chain_id}:{entry.block}:{entry.log_index}", title, text, agent_path(key.id)


def _answer(request: Request, title: str, name: str, path: str, entries: Iterable[_Entry]) -> Response:
    """Respond with a feed. Titles and texts are plain text, so untrusted text never becomes markup."""
    # Links are relative to the feed, because a service behind a proxy may not know its own address.
    newest = sorted(entries, reverse=True)[:ENTRIES]
    feed = Element("feed", xmlns=_NAMESPACE)
    _add(feed, "id", f"urn:bilateral:{name}")
    _add(feed, "title", title)
    _add(feed, "updated", _time(newest[0][0] if newest else 0))
    _add(SubElement(feed, "author"), "name", "Bilateral")
    SubElement(feed, "link", rel="self", href=request.url.path)
    SubElement(feed, "link", rel="alternate", type="text/html", href=path)
    for time, place, entry_title, text, entry_path in newest:
        entry = SubElement(feed, "entry")
        _add(entry, "id", f"urn:bilateral:{name}:{place}")
        _add(entry, "title", entry_title)
        _add(entry, "updated", _time(time))
        SubElement(entry, "link", rel="alternate", type="text/html", href=entry_path)
        _add(entry, "content", text)
    return tagged(request, tostring(feed, encoding="utf-8", xml_declaration=True), MEDIA_TYPE)


def _add(parent: Element, name: str, text: str) -> None:
    """Add an element with text. Characters that XML cannot represent become U+FFFD."""
    SubElement(parent, name).text = _NOT_OF_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _time(unix: int) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
