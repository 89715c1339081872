"""HTTP for documents: guarded connections, few redirects, a size limit, and errors of this package.

A host is resolved once, its addresses are checked, and the connection uses a checked address. A name that resolves
differently a moment later ("DNS rebinding") gains nothing, and nor does another form of an address (`0x7f.1`).
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final, Self, TypeAlias

import httpcore
import httpx

from bilateral.core import errors
from bilateral.core.http.connections import DeadlineBackend, HostUnreachableError, Resolver, resolve
from bilateral.core.http.waits import seconds_to_wait
from bilateral.core.text import quoted
from bilateral.core.values.arguments import checked_class
from bilateral.documents.data_uri import unpacked

Host: TypeAlias = tuple[str, int]

_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65535  # a port of TCP has 16 bits

_READ: Final = frozenset({200})
_WRITTEN: Final = frozenset({200, 201, 202, 204})

_ENCODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
_MAX_ENCODINGS: Final = 3  # of one answer: honest servers use one, and each may multiply the bytes

_UNCHANGED: Final = 304  # 304 Not Modified (RFC 9110, section 15.4.5)

_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,256}"')
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,64}")

_USERINFO = re.compile(r"^([^/?#]*//)[^/?#]*@")


@checked_class
@dataclass(frozen=True)
class Limits:
    """The limits for one document.

    Attributes:
        bytes: The largest size of the document.
        seconds: The longest time for everything: names, connections, redirects, blocks and content.
        redirects: The largest number of redirects.
    """

    bytes: int = 1024 * 1024
    seconds: float = 10.0
    redirects: int = 3


@dataclass(frozen=True)
class Network:
    """The settings of connections.

    Attributes:
        trusted: Hosts with ports that the program's user names. They may have private addresses.
        allow_private: True if all hosts may have private addresses.
        ssl_context: Decides which certificates are trusted; the system's choice when left out.
        resolver: Looks up a host's addresses.
        backend: Connects to an address.
    """

    trusted: frozenset[Host] = frozenset()
    allow_private: bool = False
    ssl_context: ssl.SSLContext | None = None
    resolver: Resolver = resolve
    backend: httpcore.NetworkBackend | None = None

    def trusting(self, *urls: str) -> Network:
        """Return these settings for the hosts of URLs that the program's user names."""
        return replace(self, trusted=self.trusted | {host_of(url) for url in urls})


@dataclass(frozen=True)
class Validators:
    """The marks of a server's version of a document, by which a later request asks for changes only (RFC 9110, 13).

    Attributes:
        etag: The header `ETag`; None without one.
        last_modified: The header `Last-Modified`; None without one.
    """

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, headers: httpx.Headers) -> Self:
        """Take the marks of an answer. Malformed ones are left out: they will be sent back."""
        etag, last_modified = headers.get("etag", ""), headers.get("last-modified", "")
        return cls(etag if _ETAG.fullmatch(etag) else None, last_modified if _DATE.fullmatch(last_modified) else None)

    def headers(self) -> dict[str, str]:
        """Return the headers of a request for changes only."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value is not None}


UNKNOWN_VERSION: Final = Validators()
"""The marks of a document that was never loaded."""


def host_of(url: str) -> Host:
    """Return the host and port of an http or https URL."""
    parsed = _parse(url)
    return parsed.raw_host.decode(), parsed.port or _PORTS[parsed.scheme]


def quoted_url(url: str) -> str:
    """Quote a URL for a message, without a user and password."""
    return quoted(_USERINFO.sub(r"\1", url))


def without_query(url: str) -> str:
    """Return a URL without its query and fragment."""
    return url.partition("#")[0].partition("?")[0]


class HttpSession:
    """Requests for one document, which share its time.

    Args:
        limits: The limits for the document.
        network: The settings of connections.
    """

    def __init__(self, limits: Limits, network: Network) -> None:
        self._limits = limits
        self._deadline = Deadline(limits.seconds)
        self._client = httpx.Client(
            transport=_GuardedTransport(self._deadline, network),
            trust_env=False,  # a proxy would resolve names behind the guard's back; `transport` excludes one too
            timeout=None,  # noqa: S113  # the deadline bounds every operation
            headers={"Accept-Encoding": "identity", "User-Agent": "bilateral"},
        )

    def __enter__(self) -> HttpSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, url: str, *, limit: int | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Get a resource, following redirects."""
        return self.get_changes(url, UNKNOWN_VERSION, limit=limit, headers=headers)[0] or b""

    def get_changes(
        self, url: str, cached: Validators, *, limit: int | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes | None, Validators]:
        """Get a resource, following redirects: None if it did not change, and the marks of its version."""
        with _document_errors(url, self._limits):
            request = self._request("GET", url, headers={**(headers or {}), **cached.headers()})
            for _ in range(1 + self._limits.redirects):
                with closing(self._client.send(request, stream=True)) as response:
                    if response.status_code == _UNCHANGED and cached != UNKNOWN_VERSION:
                        return None, cached
                    if response.next_request is None:
                        return self._content(url, response, limit), Validators.of(response.headers)
                # `httpx` would follow by itself, but read and unpack the whole body of the redirect before it does.
                _check_redirect(url, request.url, response.next_request.url)
                request = response.next_request
            raise errors.TooManyRedirectsError(f"{quoted_url(url)} redirects more than {self._limits.redirects} times")

    def ask(self, url: str, method: str, content: bytes) -> tuple[int, httpx.Headers]:
        """Send one request, follow no redirect, and return status and headers. The body of the answer is not read."""
        request = self._request(method, url, content=content)
        with _document_errors(url, self._limits), closing(self._client.send(request, stream=True)) as response:
            return response.status_code, response.headers

    def send(self, method: str, url: str, *, limit: int | None = None, **options: Any) -> bytes:
        """Send a request to a URL of the program's user once, follow no redirect, and return the answer."""
        visible = without_query(url)
        with (
            _document_errors(visible, self._limits),
            closing(self._client.send(self._request(method, url, **options), stream=True)) as response,
        ):
            return self._content(visible, response, limit, _WRITTEN)

    def _request(self, method: str, url: str, **options: Any) -> httpx.Request:
        """Build a request. `httpx` logs its URL, so the user and password go into a header."""
        parsed = _parse(url)
        # The query of a presigned URL is a secret: httpcore sends it, httpx does not log it.
        extensions = {"target": parsed.raw_path} if method == "PUT" else {}
        visible = parsed.copy_with(userinfo=b"", query=None) if extensions else parsed.copy_with(userinfo=b"")
        request = self._client.build_request(method, visible, extensions=extensions, **options)
        if parsed.userinfo:
            request = next(httpx.BasicAuth(parsed.username, parsed.password).auth_flow(request))
        return request

    def _content(
        self, url: str, response: httpx.Response, limit: int | None, accepted: frozenset[int] = _READ
    ) -> bytes:
        limit = self._limits.bytes if limit is None else limit
        if response.status_code not in accepted:
            wait_seconds = seconds_to_wait(response.headers.get("retry-after", ""))
            raise errors.RefusedDocumentError(quoted_url(url), response.status_code, wait_seconds)
        content = bytearray()
        for chunk in response.iter_raw():
            content += chunk
            if len(content) > limit:
                raise errors.DocumentTooLargeError(limit)
        return _decoded(bytes(content), response.headers.get("content-encoding", ""), limit)


_MIN_SECONDS: Final = 0.001
"""The least timeout to give to a socket, for which 0 means that it shall not block."""


class Deadline:
    """The end of the time for one document."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self, at_most: float | None = None, /) -> float:
        """Return the seconds that remain."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise errors.DocumentTimeoutError(self._seconds)
        return max(_MIN_SECONDS, left if at_most is None else min(left, at_most))


_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
# Special by IANA's registries, but not to every release of Python.
_PROTOCOL_ASSIGNMENTS: Final = IPv4Network("192.0.0.0/24")
_DOCUMENTATION: Final = IPv6Network("3fff::/20")
_NAT64: Final = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public Internet. No other may be reached through a stranger's URI."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast and ip not in _PROTOCOL_ASSIGNMENTS
    if ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    if ip in _NAT64:
        return is_public(str(IPv4Address(int(ip) & 0xFFFFFFFF)))
    is_unicast = ip in _GLOBAL_UNICAST and ip not in _DOCUMENTATION
    return is_unicast and ip.is_global and all(map(is_public, _embedded(ip)))


def _embedded(ip: IPv6Address) -> list[str]:
    return [str(inner) for inner in (ip.sixtofour, *(ip.teredo or ())) if inner is not None]


class _GuardedBackend(DeadlineBackend):
    """Makes connections until a deadline, to public addresses only unless the user trusts the host."""

    def __init__(self, deadline: Deadline, network: Network) -> None:
        super().__init__(deadline.remaining, resolver=network.resolver, inner=network.backend)
        self._network = network

    def check_addresses(self, host: str, port: int, addresses: list[str]) -> None:
        """Check that all addresses of a host are public."""
        if self._network.allow_private or (host, port) in self._network.trusted:
            return
        for address in addresses:
            if not is_public(address):
                raise errors.ForbiddenAddressError(host, address)


_usual_context = cache(ssl.create_default_context)
"""Returns the context of all connections: to read the system's certificates takes longer than most files to load."""


class _GuardedTransport(httpx.HTTPTransport):
    """The transport by which `httpx` uses guarded connections."""

    def __init__(self, deadline: Deadline, network: Network) -> None:  # the pool is all that the base class has
        context, backend = network.ssl_context or _usual_context(), _GuardedBackend(deadline, network)
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=backend)


@contextmanager
def _document_errors(url: str, limits: Limits) -> Iterator[None]:
    try:
        yield
    except errors.DocumentError:
        raise
    except httpx.TimeoutException:
        raise errors.DocumentTimeoutError(limits.seconds) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise errors.UnsupportedUriError(f"{quoted_url(url)} leads to a malformed URL: {quoted(str(error))}") from None
    except httpx.LocalProtocolError:  # which quotes the header
        raise errors.UnreachableDocumentError(
            f"{quoted_url(url)} cannot be asked: the request is malformed, such as by a line break in a header"
        ) from None
    except (httpx.HTTPError, OSError) as error:
        if isinstance(error.__cause__, HostUnreachableError):
            raise errors.UnreachableDocumentError(str(error)) from None
        raise errors.UnreachableDocumentError(f"{quoted_url(url)} cannot be read: {quoted(str(error))}") from None


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
        if _is_loadable(parsed):
            return parsed
    except (httpx.InvalidURL, UnicodeError):
        pass
    # The end of a password is unknown here, and the message of `httpx` may quote a part of it.
    raise errors.UnsupportedUriError(f"{quoted(url.rpartition('@')[2])} is not an http or https URL")


def _is_loadable(url: httpx.URL) -> bool:
    has_port = url.port is None or 0 < url.port <= _MAX_PORT
    return url.scheme in _PORTS and bool(url.host) and has_port


def _decoded(content: bytes, encodings: str, limit: int) -> bytes:
    """Remove the encodings that a server used unasked. An unknown one, or one that the content belies, is ignored."""
    for encoding in reversed(encodings.lower().split(",")[:_MAX_ENCODINGS]):
        if encoding.strip() in _ENCODINGS:
            result = unpacked(content, limit)
            content = content if result is None else result
    return content


def _check_redirect(url: str, source: httpx.URL, target: httpx.URL) -> None:
    if not _is_loadable(target):
        raise errors.UnsupportedUriError(
            f"{quoted_url(url)} redirects to {quoted_url(str(target))}, which is not an http or https URL"
        )
    if source.scheme == "https" and target.scheme != "https":
        raise errors.TooManyRedirectsError(f"{quoted_url(url)} redirects from https to http")
