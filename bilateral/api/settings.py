"""Settings of the service."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from limits import parse

from bilateral.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from bilateral.x402.aggregator.settings import AggregatorSettings

PORT: Final = 8004


@dataclass(frozen=True)
class ApiSettings:
    """The settings of the service.

    Attributes:
        database: The SQLAlchemy URL of the index's database; None for the default one.
        host: The address at which it listens.
        port: The port at which it listens; 0 for any free one.
        workers: The number of its processes.
        query_seconds: The time limit of a query.
        connections: The largest number of queries at once, in each process.
        rate: The requests that an address may send, as `1200/minute`; None for no limit. Each process counts alone.
        trusted_proxies: The networks of proxies whose `X-Forwarded-For` is believed. Without them nobody's is.
        max_body: The largest body of a request, in bytes.
        max_url: The longest path with query, in bytes.
        max_headers: The largest sum of a request's headers, in bytes.
        max_lag: The blocks by which a chain may be behind its head while the service counts as ready.
        max_silence: The seconds since the index last looked at a chain, while the service counts as ready.
        aggregator: The aggregator's settings, or the path of their TOML file; None to switch it off.
    """

    database: str | None = None
    host: str = "127.0.0.1"
    port: int = PORT
    workers: int = 1
    query_seconds: float = 2.0
    connections: int = 8
    rate: str | None = "1200/minute"
    trusted_proxies: tuple[str, ...] = ()
    max_body: int = 1024 * 1024
    max_url: int = 8 * 1024
    max_headers: int = 16 * 1024
    max_lag: int = 20
    max_silence: int = 120
    aggregator: AggregatorSettings | str | None = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        for name in ("workers", "connections", "max_body", "max_url", "max_headers"):
            if getattr(self, name) < 1:
                raise InvalidArgumentError(f"{name} must be at least 1, and is {getattr(self, name)}")
        if not 0 < self.query_seconds <= 60:  # noqa: PLR2004  # a minute
            raise InvalidArgumentError(f"query_seconds {self.query_seconds:g} is out of range 0..60")
        if self.rate is not None:
            try:
                parse(self.rate)
            except ValueError:
                raise InvalidArgumentError(f"the rate {self.rate!r} is invalid: write it as 1200/minute") from None
        _ = self.proxy_networks

    @property
    def proxy_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of trusted proxies.

        Raises:
            InvalidArgumentError: One is not an address or a network.
        """
        found = []
        for text in self.trusted_proxies:
            try:
                found.append(ip_network(text))
            except ValueError:
                raise InvalidArgumentError(f"the proxy {text!r} is not an address or a network") from None
        return tuple(found)
