"""Probes of MCP servers: first the stateless protocol, then the handshake of earlier versions. No tool is called."""

import json
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin, urlsplit

from bilateral.core import errors
from bilateral.core.text.encoding import decode_object
from bilateral.documents.exchanges import EVENT_STREAM, Answer, Event
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import MIB, Asker, digest, result, result_of_status

STATELESS: Final = "2026-07-28"
HANDSHAKE: Final = "2025-11-25"
"""The protocol versions to request. In the handshake, a server responds with the version that it supports."""

_Reply: TypeAlias = dict[str, Any]

_CLIENT: Final = {"name": "bilateral-watchtower", "version": "1"}
_OF_CLIENT: Final = {"protocolVersion": STATELESS, "clientInfo": _CLIENT, "clientCapabilities": {}}
_META: Final = {f"io.modelcontextprotocol/{name}": value for name, value in _OF_CLIENT.items()}

_ACCEPT: Final = f"application/json, {EVENT_STREAM}"
_INITIALIZED: Final = {"method": "notifications/initialized"}
_UNSUPPORTED_VERSION: Final = -32022
_METHOD_NOT_FOUND: Final = -32601

_MOST_PAGES: Final = 10
_TOOL_FIELDS: Final = ("name", "description", "inputSchema", "outputSchema")

_REFUSED: Final = 400
_NOT_ALLOWED: Final = 405
_STREAM: Final = "sse"
_VERSION: Final = re.compile(r"[-.0-9a-zA-Z]{1,20}")

_OF_ERA: Final = frozenset({Code.ERA, Code.NOT_PROTOCOL, Code.STATUS, Code.STATUS_404, Code.STATUS_5XX})
"""The codes that a server of a different era may cause, so that the other method is also tried."""

_SAME_METHOD: Final = frozenset({307, 308})
"""Redirects that repeat the method, such as those that frameworks send for a missing slash."""


@dataclass
class _Connection:
    """The messages to one server."""

    asker: Asker
    url: str
    version: str = STATELESS
    session: str | None = None

    def call(self, method: str, params: Mapping[str, Any], max_bytes: int = MIB) -> tuple[Answer, _Reply]:
        """Send a request, and read the response."""
        number = secrets.randbelow(2**31)
        if self.version == STATELESS:
            params = {**params, "_meta": _META}
        message = {"id": number, "method": method, "params": params}
        answer = self.post(message, lambda event: bool(_read_reply(number, event.data.encode())), max_bytes=max_bytes)
        return answer, _read_reply(number, answer.body if answer.status < _REFUSED else answer.content)

    def post(self, message: Mapping[str, Any], is_last: Callable[[Event], bool], **options: Any) -> Answer:
        """Send a message, and read the response up to an event."""
        headers = {"Content-Type": "application/json", **self._headers(message["method"])}
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        options |= {"headers": headers, "body": content, "is_last": is_last}
        answer = self.asker.ask("POST", self.url, **options)
        target = urljoin(self.url, answer.headers.get("location", ""))
        if answer.status in _SAME_METHOD and target != self.url and urlsplit(target)[:2] == urlsplit(self.url)[:2]:
            self.url = target
            answer = self.asker.ask("POST", target, **options)
        return answer

    def close(self) -> None:
        """End a session in an earlier version."""
        if self.session is not None:
            with suppress(errors.DocumentError):
                self.asker.ask("DELETE", self.url, headers=self._headers(None), is_cut=True)

    def _headers(self, method: str | None) -> dict[str, str]:
        version = None if method == "initialize" else self.version
        headers = {"Accept": _ACCEPT, "MCP-Protocol-Version": version, "Mcp-Session-Id": self.session}
        headers |= {"Mcp-Method": method if self.version == STATELESS else None}
        return {name: value for name, value in headers.items() if value is not None}


def probe_mcp(asker: Asker) -> Probe:
    """Query a server's identity and, if the probe is deep, its tools."""
    era = asker.previous.get("era")
    is_stream = urlsplit(asker.target.url).path.rstrip("/").endswith("/sse")
    if is_stream or era == _STREAM:
        return _probe_stream(asker, None if is_stream else Code.ERA)
    connection, failures = _Connection(asker, asker.target.url), list[Probe]()
    try:
        for version in (STATELESS, HANDSHAKE) if era in {None, STATELESS} else (HANDSHAKE, STATELESS):
            probe = _greet(connection, version)
            if probe.outcome is Outcome.UP:
                return _with_tools(connection, probe) if asker.is_deep else probe
            if probe.code not in _OF_ERA:
                return probe
            failures.append(probe)
    finally:
        connection.close()
    if failures[-1].status == _NOT_ALLOWED:
        stream = _probe_stream(asker, Code.ERA)
        return stream if stream.outcome is Outcome.DEGRADED else failures[-1]
    return next((failure for failure in failures if failure.code is Code.ERA), failures[-1])


def _greet(connection: _Connection, version: str) -> Probe:
    """Send a request in the stateless protocol, or begin a session in an earlier version."""
    connection.version = version
    if version == STATELESS:
        answer, reply = connection.call("server/discover", {})
        versions = reply.get("result", {}).get("supportedVersions")
        is_spoken = isinstance(versions, list) and bool(versions)
    else:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
        answer, reply = connection.call("initialize", params)
        version = reply.get("result", {}).get("protocolVersion")
        is_spoken = isinstance(version, str) and _VERSION.fullmatch(version) is not None
        connection.session = answer.headers.get("mcp-session-id") or None if is_spoken else None
    if is_spoken:
        connection.version = version
        return result(None, answer, era=version)
    failure = result_of_status(connection.asker, answer)
    if failure is not None and ("error" not in reply or failure.outcome is not Outcome.DOWN):
        return failure
    if reply.get("error") == _UNSUPPORTED_VERSION:
        return result(Code.ERA, answer)
    is_other_type = answer.content and answer.media_type not in {"application/json", EVENT_STREAM}
    return result(Code.WRONG_TYPE if is_other_type else Code.NOT_PROTOCOL, answer)


def _probe_stream(asker: Asker, code: Code | None) -> Probe:
    """Open the stream of a server with the first version, and read its first event."""
    headers = {"Accept": EVENT_STREAM}
    answer = asker.ask("GET", asker.target.url, headers=headers, is_last=lambda _: True, is_cut=True)
    if answer.event == "endpoint":
        return result(code, answer, era=_STREAM)
    return result_of_status(asker, answer) or result(Code.NOT_PROTOCOL, answer)


def _with_tools(connection: _Connection, probe: Probe) -> Probe:
    """Add the hash of the tools, and the fault of their list, if any."""
    code: Code | None = Code.ERA
    facts: dict[str, Any] = {}
    try:
        if connection.version == STATELESS or connection.post(_INITIALIZED, lambda _: True).status < _REFUSED:
            code, facts = _list_tools(connection)
    except errors.DocumentTooLargeError:
        code = Code.TOO_BIG
    except errors.DocumentError:
        return probe  # the server responded a moment ago; its tools remain unknown
    facts = {**probe.facts, "deep_code": code, **facts}
    return replace(probe, outcome=Outcome.DEGRADED if code else Outcome.UP, code=code or Code.OK, facts=facts)


def _list_tools(connection: _Connection) -> tuple[Code | None, dict[str, Any]]:
    """Return the fault of a list of tools, if any, and its hash, unless it cannot be compared."""
    tools, cursor, remaining = list[str](), dict[str, Any](), MIB
    for _ in range(_MOST_PAGES):
        answer, reply = connection.call("tools/list", cursor, remaining)
        page, following = (reply.get("result", {}).get(name) for name in ("tools", "nextCursor"))
        if not isinstance(page, list):
            return Code.EMPTY if reply.get("error") == _METHOD_NOT_FOUND else None, {}
        tools += [digest({name: tool.get(name) for name in _TOOL_FIELDS}) for tool in page if isinstance(tool, dict)]
        if not isinstance(following, str):
            return (None, {"tools": digest(sorted(tools))}) if tools else (Code.EMPTY, {})
        cursor, remaining = {"cursor": following}, remaining - len(answer.content)
    return Code.TOO_BIG, {}


def _read_reply(number: int, content: bytes) -> _Reply:
    """Return the result or the error code in a response; empty if it does not answer this request."""
    try:
        message = decode_object(content)
    except errors.MalformedDocumentError:
        return {}
    value, error, identifier = message.get("result"), message.get("error"), message.get("id")
    is_ours = type(identifier) is int and identifier == number
    if message.get("jsonrpc") != "2.0" or not (is_ours or identifier is None):
        return {}
    if is_ours and isinstance(value, dict):
        return {"result": value}
    code = error.get("code") if isinstance(error, dict) else None
    return {"error": code} if isinstance(code, int) else {}
