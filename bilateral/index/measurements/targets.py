"""The endpoints that watchtowers probe, which are listed in registration files."""

import threading
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Connection, Engine, exists, func, select

from bilateral.core.errors import UnsupportedUriError
from bilateral.core.identifiers import AgentId
from bilateral.documents import RegistrationFile
from bilateral.documents.http import netloc_of
from bilateral.index.files.reading import MAX_HOST, Reader, ReadRows, read_content
from bilateral.index.files.tables import Kind, agent_file, file_content, registration_file, registration_service
from bilateral.index.log.dialects import insert_new
from bilateral.index.measurements.tables import LISTINGS, registration_alive, registration_endpoint
from bilateral.index.measurements.values import Protocol, Target
from bilateral.index.reading.registries import read_registries

MOST_ENDPOINTS: Final = 5
"""The maximum number of endpoints probed per registration file. A file may list any number, including other
people's."""

_SELLING: Final = frozenset({"api", "rest", "http", "https"})
"""The names of services that are probed as x402 sellers if the file says that the agent accepts x402 payments."""

_METHODS: Final = frozenset({"GET", "POST"})
"""The methods that a probe uses if a listing declares them. Others may have side effects."""

_PROTOCOLS: Final = {protocol.value: protocol for protocol in Protocol}
_AT_ONCE: Final = 100
"""Files per transaction. Each has up to a megabyte."""


def read_targets(connection: Connection, chain_ids: Iterable[int]) -> list[Target]:
    """Return the endpoints that agents on the given chains currently list, keyed by protocol and URL.

    Agents in a chain's other identity registries are omitted, because a short id does not identify them. If a file opts
    an endpoint out of probing, the endpoint is omitted for the file's agents.
    """
    listed, current, registries = registration_endpoint.c, agent_file.c, read_registries(connection)
    identities = [registries.identity_of(chain_id) for chain_id in registries.chains]
    query = (
        select(*current["chain_id", "agent_id"], *listed, registration_file.c.active)
        .select_from(LISTINGS)
        .where(current.chain_id.in_(list(chain_ids)), current.identity_registry.in_(identities), listed.is_probed)
        .order_by(listed.protocol, listed.url, current.chain_id, current.agent_id)
    )
    targets = []
    for (protocol, url), group in groupby(connection.execute(query), key=attrgetter("protocol", "url")):
        rows = list(group)
        agents = dict.fromkeys(str(AgentId(int(row.agent_id), row.chain_id)) for row in rows)
        is_paid, is_active = any(row.is_paid for row in rows), any(row.active is not False for row in rows)
        method = next((row.method for row in rows if row.method), None)
        targets.append(Target(Protocol(protocol), url, rows[0].host, tuple(agents), is_paid, method, is_active))
    return targets


def normalized(endpoint: str) -> tuple[str, str] | None:
    """Return an http or https URL's normalized form, and its host, with the port unless it is the scheme's default.

    None for other endpoints, for hosts too long for DNS, and for URLs with a user, which are published by accident.
    """
    try:
        parts, host = urlsplit(endpoint.strip()), netloc_of(endpoint.strip().lower())
    except (UnsupportedUriError, ValueError):
        return None
    url = parts._replace(netloc=host, path=parts.path or "/", fragment="").geturl()
    return None if "@" in parts.netloc or len(host) > MAX_HOST else (url, host)


class EndpointReader(Reader):
    """Stores the endpoints of registration files."""

    tables = (registration_endpoint, registration_alive)

    def read(self, content_hash: bytes, rows: ReadRows, file: RegistrationFile) -> ReadRows:
        """See `Reader.read`."""
        services, is_paid = file.all_services, bool(file.x402_support)
        protocols = _PROTOCOLS | (dict.fromkeys(_SELLING, Protocol.X402) if is_paid else {})
        endpoints: dict[bytes, dict[str, Any]] = {}
        for service in rows[registration_service]:
            protocol = protocols.get(service["name"].lower())
            place = None if protocol is None else normalized(service["endpoint"] or "")
            if protocol is None or place is None:
                continue
            extra: Mapping[str, Any] = services[service["position"]].model_extra or {}
            method, sells = str(extra.get("method")).upper(), is_paid or protocol is Protocol.X402
            target = Target(protocol, *place, is_paid=sells, method=method if method in _METHODS else None)
            row = {"content_hash": content_hash, "position": service["position"], **vars(target)}
            row |= {"endpoint_id": target.endpoint_id, "is_probed": extra.get("probe") is not False}
            endpoints.setdefault(target.endpoint_id, row)
        return {registration_endpoint: list(endpoints.values())[:MOST_ENDPOINTS]}

    def catch_up(self, engine: Engine, stop: threading.Event) -> int:
        """Read the files that were stored before this table existed."""
        content, service, listed = file_content.c, registration_service.c, registration_endpoint.c
        is_probeable = exists().where(
            service.content_hash == content.content_hash,
            func.lower(service.name).in_((*_PROTOCOLS, *_SELLING)),
            service.endpoint.ilike("http%"),
        )
        is_unread = ~exists().where(listed.content_hash == content.content_hash)
        query = select(content.content_hash, content.content).where(is_probeable, is_unread)
        last, count = b"", 0
        while not stop.is_set():
            with engine.begin() as connection:  # the lock makes the deletion of a content wait
                part = query.where(content.content_hash > last).order_by(content.content_hash).limit(_AT_ONCE)
                rows = [(bytes(key), bytes(data)) for key, data in connection.execute(part.with_for_update())]
                for content_hash, data in rows:
                    read = read_content(Kind.REGISTRATION, content_hash, data, [self])
                    insert_new(connection, registration_endpoint, read[registration_endpoint])
                    count += bool(read[registration_endpoint])
            if not rows:
                break
            last = rows[-1][0]
        return count
