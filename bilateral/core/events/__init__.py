"""Every registry event as a frozen type, made from logs by `bilateral.core.events.decoder`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bilateral.core.contracts import Registry
from bilateral.core.events.base import *  # noqa: F403  # each name, as this package is their public module
from bilateral.core.events.base import Event
from bilateral.core.events.buyers import *  # noqa: F403
from bilateral.core.events.buyers import BUYER_EVENTS
from bilateral.core.events.registries import *  # noqa: F403
from bilateral.core.events.registries import REGISTRY_EVENTS

EVENTS: Final[Mapping[Registry, tuple[type[Event], ...]]] = {**REGISTRY_EVENTS, **BUYER_EVENTS}
"""The types of each registry's events."""
