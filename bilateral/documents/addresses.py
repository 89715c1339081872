"""Addresses on the public Internet."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
# IANA reserves this range, but some releases of Python treat it as public.
_PROTOCOL_ASSIGNMENTS: Final = IPv4Network("192.0.0.0/24")
_DOCUMENTATION: Final = IPv6Network("3fff::/20")
_NAT64: Final = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Return whether an address is on the public Internet. Untrusted URIs may only lead to such addresses."""
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
