"""The service's settings."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Final

from limits import parse
from pydantic import TypeAdapter, ValidationError

from bilateral.buyers.policies import BuyerSettings
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.index.operating.settings import databases_of, require_replicas

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network
    from pathlib import Path

    from bilateral.x402.aggregator.settings import AggregatorSettings

PORT: Final = 8004  # the number of the ERC

_ORIGIN: Final = re.compile(r"https?://([a-zA-Z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?/?")

_MAPPED_PREFIX: Final = 96
"""The prefix length of IPv4-mapped IPv6 addresses (`::ffff:0:0/96`)."""


@dataclass(frozen=True)
class ApiSettings:
    """The service's settings.

    Attributes:
        database: The SQLAlchemy URL of the index's database; None for the default database.
        readers: The URLs of the database's replicas, from which the service reads while they respond.
        max_delay: How many seconds a replica may lag before the service reads from another server.
        host: The address on which the service listens.
        port: The port on which the service listens; 0 for any free port.
        workers: The number of processes.
        query_seconds: The time limit for a query, in seconds.
        connections: The maximum number of concurrent queries in each process.
        rate: The rate at which an address may send requests, such as `1200/minute`; None for no limit. Each process
            counts separately.
        trusted_proxies: The networks of the proxies whose `X-Forwarded-For`, `X-Forwarded-Proto` and `Host` headers are
            trusted; none by default.
        public_url: The address at which visitors reach the service, such as `https://explorer.example`. All absolute
            links use it. If it is None, the address is taken from requests that come through a trusted proxy or are
            addressed to this machine directly; in responses to other requests, absolute links are omitted.
        max_body: The maximum size of a request's body, in bytes.
        max_url: The maximum length of a path with its query, in bytes.
        max_headers: The maximum total size of a request's headers, in bytes.
        max_lag: The maximum number of blocks by which the index of a chain may lag behind the chain's head for the
            service to count as ready.
        max_silence: The maximum number of seconds since the index last polled a chain for the service to count as
            ready.
        needs_analysis: True if the service counts as ready only while all chains have current standings.
        aggregator: The aggregator's settings, or the path of a TOML file with them; None to disable the aggregator.
        buyers: The settings of the buyer service.
        nodes: The URL of a node for each chain, keyed by the chain's id in decimal digits. The node simulates visitors'
            actions. On a chain without a node, visitors can only read. If the service also follows chains, the nodes of
            those chains are added.
        store: The folder for registration files that the service stores for visitors; None to store no files.
        store_url: The public URL of the stored registration files, such as `https://explorer.example/files`. The
            service publishes them at `/files`, and the URL is recorded on chain permanently.
        allow_private: True to let `check_service` access services and files on private addresses. Enable this only for
            tests and closed networks, because anyone can pass a URL.
        docs: The folder with documentation archives (`bilateral-docs-<version>.zip` from a release); None to show no
            documentation.
    """

    database: str | None = None
    readers: tuple[str, ...] = ()
    max_delay: float = 60.0
    host: str = "127.0.0.1"
    port: int = PORT
    workers: int = 1
    query_seconds: float = 1.8
    connections: int = 8
    rate: str | None = "1200/minute"
    trusted_proxies: tuple[str, ...] = ()
    public_url: str | None = None
    max_body: int = 1024 * 1024
    max_url: int = 8 * 1024
    max_headers: int = 16 * 1024
    max_lag: int = 20
    max_silence: int = 120
    needs_analysis: bool = True
    aggregator: AggregatorSettings | str | None = None
    buyers: BuyerSettings = field(default_factory=BuyerSettings)
    nodes: dict[str, str] = field(default_factory=dict)
    store: str | None = None
    store_url: str | None = None
    allow_private: bool = False
    docs: str | None = None

    def __post_init__(self) -> None:
        """Reject settings that cannot work."""
        for name in ("workers", "connections", "max_body", "max_url", "max_headers"):
            if getattr(self, name) < 1:
                raise InvalidArgumentError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0 < self.query_seconds <= 60:  # noqa: PLR2004  # a minute
            raise InvalidArgumentError(f"query_seconds {self.query_seconds:g} is out of range 0..60")
        if self.rate is not None:
            try:
                parse(self.rate)
            except ValueError:
                raise InvalidArgumentError(
                    f"the rate {self.rate!r} is invalid: use a format such as 1200/minute"
                ) from None
        require_replicas(self.database, self.readers)
        _ = self.proxy_networks
        if (self.store is None) != (self.store_url is None):
            raise InvalidArgumentError("api.store (the folder) and api.store_url (its public URL) must be set together")
        if self.store_url is not None and not self.store_url.startswith("https://"):
            raise InvalidArgumentError(f"api.store_url {self.store_url!r} is not an https URL")
        if self.public_url is not None and not _ORIGIN.fullmatch(self.public_url):
            raise InvalidArgumentError(
                f"api.public_url {self.public_url!r} must be http:// or https:// with a host and no path, such as "
                "https://explorer.example"
            )
        if unknown := [node for node in self.nodes if not node.isdecimal()]:
            raise InvalidArgumentError(f"api.nodes: {unknown[0]!r} is not a chain id")

    @property
    def proxy_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of trusted proxies. IPv4-mapped IPv6 networks are unwrapped."""
        plains = []
        for text in self.trusted_proxies:
            try:
                plains.append(_plain(ip_network(text)))
            except ValueError:
                raise InvalidArgumentError(f"the proxy {text!r} is not an IP address or network") from None
        return tuple(plains)


def _plain(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    """Convert an IPv4-mapped IPv6 network to IPv4, as the guard does with addresses. Keep others."""
    carried = getattr(network.network_address, "ipv4_mapped", None)
    if carried is None or network.prefixlen < _MAPPED_PREFIX:
        return network
    return ip_network((carried, network.prefixlen - _MAPPED_PREFIX))


def read_api_settings(path: Path | None, **options: Any) -> ApiSettings:
    """Read the service's settings from the table `[api]` in the index's TOML file."""
    values: dict[str, Any] = {}
    if path is not None:
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
            raise InvalidArgumentError(f"{path} cannot be read: {problem}") from None
        databases = databases_of(content.get("database"))
        values = {"database": databases.url, "readers": databases.readers, "max_delay": databases.max_delay}
        values |= content.get("api", {})
        if options.get("database") is not None:  # the file's replicas belong to the file's database
            values |= {"readers": ()}
    values |= {name: value for name, value in options.items() if value is not None}
    if unknown := sorted(values.keys() - {field.name for field in fields(ApiSettings)}):
        raise InvalidArgumentError(f"api.{unknown[0]} is not a known setting")
    adapter = TypeAdapter(ApiSettings)
    adapter.rebuild(_types_namespace={"AggregatorSettings": str})  # a path, in a file
    try:
        return adapter.validate_python(values)
    except ValidationError as problem:
        raise InvalidArgumentError(first_problem(problem, "api")) from None
