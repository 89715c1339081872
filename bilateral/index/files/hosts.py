"""The hosts of an agent's services, each with the file by which a domain names its agents (ERC-8004)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

from bilateral.core.errors import UnsupportedUriError
from bilateral.documents.http import host_of
from bilateral.index.files.tables import Kind

MOST_HOSTS: Final = 3
"""Hosts of one registration file whose files are fetched: a file must not send this program to hundreds of servers."""

_WELL_KNOWN: Final = "/.well-known/agent-registration.json"
_HTTPS_PORT: Final = 443  # the default port of `https` (RFC 9110, section 4.2.2)
_MAX_HOST: Final = 290  # a name of the DNS has 253; the column of 300 holds the port, too
_NAME: Final = re.compile("[a-z0-9._:-]+")
"""The characters of names in the DNS and of addresses. Answers to people and models show hosts."""

_NOT_HOST: Final = re.compile(r"[/?#@\\\s]")
"""The characters that begin another part of a URL than its host and port, or that none has."""


def file_id_of(kind: Kind, uri: str, expected_hash: bytes | None) -> bytes:
    """Return the id of a file: the same kind, URI and hash make the same id."""
    return sha256(b"\0".join((kind.encode(), expected_hash or b"", uri.encode()))).digest()


def well_known_uri(host: str) -> str:
    """Return the URI of the file by which a domain names its agents."""
    return f"https://{host}{_WELL_KNOWN}"


def domain_uri(domain: str) -> str | None:
    """Return the URI of the file by which an agent's August 2025 domain names its agents.

    Returns:
        The URI; None if the text is not the name of a host, such as one with a path.
    """
    host = None if _NOT_HOST.search(domain) else secure_host(f"https://{domain}")
    return None if host is None else well_known_uri(host)


def secure_host(uri: str) -> str | None:
    """Return the host of an https URI, with a port that is not 443; None for other URIs, and hosts of no URL."""
    if uri[:8].lower() != "https://":
        return None
    try:
        host, port = host_of(uri)
        name = f"[{host}]" if ":" in host else host  # IPv6
        name = name if port == _HTTPS_PORT else f"{name}:{port}"
        is_same = host_of(well_known_uri(name)) == (host, port)
    except UnsupportedUriError:
        return None
    return name if is_same and len(name) <= _MAX_HOST and _NAME.fullmatch(host) else None


def host_rows(key: Mapping[str, bytes], services: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the first hosts of an agent's services."""
    hosts = dict.fromkeys(secure_host(service["endpoint"] or "") for service in services)
    named = [host for host in hosts if host is not None][:MOST_HOSTS]
    return [
        {**key, "position": position, "host": host, "file_id": file_id_of(Kind.DOMAIN, well_known_uri(host), None)}
        for position, host in enumerate(named)
    ]
