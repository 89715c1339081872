"""A frozen class for each registry event. `bilateral.core.events.decoder` decodes the events from logs."""

from typing import Final

from bilateral.core.events.base import *  # noqa: F403  # each name, as this package is their public module
from bilateral.core.events.buyers import *  # noqa: F403
from bilateral.core.events.registries import *  # noqa: F403

EVENTS: Final = {**REGISTRY_EVENTS, **BUYER_EVENTS}  # noqa: F405
"""The classes of each registry's events."""
