"""Keeps the tests' process on this machine: names of the web are not looked up, so that no answer depends on them."""

from __future__ import annotations

import os
import re
import socket

from sqlalchemy import make_url

from tests.postgres import VARIABLE

LOOK_UP = socket.getaddrinfo
OF_THE_WEB = re.compile(r"(?!.*\.localhost\.?$).+\.[a-z-]*[a-z]\.?", re.IGNORECASE)
"""A name of several parts, as `weather.example`: neither an address, in any notation, nor this machine."""


def stay_offline():
    """Let each look-up of a name of the web fail at once, but for the server of databases that the variable names."""
    named = os.environ.get(VARIABLE)
    servers = {make_url(named).host} if named else set()

    def look_up(host, *arguments, **options):
        name = host.decode() if isinstance(host, bytes) else host
        if name and name not in servers and OF_THE_WEB.fullmatch(name):
            raise socket.gaierror(socket.EAI_NONAME, f"tests do not look up {name}")
        return LOOK_UP(host, *arguments, **options)

    socket.getaddrinfo = look_up
