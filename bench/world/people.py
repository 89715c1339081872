"""The agents and accounts of a made-up world, and what they say. The same seed makes the same world."""

import json
import tomllib
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any, Final

from bilateral.core.identifiers import checksummed

PARAPHRASES: Final[dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("themes.toml").read_text("utf-8"))
"""Two tasks for each theme, which do not name it."""

_THEMES: Final = list(PARAPHRASES)
_MANNER_TEXT: Final = "quick exact friendly open private global local daily live smart simple deep verified honest"
_COMMON_TEXT: Final = (
    "the and of for with your from data service answers requests every day fast reliable provides analysis on any "
    "chain uses trusted sources to help teams build better reports in seconds without keys"
)
_SYLLABLE_TEXT: Final = "ba be bi bo da de di do ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro"
_MANNERS, _COMMON, _SYLLABLES = (text.split() for text in (_MANNER_TEXT, _COMMON_TEXT, _SYLLABLE_TEXT))
_TAGS: Final = ("starred", "uptime", "successRate", "responseTime", "reachable", "quality")
_TAG_WEIGHTS: Final = tuple(accumulate((55, 15, 10, 5, 5, 10)))
_TRUST: Final = ("reputation", "crypto-economic", "tee-attestation")
_DOMAINS: Final = ("finance_and_business", "technology", "healthcare", "education", "media")


@dataclass(frozen=True)
class World:
    """The size of a world.

    Attributes:
        agents: The number of agents.
        ratings: The number of ratings: feedback, open or authorised, and ratings of clients and validators.
        seed: The seed.
        chain_id: The chain.
    """

    agents: int
    ratings: int
    seed: int = 1
    chain_id: int = 31337


@dataclass
class People:
    """The agents and accounts of a world.

    Args:
        world: The world.

    Attributes:
        random: The source of all chances.
        clients: The accounts that give feedback.
        watchtower: The account that measures many agents.
    """

    world: World
    random: Random = field(init=False)
    clients: list[str] = field(init=False)
    watchtower: str = field(init=False)

    def __post_init__(self) -> None:
        """Make the accounts and the words."""
        self.random = Random(self.world.seed)  # noqa: S311  # reproducible, not secret
        self.clients = [_account(f"client {number}") for number in range(max(20, self.world.agents // 2))]
        self.watchtower = _account("watchtower")
        self._rare = ["".join(self.random.choices(_SYLLABLES, k=3)) for _ in range(5_000)]
        self._theme_weights = list(accumulate(1 / (rank + 3) for rank in range(len(_THEMES))))

    def owner(self, agent: int) -> str:
        """Return the account that owns an agent. Some own several."""
        return _account(f"owner {agent % max(1, self.world.agents * 4 // 5)}")

    def quality(self, agent: int) -> float:
        """Return how well an agent works, 0 to 1: its ratings lie around it."""
        return sqrt(agent * 2_654_435_761 % 2**32 / 2**32)

    def any_agent(self, number: int) -> int:
        """Return one of the first agents; some are far more popular than others."""
        popularity: float = self.random.random() ** 2.2
        return 1 + int(popularity * number)

    def any_client(self) -> str:
        """Return an account that gives feedback."""
        return self.random.choice(self.clients)

    def opinion(self, agent: int) -> tuple[str, int, int]:
        """Return a tag, a value and its decimals for an agent."""
        (tag,) = self.random.choices(_TAGS, cum_weights=_TAG_WEIGHTS)
        share = min(1.0, max(0.0, self.random.gauss(self.quality(agent), 0.15)))
        if tag == "reachable":
            return tag, int(share > 0.2), 0  # noqa: PLR2004  # most agents answer
        if tag == "responseTime":
            return tag, int(2_000 * (1 - share)) + 20, 0
        if tag == "uptime":
            return tag, int(share * 10_000), 2
        return tag, int(share * 100), 0

    def registration_uri(self, agent: int) -> str:
        """Return the URI of an agent's registration file, which contains the file. Some agents have none."""
        if self.random.random() < 0.03:  # noqa: PLR2004  # a share
            return ""
        theme, other = self.random.choices(_THEMES, cum_weights=self._theme_weights, k=2)
        name = [self.random.choice(_MANNERS), theme, other, self.random.choice(self._rare)]
        words = [*self.random.choices(_COMMON, k=14), theme, *self.random.choices(_THEMES, k=4)]
        self.random.shuffle(words)
        services = [
            {
                "name": "MCP",
                "endpoint": f"https://mcp{agent}.example/",
                "version": "2025-06-18",
                "mcpTools": [f"{theme}_{verb}" for verb in ("read", "list", "plan")[: self.random.randint(1, 3)]],
                "mcpPrompts": [f"{other}_prompt"],
            },
            {
                "name": "A2A",
                "endpoint": f"https://a2a{agent}.example/.well-known/agent-card.json",
                "a2aSkills": [f"{theme} analysis", other],
            },
            {"name": "OASF", "endpoint": "", "skills": [f"{theme}/{other}"], "domains": [self.random.choice(_DOMAINS)]},
            {"name": "web", "endpoint": f"https://agent{agent}.example/"},
        ]
        entry = {"agentId": agent, "agentRegistry": f"eip155:{self.world.chain_id}:{_registry('identity')}"}
        return data_uri(
            {
                "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
                "name": " ".join(word.title() for word in name[: self.random.randint(2, 4)]),
                "description": " ".join(words).capitalize() + ".",
                "image": f"https://agent{agent}.example/image.png",
                "services": self.random.sample(services, self.random.randint(1, 4)),
                "active": self.random.random() < 0.85,  # noqa: PLR2004  # a share
                "x402Support": self.random.random() < 0.4,  # noqa: PLR2004  # a share
                "registrations": [entry],
                "supportedTrust": self.random.sample(_TRUST, self.random.randint(0, 3)),
            }
        )

    def feedback_uri(self, agent: int, client: str) -> str:
        """Return the URI of a feedback file, which contains the file; most feedback has none."""
        chance = self.random.random()
        if chance > 0.03:  # noqa: PLR2004  # a share
            return ""
        file: dict[str, Any] = {"agentId": agent, "clientAddress": f"eip155:{self.world.chain_id}:{client}"}
        file["text"] = " ".join(self.random.choices(_COMMON, k=6))
        if chance < 0.02:  # noqa: PLR2004  # a share
            receiver = self.owner(agent) if chance < 0.015 else self.any_client()  # noqa: PLR2004  # a share
            transaction = sha256(f"payment {self.random.random()}".encode()).hexdigest()
            file["proofOfPayment"] = {
                "fromAddress": client,
                "toAddress": receiver,
                "chainId": str(self.world.chain_id),
                "txHash": f"0x{transaction}",
            }
        return data_uri(file)


def data_uri(value: dict[str, Any]) -> str:
    """Return a JSON document as a data URI."""
    return f"data:application/json;base64,{b64encode(json.dumps(value).encode()).decode()}"


def _account(name: str) -> str:
    return checksummed("0x" + sha256(name.encode()).hexdigest()[:40])


def _registry(name: str) -> str:
    """Return the address of a registry of the world."""
    return _account(f"registry {name}")


IDENTITY: Final = _registry("identity")
"""The address of the identity registry."""

REPUTATION: Final = _registry("reputation")
"""The address of the registry of open feedback, and of ratings of clients and validators."""

AUTHORIZED: Final = _registry("authorized")
"""The address of the registry of authorised feedback."""

VALIDATION: Final = _registry("validation")
"""The address of the registry of validations."""
