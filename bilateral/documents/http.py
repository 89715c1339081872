"""HTTP requests for documents, with address checks, limits on redirects and size, and this package's exceptions.

A host is resolved once, its addresses are checked, and the connection uses a checked address. This protects against
hosts that resolve to a different address a moment later ("DNS rebinding") and against unusual notations of addresses
(`0x7f.1`).
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, Self, TypeAlias

import httpcore
import httpx

from bilateral.core import errors
from bilateral.core.http.connections import Cause, DeadlineBackend, HostUnreachableError, Resolver, resolve
from bilateral.core.http.waits import seconds_to_wait
from bilateral.core.text import quoted
from bilateral.core.values.arguments import checked_class
from bilateral.documents.addresses import is_public
from bilateral.documents.data_uri import unpacked

Host: TypeAlias = tuple[str, int]

_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65535  # TCP ports have 16 bits

_READ: Final = frozenset({200})
_WRITTEN: Final = frozenset({200, 201, 202, 204})

_ENCODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
_MAX_ENCODINGS: Final = 3  # per response: honest servers use one, and each may multiply the size

_UNCHANGED: Final = 304  # 304 Not Modified (RFC 9110, section 15.4.5)

_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,256}"')
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,64}")

_USERINFO = re.compile(r"^([^/?#]*//)[^/?#]*@")


@checked_class
@dataclass(frozen=True)
class Limits:
    """The limits for one document.

    Attributes:
        bytes: The maximum size of the document.
        seconds: The overall time limit, which covers name lookups, connections, redirects, IPFS blocks and content.
        redirects: The maximum number of redirects.
    """

    bytes: int = 1024 * 1024
    seconds: float = 10.0
    redirects: int = 3


@dataclass(frozen=True)
class Network:
    """Connection settings.

    Attributes:
        trusted: The hosts and ports that the program's user chose, which may have private addresses.
        allow_private: True if all hosts may have private addresses.
        ssl_context: The TLS context, which determines the trusted certificates; by default, those that the system
            trusts.
        resolver: Looks up a host's addresses.
        backend: Connects to an address.
    """

    trusted: frozenset[Host] = frozenset()
    allow_private: bool = False
    ssl_context: ssl.SSLContext | None = None
    resolver: Resolver = resolve
    backend: httpcore.NetworkBackend | None = None

    def trusting(self, *urls: str) -> Network:
        """Return a copy of these settings that also trusts the hosts in URLs that the program's user chose."""
        return replace(self, trusted=self.trusted | {host_of(url) for url in urls})


@dataclass(frozen=True)
class Validators:
    """The validators that identify a document's version on a server, for conditional requests (RFC 9110, section 13).

    Attributes:
        etag: The `ETag` header; None if there was none.
        last_modified: The `Last-Modified` header; None if there was none.
    """

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, headers: httpx.Headers) -> Self:
        """Read a response's validators. Malformed ones are dropped, because they would later be sent to the server."""
        etag, last_modified = headers.get("etag", ""), headers.get("last-modified", "")
        return cls(etag if _ETAG.fullmatch(etag) else None, last_modified if _DATE.fullmatch(last_modified) else None)

    def headers(self) -> dict[str, str]:
        """Return the headers of a conditional request."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value is not None}


UNKNOWN_VERSION: Final = Validators()
"""Empty validators, for a document that has never been loaded."""


_PLAIN_URL = re.compile(r"(?ai)(https?)://((?:[a-z0-9-]{1,63}\.){1,10}[a-z][a-z0-9-]{0,62})(?:/[\w./?=&%-]{0,2000})?")
"""A pattern for simple URLs: no user, no port, and an ASCII hostname. Any other URL takes a tenth of a millisecond to
parse."""


@lru_cache(maxsize=512)  # a file names few hosts, each several times; a URL of httpx has up to 64 KiB
def host_of(url: str) -> Host:
    """Return the host and port of an http or https URL."""
    if plain := _PLAIN_URL.fullmatch(url):
        return plain[2].lower(), _PORTS[plain[1].lower()]
    parsed = _parse(url)
    return parsed.raw_host.decode(), parsed.port or _PORTS[parsed.scheme]


def netloc_of(url: str) -> str:
    """Return the host of an http or https URL, with the port unless it is the scheme's default."""
    host, port = host_of(url)
    name = f"[{host}]" if ":" in host else host  # IPv6
    return name if port == _PORTS[url.partition(":")[0].lower()] else f"{name}:{port}"


def quoted_url(url: str) -> str:
    """Quote a URL for a message, without its user and password."""
    return quoted(_USERINFO.sub(r"\1", url))


def without_query(url: str) -> str:
    """Return a URL without its query and fragment."""
    return url.partition("#")[0].partition("?")[0]


class HttpSession:
    """Sends the requests for one document. All requests share one time limit.

    Args:
        limits: The limits for the document.
        network: The settings of connections.
        check: A function that raises an error for a request that must not be sent. It is called with each request.
    """

    def __init__(self, limits: Limits, network: Network, check: Callable[[httpx.Request], None] | None = None) -> None:
        self._limits = limits
        self._deadline = Deadline(limits.seconds)
        self._client = httpx.Client(
            transport=_GuardedTransport(self._deadline, network, check),
            trust_env=False,  # a proxy would resolve names itself, bypassing the checks
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
        """Get a resource, following redirects. Return the resource (None if unchanged) and its current validators."""
        with self.open("GET", url, headers={**(headers or {}), **cached.headers()}) as response:
            if response.status_code == _UNCHANGED and cached != UNKNOWN_VERSION:
                return None, cached
            return self._content(url, response, limit), Validators.of(response.headers)

    @contextmanager
    def open(self, method: str, url: str, **options: Any) -> Iterator[httpx.Response]:
        """Send a request, and yield the response before its body is read. Redirects are followed for GET."""
        redirects = self._limits.redirects if method == "GET" else 0
        with _document_errors(url, self._deadline):
            request = self._request(method, url, **options)
            for _ in range(1 + redirects):
                with closing(self._client.send(request, stream=True)) as response:
                    if response.next_request is None or not redirects:
                        yield response
                        return
                # `httpx` can follow redirects, but would first read and decompress the whole body of the redirect.
                _check_redirect(url, request.url, response.next_request.url)
                request = response.next_request
                request.headers.pop("Cookie", None)  # which `httpx` copies from the redirect
            raise errors.TooManyRedirectsError(f"{quoted_url(url)} redirects more than {redirects} times")

    @property
    def first_byte_seconds(self) -> float:
        """The number of seconds from the start of the session to the headers of the last response."""
        return self._deadline.answered_at - self._deadline.began_at

    def send(self, method: str, url: str, *, limit: int | None = None, **options: Any) -> bytes:
        """Send one request to a URL that the program's user chose; return the response. Redirects are not followed."""
        visible = without_query(url)
        with (
            _document_errors(visible, self._deadline),
            closing(self._client.send(self._request(method, url, **options), stream=True)) as response,
        ):
            return self._content(visible, response, limit, _WRITTEN)

    def _request(self, method: str, url: str, **options: Any) -> httpx.Request:
        """Build a request. `httpx` logs its URL, so the user and password are moved to a header."""
        parsed = _parse(url)
        # The query of a presigned URL is a secret: httpcore sends it, httpx does not log it.
        is_secret = method == "PUT"
        extensions = {"trace": self._deadline.trace} | ({"target": parsed.raw_path} if is_secret else {})
        visible = parsed.copy_with(userinfo=b"", query=None) if is_secret else parsed.copy_with(userinfo=b"")
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
"""The minimum timeout to set on a socket: a timeout of 0 would make the socket non-blocking."""


_PHASES: Final[Mapping[str, errors.Phase]] = {
    "connection.connect_tcp.started": "resolve",
    "connection.start_tls.started": "tls",
    "http11.send_request_headers.started": "first_byte",
    "http11.receive_response_headers.complete": "body",
}
"""The phase of a request that begins with each httpcore event. `connect` begins once the addresses are resolved."""


class Deadline:
    """The deadline for one document, and the current phase, which is reported if the deadline passes."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.began_at = self.answered_at = time.monotonic()
        self.phase: errors.Phase = "resolve"

    def remaining(self, at_most: float | None = None, /) -> float:
        """Return the seconds that remain."""
        left = self.began_at + self._seconds - time.monotonic()
        if left <= 0:
            raise self.error()
        return max(_MIN_SECONDS, left if at_most is None else min(left, at_most))

    def error(self) -> errors.DocumentTimeoutError:
        """Return the error for a document that did not arrive in time."""
        if self.phase == "resolve":
            return errors.ResolverTimeoutError(self._seconds)
        return errors.DocumentTimeoutError(self._seconds, self.phase)

    def trace(self, event: str, _: object) -> None:
        """Update the current phase on an httpcore event."""
        self.phase = _PHASES.get(event, self.phase)
        if event == "http11.receive_response_headers.complete":
            self.answered_at = time.monotonic()


class _GuardedBackend(DeadlineBackend):
    """Creates connections until a deadline. Unless the user trusts the host, only public addresses are allowed."""

    def __init__(self, deadline: Deadline, network: Network) -> None:
        super().__init__(deadline.remaining, resolver=network.resolver, inner=network.backend)
        self._deadline, self._network = deadline, network

    def check_addresses(self, host: str, port: int, addresses: list[str]) -> None:
        """Check that all addresses of a host are public."""
        self._deadline.phase = "connect"
        if self._network.allow_private or (host, port) in self._network.trusted:
            return
        for address in addresses:
            if not is_public(address):
                raise errors.ForbiddenAddressError(host, address)


_usual_context = cache(ssl.create_default_context)
"""The shared TLS context: reading the system's certificates takes longer than loading most files."""


class _GuardedTransport(httpx.HTTPTransport):
    """An `httpx` transport whose connections are guarded: they check addresses and have a deadline."""

    def __init__(
        self, deadline: Deadline, network: Network, check: Callable[[httpx.Request], None] | None
    ) -> None:  # the base class has no attribute except the pool
        context, backend = network.ssl_context or _usual_context(), _GuardedBackend(deadline, network)
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=backend)
        self._check = check

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self._check is not None:
            self._check(request)
        return super().handle_request(request)


@contextmanager
def _document_errors(url: str, deadline: Deadline) -> Iterator[None]:
    try:
        yield
    except errors.DocumentError:
        raise
    except httpx.TimeoutException:
        raise deadline.error() from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise errors.UnsupportedUriError(f"{quoted_url(url)} leads to a malformed URL: {quoted(str(error))}") from None
    except httpx.LocalProtocolError:  # its message quotes the header
        raise errors.UnreachableDocumentError(
            f"{quoted_url(url)} cannot be requested: the request is malformed, perhaps due to a line break in a header"
        ) from None
    except (httpx.HTTPError, OSError) as error:
        raise _unreachable(url, error, deadline.phase) from None


_OF_HOST: Final[Mapping[Cause, type[errors.UnreachableDocumentError]]] = {
    "no_name": errors.HostNotFoundError,
    "resolver": errors.ResolverError,
    "no_route": errors.OwnNetworkError,
    "refused": errors.ConnectionRefusedDocumentError,
}

_OF_CERTIFICATE: Final = {
    **dict.fromkeys((2, 19, 20, 21), errors.UnknownAuthorityError),
    **dict.fromkeys((9, 10), errors.ExpiredCertificateError),
    18: errors.SelfSignedCertificateError,
    **dict.fromkeys((62, 64), errors.CertificateNameError),
}
"""The certificate errors, by OpenSSL verification code (x509_vfy.h). The `ssl` module has no names for these codes."""

_HEADERS_TOO_LARGE: Final = 431  # the status in h11's error for headers above 100 KiB


def _unreachable(url: str, error: Exception, phase: errors.Phase) -> errors.UnreachableDocumentError:
    """Return the error for a document that cannot be read."""
    cause = error.__cause__
    if isinstance(cause, HostUnreachableError):
        return _OF_HOST[cause.cause](str(cause))
    reason = cause.args[0] if cause is not None and cause.args else None  # httpcore's pool cuts the chain of causes
    kind: type[errors.UnreachableDocumentError] = errors.BrokenAnswerError
    if phase == "tls":
        kind = _OF_CERTIFICATE.get(getattr(reason, "verify_code", 0), errors.TlsError)
    elif getattr(reason, "error_status_hint", 0) == _HEADERS_TOO_LARGE:
        kind = errors.HeadersTooLargeError
    return kind(f"{quoted_url(url)} cannot be read: {quoted(str(error))}")


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
        if _is_loadable(parsed):
            return parsed
    except (httpx.InvalidURL, UnicodeError):
        pass
    # It is unclear where a password ends here, and the message from `httpx` may quote part of it.
    raise errors.UnsupportedUriError(f"{quoted(url.rpartition('@')[2])} is not an http or https URL")


def _is_loadable(url: httpx.URL) -> bool:
    return url.scheme in _PORTS and bool(url.host) and (url.port is None or 0 < url.port <= _MAX_PORT)


def _decoded(content: bytes, encodings: str, limit: int) -> bytes:
    """Decode a body even if its content encoding was not requested. Unknown and invalid encodings are ignored."""
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
