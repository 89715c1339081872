"""A slow and plain model of the reputation registry, in exact arithmetic."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

WAD = 10**18
MAX_ABS_VALUE = 10**38


@dataclass(frozen=True)
class Given:
    """The arguments of `giveFeedback` after the agent."""

    value: int = 87
    decimals: int = 0
    tag1: str = ""
    tag2: str = ""
    endpoint: str = ""
    uri: str = ""
    hash: bytes = bytes(32)

    @property
    def arguments(self):
        return (self.value, self.decimals, self.tag1, self.tag2, self.endpoint, self.uri, self.hash)


@dataclass
class Entry:
    """A feedback in the registry."""

    given: Given
    revoked: bool = False
    responses: Counter = field(default_factory=Counter)

    def bears(self, tag1, tag2):
        return tag1 in ("", self.given.tag1) and tag2 in ("", self.given.tag2)


class ReputationModel:
    """All that was said, by agent and client, in order."""

    def __init__(self):
        self.histories = {}

    def give(self, agent, client, entry):
        entries = self.histories.setdefault(agent, {}).setdefault(client, [])
        entries.append(Entry(entry))
        return len(entries)

    def entries(self, agent, client):
        return self.histories.get(agent, {}).get(client, [])

    def clients(self, agent):
        return list(self.histories.get(agent, {}))

    def active(self, agent):
        """`(client, index)` of all feedback that can be revoked."""
        return [
            (client, index)
            for client, entries in self.histories.get(agent, {}).items()
            for index, entry in enumerate(entries, 1)
            if not entry.revoked
        ]

    def summary(self, agent, clients, tag1, tag2):
        """Return the answer of `getSummary` as ERC-8004 defines it, with fewer decimals where 128 bits need it."""
        counted = [
            entry.given
            for client in clients
            for entry in self.entries(agent, client)
            if not entry.revoked and entry.bears(tag1, tag2)
        ]
        if not counted:
            return (0, 0, 0)
        mean = sum(Fraction(entry.value, 10**entry.decimals) for entry in counted) / len(counted)
        frequency = Counter(entry.decimals for entry in counted)
        decimals = min(frequency, key=lambda places: (-frequency[places], places))
        wad_mean = math.trunc(mean * WAD)
        scaled = {number: math.trunc(Fraction(wad_mean * 10**number, WAD)) for number in range(decimals + 1)}
        decimals = max(places for places, value in scaled.items() if -(2**127) <= value < 2**127)
        return (len(counted), scaled[decimals], decimals)

    def read_all(self, agent, clients, tag1, tag2, include_revoked):
        """The rows of `readAllFeedback`."""
        return [
            (client, index, entry.given.value, entry.given.decimals, entry.given.tag1, entry.given.tag2, entry.revoked)
            for client in clients or self.clients(agent)
            for index, entry in enumerate(self.entries(agent, client), 1)
            if entry.bears(tag1, tag2) and (include_revoked or not entry.revoked)
        ]

    def responses(self, agent, client, index, responders):
        """The answer of `getResponseCount`; None stands for the zero client."""
        if client is None:
            return sum(self.responses(agent, client, 0, responders) for client in self.clients(agent))
        entries = self.entries(agent, client)
        if index:
            entries = entries[index - 1 : index]
        return sum(
            sum(entry.responses[responder] for responder in responders) if responders else entry.responses.total()
            for entry in entries
        )
