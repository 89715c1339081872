"""The accounts that held agents that changed hands, and since when each held them.

An opinion is judged against the holder of its time. Otherwise an owner could praise its agent, move it to another of
its accounts, and so take the praise out of the ledger; or give an agent away to blame its new owner for old praise.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from bilateral.trust.tables.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class Holdings:
    """Holdings as parallel arrays, sorted by agent and time.

    Attributes:
        account: The account that held it; -1 if unknown.
        since: The time from which it did.
    """

    agent: Ints
    account: Ints
    since: Floats

    @classmethod
    def of(cls, agent: Ints, account: Ints, since: Floats) -> Self:
        """Sort holdings."""
        order = np.lexsort((since, agent))
        order = order[agent[order] >= 0]
        return cls(agent[order].astype(np.int64), account[order].astype(np.int64), since[order])

    def at(self, agent: Ints, time: Floats, owner: Ints) -> Ints:
        """Return the account that held each agent at a time; -1 if unknown.

        In the block of a transfer, the agent is still with whoever had it before: nobody can be made the owner of an
        agent just after it praised it in the same block.
        """
        if not len(self.agent):
            return owner
        times = np.unique(self.since)
        steps = len(times) + 1
        starts = self.agent * steps + np.searchsorted(times, self.since) + 1
        place = np.searchsorted(starts, agent * steps + np.searchsorted(times, time), side="right") - 1
        earlier = np.searchsorted(self.agent, agent)  # before its first transfer, an agent is with its first holder
        place = np.maximum(place, earlier)
        exists = place < len(self.agent)
        place = np.where(exists, place, 0)
        exists &= self.agent[place] == agent
        return np.where(exists, self.account[place], owner)

    def took_back(self, agent: Ints, account: Ints, time: Floats) -> Flags:
        """Mark the accounts that held an agent before a time, and took it back later."""
        out = np.zeros(len(agent), bool)
        several = np.flatnonzero(np.isin(agent, self.agent[:-1][self.agent[:-1] == self.agent[1:]]))
        if not len(several):
            return out
        size = int(max(self.account.max(), account[several].max())) + 2
        keys = self.agent * size + self.account + 1
        order = np.argsort(keys, kind="stable")
        queries = agent[several] * size + account[several] + 1
        low, high = (np.searchsorted(keys[order], queries, side=side) for side in ("left", "right"))
        twice = np.flatnonzero(high > low)
        rows, first, last = several[twice], order[low[twice]], order[high[twice] - 1]
        out[rows] = (self.since[first] < time[rows]) & (time[rows] <= self.since[last])
        return out
