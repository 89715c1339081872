"""A stranger's URI cannot make the loader connect to its own machine or network (server-side request forgery)."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import httpcore
import pytest

from bilateral.core.errors import (
    DocumentTimeoutError,
    ForbiddenAddressError,
    HostNotFoundError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.documents import Limits
from bilateral.documents.addresses import is_public

PUBLIC = "93.184.216.34"

PRIVATE = [
    "0.0.0.0",  # noqa: S104
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.255",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "2001:0:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        PUBLIC,
        "1.1.1.1",
        "172.15.255.255",
        "172.32.0.0",
        "2606:4700::1111",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:0101:0101::1",
    ],
)
def test_an_address_that_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1",
        "127.1",
        "0",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "user:password@127.0.0.1",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
    ],
)
def test_this_machine_is_forbidden_in_every_notation(server, guarded, host):
    """Some forms are invalid host names, and a resolver may not know the others; both protect as well."""
    with pytest.raises((ForbiddenAddressError, UnreachableDocumentError, UnsupportedUriError)):
        guarded.load(f"http://{host}:{server.port}/")
    assert server.requests == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "2130706433", "[::1]"])
def test_the_refusal_names_host_and_address(server, guarded, host):
    with pytest.raises(ForbiddenAddressError) as refusal:
        guarded.load(f"http://{host}:{server.port}/")
    assert refusal.value.host == host.strip("[]")
    assert refusal.value.address in ("127.0.0.1", "::1")
    assert refusal.value.reason == "forbidden_address"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fd00::1"])
def test_a_name_that_stands_for_a_private_address_is_refused(guarded, scheme, address):
    loader, connections = resolving(guarded, [address])
    with pytest.raises(ForbiddenAddressError, match=r'"innocent\.example" resolves to'):
        loader.load(f"{scheme}://innocent.example/")
    assert connections == []


def test_a_name_of_which_one_address_is_private_is_refused(guarded):
    loader, connections = resolving(guarded, [PUBLIC, "127.0.0.1"])
    with pytest.raises(ForbiddenAddressError):
        loader.load("http://innocent.example/")
    assert connections == []


def test_a_name_that_is_rebound_after_the_check_gains_nothing(server, guarded):
    """The first look-up of the name gives a public address, and each later one gives this machine."""
    server.routes["/"] = b"{}"
    loader, connections = resolving(guarded, [PUBLIC], ["127.0.0.1"], to=server.port)
    assert loader.load("http://rebound.example/").content == b"{}"
    assert connections == [PUBLIC]


def test_a_name_is_looked_up_anew_and_checked_anew_for_every_document(server, guarded):
    server.routes["/"] = b"{}"
    loader, connections = resolving(guarded, [PUBLIC], ["127.0.0.1"], to=server.port)
    loader.load("http://rebound.example/")
    with pytest.raises(ForbiddenAddressError):
        loader.load("http://rebound.example/")
    assert connections == [PUBLIC]


def test_a_host_is_reached_by_its_second_address_when_the_first_is_down(server, guarded):
    server.routes["/"] = b"{}"
    loader, connections = resolving(guarded, ["1.1.1.1", PUBLIC], to=server.port, down={"1.1.1.1"})
    assert loader.load("http://two.example/").content == b"{}"
    assert connections == ["1.1.1.1", PUBLIC]


def test_a_name_that_takes_forever_to_look_up_is_given_up(guarded):
    end = threading.Event()

    def resolver(_host, _port):
        end.wait(60)
        return [PUBLIC]

    network = replace(guarded.network, resolver=resolver)
    started = time.monotonic()
    with pytest.raises(DocumentTimeoutError):
        replace(guarded, limits=Limits(seconds=0.2), network=network).load("http://slow.example/")
    assert time.monotonic() - started < 30
    end.set()


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 64 + ".example", "-"])
def test_a_name_without_an_address_is_named(guarded, host):
    def resolver(name, port):
        raise socket.gaierror(socket.EAI_NONAME, f"{name}:{port} is unknown")

    with pytest.raises(HostNotFoundError, match="was not found"):
        replace(guarded, network=replace(guarded.network, resolver=resolver)).load(f"http://{host}/")


@pytest.mark.parametrize("failure", [OSError, UnicodeError, OverflowError])
def test_a_resolver_that_fails_takes_no_time(guarded, failure):
    def resolver(name, port):
        raise failure(f"{name}:{port}")

    patient = replace(guarded, limits=Limits(seconds=60), network=replace(guarded.network, resolver=resolver))
    started = time.monotonic()
    with pytest.raises(UnreachableDocumentError, match=r"was not found|the resolver could not resolve"):
        patient.load("http://nobody.example/")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("port", [1, 65535])
def test_the_first_and_the_last_port_are_ports(guarded, port):
    with pytest.raises(ForbiddenAddressError):
        guarded.load(f"http://localhost:{port}/")


def resolving(loader, *answers, to=0, down=frozenset()):
    """Return a loader whose look-ups give these addresses in turn, and then always the last one.

    All connections go to a port of this machine. The loader records each requested address.
    """
    connections = []
    remaining = list(answers)

    class Switchboard(httpcore.SyncBackend):
        def connect_tcp(self, host, port, *args, **kwargs):
            connections.append(host)
            if host in down:
                raise httpcore.ConnectError(f"{host}:{port} is down")
            return super().connect_tcp("127.0.0.1", to, *args, **kwargs)

    def resolver(_host, _port):
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return replace(loader, network=replace(loader.network, resolver=resolver, backend=Switchboard())), connections
