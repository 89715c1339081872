"""HTTP for documents: guarded connections, few redirects, a size limit, and errors that say what happened."""

from __future__ import annotations

import re
import ssl
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpcore
import httpx

from bilateral.arguments import checked_class
from bilateral.documents.network import Deadline, GuardedBackend, Host, Resolver, resolve
from bilateral.errors import (
    DocumentError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    TooManyRedirectsError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65535

_USERINFO = re.compile(r"^([^/?#]*//)[^/?#]*@")


@checked_class
@dataclass(frozen=True)
class Limits:
    """What loading one document may cost.

    Attributes:
        bytes: The size of the document.
        seconds: The time for everything: names, connections, redirects, blocks and content.
        redirects: The number of redirects.
    """

    bytes: int = 1024 * 1024
    seconds: float = 10.0
    redirects: int = 3


@dataclass(frozen=True)
class Network:
    """How connections are made.

    Attributes:
        trusted: Hosts with ports that may have private addresses, because the program's user named them.
        allow_private: Whether all hosts may have private addresses.
        ssl_context: Decides which certificates are trusted; the system's choice when left out.
        resolver: Looks up a host's addresses.
        backend: Connects to an address.
    """

    trusted: frozenset[Host] = frozenset()
    allow_private: bool = False
    ssl_context: ssl.SSLContext | None = None
    resolver: Resolver = resolve
    backend: httpcore.NetworkBackend | None = None


def host_of(url: str) -> Host:
    """The host and port of an http or https URL.

    Raises:
        UnsupportedUriError: It is none.
    """
    parsed = _parse(url)
    return parsed.raw_host.decode(), parsed.port or _PORTS[parsed.scheme]


def quoted_url(url: str) -> str:
    """Quote a URL within a message, without the name and password that may stand before its host."""
    return quoted(_USERINFO.sub(r"\1", url))


class HttpSession:
    """Requests that belong to the loading or storing of one document, and share its time.

    Args:
        limits: What it may cost.
        network: How connections are made.
    """

    def __init__(self, limits: Limits, network: Network) -> None:
        """See the class."""
        self._limits = limits
        self._deadline = Deadline(limits.seconds)
        self._client = httpx.Client(
            transport=_GuardedTransport(self._deadline, network),
            trust_env=False,  # a proxy would resolve names behind the guard's back; `transport` excludes one too
            timeout=None,  # noqa: S113  # the deadline bounds every operation
            headers={"Accept-Encoding": "identity", "User-Agent": "bilateral"},
        )

    def __enter__(self) -> HttpSession:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self._client.close()

    def get(self, url: str, *, limit: int | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Get a resource, following redirects.

        Args:
            url: An http or https URL.
            limit: Its size at most, the document's limit when left out.
            headers: Headers to send.

        Raises:
            DocumentError: Any of the errors that `Loader.load` lists for http and https.
        """
        with _named_errors(url, self._limits):
            request = self._request("GET", url, headers=headers)
            for _ in range(1 + self._limits.redirects):
                with closing(self._client.send(request, stream=True)) as response:
                    if response.next_request is None:
                        return self._content(url, response, limit)
                # `httpx` would follow by itself, but read and unpack the whole body of the redirect before it does.
                _check_redirect(url, request.url, response.next_request.url)
                request = response.next_request
            raise TooManyRedirectsError(f"{quoted_url(url)} redirects more than {self._limits.redirects} times")

    def post(self, url: str, *, limit: int | None = None, **request: Any) -> bytes:
        """Post to a URL of the program's user, following no redirect.

        Args:
            url: An http or https URL.
            limit: The size of the answer at most, the document's limit when left out.
            **request: What `httpx` takes: `params`, `files`, `headers`.

        Raises:
            DocumentError: As `get`.
        """
        with (
            _named_errors(url, self._limits),
            closing(self._client.send(self._request("POST", url, **request), stream=True)) as response,
        ):
            return self._content(url, response, limit)

    def _request(self, method: str, url: str, **options: Any) -> httpx.Request:
        """Build a request, with what the URL says before its host in a header: `httpx` logs the URLs of requests."""
        parsed = _parse(url)
        request = self._client.build_request(method, parsed.copy_with(userinfo=b""), **options)
        if parsed.userinfo:
            request = next(httpx.BasicAuth(parsed.username, parsed.password).auth_flow(request))
        return request

    def _content(self, url: str, response: httpx.Response, limit: int | None) -> bytes:
        """Read what a URL answers, up to the limit."""
        limit = self._limits.bytes if limit is None else limit
        if response.status_code != httpx.codes.OK:
            raise UnreachableDocumentError(f"{quoted_url(url)} answers with status {response.status_code}")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise UnreachableDocumentError(f"{quoted_url(url)} answers in an encoding that was not asked for")
        content = bytearray()
        for chunk in response.iter_raw():
            content += chunk
            if len(content) > limit:
                raise DocumentTooLargeError(limit)
        return bytes(content)


class _GuardedTransport(httpx.BaseTransport):
    """Joins `httpx`, which knows redirects and URLs, to connections that are guarded."""

    def __init__(self, deadline: Deadline, network: Network) -> None:
        """Make a pool of guarded connections."""
        self._pool = httpcore.ConnectionPool(
            ssl_context=network.ssl_context or ssl.create_default_context(),
            network_backend=GuardedBackend(
                deadline,
                trusted=network.trusted,
                allow_private=network.allow_private,
                resolver=network.resolver,
                inner=network.backend,
            ),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request."""
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        response = self._pool.handle_request(
            httpcore.Request(
                request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
            )
        )
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response), extensions=response.extensions
        )

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    """The body of an answer, as `httpx` reads it."""

    def __init__(self, response: httpcore.Response) -> None:
        """Wrap an answer."""
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """The parts of the body, as they come."""
        yield from self._response.iter_stream()

    def close(self) -> None:
        """Stop reading."""
        self._response.close()


@contextmanager
def _named_errors(url: str, limits: Limits) -> Iterator[None]:
    """Turn what the HTTP libraries raise into this package's errors."""
    try:
        yield
    except DocumentError:
        raise
    except httpcore.TimeoutException:
        raise DocumentTimeoutError(limits.seconds) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise UnsupportedUriError(
            f"{quoted_url(url)} leads to a URL that is not loaded: {quoted(str(error))}"
        ) from None
    except httpcore.LocalProtocolError:  # which quotes the header
        raise UnreachableDocumentError(
            f"{quoted_url(url)} cannot be asked: the request is malformed, such as by a line break in a header"
        ) from None
    except (
        httpx.HTTPError,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
        OSError,
    ) as error:
        raise UnreachableDocumentError(f"{quoted_url(url)} cannot be read: {quoted(str(error))}") from None


def _parse(url: str) -> httpx.URL:
    """Parse an http or https URL that names a host."""
    try:
        parsed = httpx.URL(url)
        if _is_loadable(parsed):
            return parsed
    except (httpx.InvalidURL, UnicodeError):
        pass
    # Where a password ends is not known here, and what `httpx` says may quote a part of it.
    raise UnsupportedUriError(f"{quoted(url.rpartition('@')[2])} is not an http or https URL")


def _is_loadable(url: httpx.URL) -> bool:
    """Whether a URL is of http or https, names a host and, if it names a port, one that there is.

    Raises:
        UnicodeError: The host is said to be encoded by IDNA, and is not.
    """
    has_port = url.port is None or 0 < url.port <= _MAX_PORT
    return url.scheme in _PORTS and bool(url.host) and has_port


def _check_redirect(url: str, source: httpx.URL, target: httpx.URL) -> None:
    """Refuse a redirect, on the way from a URL, to what is not loaded or no longer secure."""
    if not _is_loadable(target):
        raise UnsupportedUriError(
            f"{quoted_url(url)} redirects to {quoted_url(str(target))}, which is not an http or https URL"
        )
    if source.scheme == "https" and target.scheme != "https":
        raise TooManyRedirectsError(f"{quoted_url(url)} redirects from https to http")
