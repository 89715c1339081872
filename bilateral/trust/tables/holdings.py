"""The holders of each agent that changed hands, and the time from which each account held the agent.

The analysis treats each tenure (the time with one holder) as a separate agent that belongs to that holder. Evidence
from before a handover therefore counts only for the previous holder: an owner cannot sell an agent's standing, remove
false praise from the ledger by moving the agent away, or blame a new owner for the agent's past.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from bilateral.trust.tables.arrays import Flags, Floats, Ints, first_of


@dataclass(frozen=True)
class Holdings:
    """Holdings as parallel arrays, sorted by agent and time.

    Attributes:
        account: The account that held the agent; -1 if unknown.
        since: The time from which the account held the agent.
    """

    agent: Ints
    account: Ints
    since: Floats

    @classmethod
    def of(cls, agent: Ints, account: Ints, since: Floats) -> Self:
        """Sort holdings, and join consecutive holdings by the same account."""
        order = np.lexsort((since, agent))
        order = order[agent[order] >= 0]
        order = order[first_of(agent[order]) | first_of(account[order])]
        return cls(agent[order].astype(np.int64), account[order].astype(np.int64), since[order])

    @cached_property
    def ended(self) -> Flags:
        """Marks the holdings after which another account held the agent."""
        return np.append(self.agent[:-1] == self.agent[1:], np.zeros(min(len(self.agent), 1), bool))

    def tenures(self, agents: int) -> Ints:
        """Return each holding's tenure number: the agent's number if current, otherwise a higher number."""
        return np.where(self.ended, agents + np.cumsum(self.ended) - 1, self.agent)

    def at(self, agent: Ints, time: Floats, agents: int) -> Ints:
        """Return the tenure of each agent at a time; -1 if its holder is unknown.

        In the block of a transfer, the agent still belongs to its previous holder, so nobody can be made the owner of
        an agent just after praising it in the same block.
        """
        moved = np.zeros(agents + 1, bool)  # the last entry stands for -1
        moved[self.agent[self.ended]] = True
        rows = np.flatnonzero(moved[agent])
        out = agent.copy()
        times = np.unique(self.since)
        steps = len(times) + 1
        starts = self.agent * steps + np.searchsorted(times, self.since) + 1
        queries = agent[rows].astype(np.int64) * steps + np.searchsorted(times, time[rows])
        place = np.searchsorted(starts, queries, side="right") - 1
        place = np.maximum(place, np.searchsorted(self.agent, agent[rows]))  # the first holder before any transfer
        out[rows] = np.where(self.ended & (self.account < 0), -1, self.tenures(agents))[place]
        return out

    def took_back(self, agent: Ints, account: Ints, time: Floats) -> Flags:
        """Mark the accounts that held an agent before a given time and got it back later."""
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
