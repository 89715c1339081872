"""The tests' process looks up no name of the web."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("name", ["github.com", "weather.example", "a.example.", b"dave.example", "xn--p1b6ci4b.com"])
def test_name_of_the_web_is_not_looked_up(name):
    with pytest.raises(socket.gaierror, match="tests do not look up"):
        socket.getaddrinfo(name, 80)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "127.1", "0x7f.1", "::1", "2130706433", None])
def test_this_machine_is_looked_up(name):
    assert socket.getaddrinfo(name, 80)
