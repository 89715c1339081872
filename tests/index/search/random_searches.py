"""Random searches for the agents of a made-up world. The same seed makes the same searches."""

from __future__ import annotations

import random
from decimal import Decimal

from bilateral.index.search.filters import OF_GATE, AgentSearch, Capability, Gate, Order, Payment, Side

TAGS = ("starred", "uptime", "successRate", "responseTime", "reachable", "quality", "", "unused")


class RandomSearches:
    """Makes searches around an agent each, so that many find something.

    Args:
        oracle: The model of the world.
        seed: The seed.
    """

    def __init__(self, oracle, seed):
        self.random = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self.agents = list(oracle.agents.values())
        self.words = sorted(set().union(*(agent.words for agent in self.agents)))
        self.capabilities = sorted(set().union(*(agent.capabilities for agent in self.agents)))
        self.accounts = sorted({entry.account for entry in oracle.given if entry.side == "server"})
        self.raters = sorted({entry.account for entry in oracle.given if entry.side != "server"})
        self.rated = {agent.key: [] for agent in self.agents}
        for entry in oracle.given:
            if (rating := (Side(entry.side), entry.tag)) not in self.rated[entry.agent]:
                self.rated[entry.agent].append(rating)
        by_count = sorted(
            (sum(entry.account == account for entry in oracle.given), account) for account in self.accounts
        )
        self.busiest = [account for _, account in by_count[-5:]]

    def make(self):  # noqa: C901  # one condition a filter
        agent = self.random.choice(self.agents)
        gates = tuple(self._gate(agent) for _ in range(self.random.choice((0, 1, 1, 1, 2))))
        wanted = {"text": self._text(agent), "gates": gates}
        if self._chance(0.1):
            wanted["owner"] = agent.owner
        if self._chance(0.05) and agent.wallet:
            wanted["wallet"] = agent.wallet.lower()
        if self._chance(0.15):
            kind, value = self.random.choice(sorted(agent.capabilities) or self.capabilities)
            wanted["capabilities"] = ((Capability(kind), value),)
        if self._chance(0.15):
            wanted["services"] = (self.random.choice(("mcp", "MCP", "a2a", "OASF", "web")),)
        for name in ("active", "x402", "rated"):
            if self._chance(0.1):
                wanted[name] = self._chance(0.7)
        for name in ("registered_from", "registered_to", "updated_from", "updated_to"):
            if self._chance(0.1):
                wanted[name] = agent.registered_at
        if self._chance(0.1):
            wanted["metadata"] = (("region", self.random.choice((None, b"eu", b"us"))),)
        if self._chance(0.1):
            wanted["chains"] = (31337,) if self._chance(0.9) else (1,)
        orders = [None, None, Order.STANDING, Order.UPDATED, Order.REGISTERED, Order.LAST_ACTIVE]
        orders += OF_GATE if gates else ()
        orders += [Order.RELEVANCE] if wanted["text"] else []
        return AgentSearch(**wanted, order=self.random.choice(orders))

    def _chance(self, share):
        return self.random.random() < share

    def _text(self, agent):
        if self._chance(0.4):
            return None
        return " ".join(self._word(agent) for _ in range(self.random.choice((1, 1, 2))))

    def _word(self, agent):
        word = self.random.choice(sorted(agent.words) or self.words)
        if self._chance(0.3):
            word = word[: max(1, len(word) - self.random.randint(1, 3))]
        if self._chance(0.2) and len(word) > 4:
            at = self.random.randrange(len(word))
            word = word[:at] + self.random.choice("xqz") + word[at + 1 :]
        return word.title() if self._chance(0.3) else word

    def _gate(self, agent):
        rated = self.rated[agent.key] or [(Side.SERVER, "starred")]
        side, tag = self.random.choice(rated)
        if side is Side.SERVER and self._chance(0.2):
            tag = self.random.choice(TAGS)
        wanted = {"tag": None if self._chance(0.2) else tag, "side": side}
        limits = {
            "minimum": lambda: Decimal(self.random.randint(0, 80)),
            "maximum": lambda: Decimal(self.random.randint(60, 100)),
            "lower_bound": lambda: Decimal(self.random.randint(1, 40)) + Decimal("0.123"),
            "count": lambda: self.random.randint(1, 6),
            "maximum_count": lambda: self.random.randint(3, 30),
            "clients": lambda: self.random.randint(1, 4),
        }
        for name in self.random.sample(sorted(limits), self.random.randint(0, 2)):
            wanted[name] = limits[name]()
        if self._chance(0.25):
            people = self.accounts if side is Side.SERVER else self.raters
            chosen = self.random.sample(people, min(5, len(people)))
            wanted["reviewers"] = (*chosen, *(self.busiest if side is Side.SERVER else ()))
        if side is Side.SERVER and self._chance(0.15):
            wanted["payment"] = self.random.choice(list(Payment))
        return Gate(**wanted)
