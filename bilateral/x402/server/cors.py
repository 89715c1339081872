"""The CORS policy, which decides which web pages may read answers from paid routes."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

REQUEST_HEADERS: Final = ("access-control-expose-headers", "content-type", "payment-signature")
"""The request headers of a paid call. The first is a response header, but `@x402/fetch` sends it anyway."""

RESPONSE_HEADERS: Final = b"payment-required, payment-response"
"""The response headers that a paying page reads. The second header contains the answer's proof."""


@dataclass(frozen=True)
class CorsPolicy:
    """The web pages that may call routes that declare the extension. Requests from these pages never include cookies.

    An answer may have its own `Access-Control-Expose-Headers`, which browsers combine with the header from this policy.

    Attributes:
        origins: The origins of the pages, such as `https://shop.example`. `*` allows every page; an empty collection
            allows none.
        request_headers: Request headers that pages may set in addition to `Content-Type` and x402's own.
    """

    origins: Collection[str] = ("*",)
    request_headers: Collection[str] = ()

    def headers(self, origin: str, names: Collection[str] = ()) -> list[tuple[bytes, bytes]]:
        """Return the headers that allow a page to read an answer.

        Args:
            origin: The page's origin; empty if the request is not from a page.
            names: The lower-case names of the answer's own headers. If the application's answer already allows an
                origin, that origin is preserved.
        """
        is_open = "*" in self.origins
        headers = [] if is_open else [(b"vary", b"origin")]  # also without an origin, for caches
        if origin and (is_open or origin in self.origins):
            if "access-control-allow-origin" not in names:
                headers.append((b"access-control-allow-origin", b"*" if is_open else origin.encode()))
            headers.append((b"access-control-expose-headers", RESPONSE_HEADERS))
        return headers

    def preflight(self, origin: str, method: str) -> list[tuple[bytes, bytes]]:
        """Return the headers that allow a page to call a route with the given method, and to cache this permission."""
        allowed = ", ".join((*REQUEST_HEADERS, *self.request_headers)).encode()
        fixed = ((b"access-control-allow-methods", method.encode()), (b"access-control-max-age", b"600"))
        return [*self.headers(origin), *fixed, (b"access-control-allow-headers", allowed)]


EVERY_PAGE: Final = CorsPolicy()
"""The policy that allows every page. Payments need no cookies, so pages can get nothing that other clients cannot."""
