"""Events as the registries would emit them, made up from a seed: the same seed gives the same events.

Most are ordinary. Some carry text that is not UTF-8, NUL, very long text, or data that are not the ABI encoding of
their event: anybody can write the former, and an upgraded registry could emit the latter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bilateral.core.contracts import Registry, selectors
from bilateral.core.contracts.buyer_terms import AttestedPayment
from bilateral.core.identifiers import checksummed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ADDRESSES: Final = {
    Registry.IDENTITY: checksummed("0x" + "a1" * 20),
    Registry.BIDIRECTIONAL: checksummed("0x" + "b2" * 20),
    Registry.AUTHORIZED: checksummed("0x" + "c3" * 20),
    Registry.VALIDATION: checksummed("0x" + "d4" * 20),
    Registry.BUYERS: checksummed("0x" + "e5" * 20),
}
"""The registries' addresses."""

_NOBODY: Final = "0x" + "00" * 20
_TAGS: Final = ("starred", "uptime", "successRate", "responseTime", "reachable", "quality", "")
_HOSTILE: Final = (
    b"\xff\xfe",
    b"a\0b",
    b"\xf0\x9f\x98",
    b"'; DROP TABLE agent; --",
    "\N{RIGHT-TO-LEFT OVERRIDE}evil".encode(),
    b"x" * 20_000,
)


@dataclass(frozen=True)
class Log:
    """A log to emit.

    Attributes:
        address: The registry that emits it.
        topics: Its topics.
        data: Its data.
    """

    address: str
    topics: tuple[bytes, ...]
    data: bytes


class Generator:
    """Makes up events of one chain.

    Args:
        seed: The seed.
        hostile: The share of hostile entries.
    """

    def __init__(self, seed: int, hostile: float = 0.01) -> None:
        """See the class. No agent is registered yet."""
        self._random = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._hostile = hostile
        self._accounts = _accounts()
        self._owners: dict[int, str] = {}
        self._wallets: dict[int, str] = {}
        self._last_index: dict[tuple[int, str], int] = {}
        self._given: list[tuple[int, str, int]] = []
        self._rated: set[tuple[str, int, int]] = set()
        self._sealed: list[tuple[tuple[int, int, bytes], str, list[str]]] = []
        self._requests: list[tuple[str, int, bytes]] = []
        self._roots = 0

    def logs(self, least: int) -> list[Log]:
        """Make up logs of whole transactions.

        Args:
            least: The least number of logs.
        """
        logs: list[Log] = []
        while len(logs) < least:
            logs += self._transaction()
        return logs

    def _transaction(self) -> Iterator[Log]:
        """Make up the logs of one transaction."""
        if len(self._owners) < 5 or self._random.random() < 0.06:  # noqa: PLR2004  # a few agents to begin with
            yield from self._register()
            return
        kinds = (self._feedback, self._revoke, self._respond, self._rate, self._validate, self._change, self._pay)
        weights = 66, 4, 9, 8, 5, 7, 3, 4, 100 * self._hostile / 4
        (kind,) = self._random.choices((*kinds, self._rate_blind, self._junk), weights=weights)
        yield from kind()

    def _register(self) -> Iterator[Log]:
        """Register an agent."""
        agent, owner = len(self._owners) + 1, self._any_account()
        self._owners[agent] = self._wallets[agent] = owner
        yield encoded(Registry.IDENTITY, "Transfer", _NOBODY, owner, agent)
        yield encoded(Registry.IDENTITY, "Registered", agent, self._text(b"https://agent.example/%d" % agent), owner)
        yield self._wallet_set(agent, owner)

    def _feedback(self) -> Iterator[Log]:
        """Give feedback, open or authorised."""
        agent, client = self._any_agent(), self._any_account()
        tag = self._text(self._random.choice(_TAGS).encode())
        if self._random.random() < 0.05:  # noqa: PLR2004  # a share
            score = self._random.randint(0, 100)
            words = (tag[:32].ljust(32, b"\0"), b"finance".ljust(32, b"\0"))
            yield encoded(Registry.AUTHORIZED, "NewFeedback", agent, client, score, *words, b"ipfs://file", bytes(32))
            return
        index = self._last_index.get((agent, client), 0) + 1
        self._last_index[agent, client] = index
        self._given.append((agent, client, index))
        decimals = self._random.choice((0, 0, 0, 1, 2, 18))
        value = self._random.randint(0, 100) * 10**decimals
        if self._random.random() < self._hostile:
            value, decimals = self._random.choice((10**38, -(10**38))), self._random.choice((0, 18))
        uri = self._text(b"ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy")
        hash_ = keccak(text=f"{agent}{client}{index}")
        yield encoded(
            Registry.BIDIRECTIONAL,
            "NewFeedback",
            *(agent, client, index, value, decimals, keccak(tag), tag, self._text(b"week"), b"https://a.example", uri),
            hash_,
        )

    def _revoke(self) -> Iterator[Log]:
        """Revoke a feedback."""
        if self._given:
            at = self._random.randrange(len(self._given))
            self._given[at], self._given[-1] = self._given[-1], self._given[at]
            yield encoded(Registry.BIDIRECTIONAL, "FeedbackRevoked", *self._given.pop())

    def _respond(self) -> Iterator[Log]:
        """Respond to a feedback."""
        if self._given:
            chosen, responder = self._random.choice(self._given), self._any_account()
            arguments = (*chosen, responder, self._text(b"https://answer.example"), bytes(32))
            yield encoded(Registry.BIDIRECTIONAL, "ResponseAppended", *arguments)

    def _rate(self) -> Iterator[Log]:
        """Rate a client or a validator."""
        event = self._random.choice(("ClientRated", "ClientRated", "ValidatorRated"))
        subject, rater = self._any_agent(), self._any_agent()
        if subject != rater and (event, subject, rater) not in self._rated:
            self._rated.add((event, subject, rater))
            yield encoded(Registry.BIDIRECTIONAL, event, subject, rater, self._random.randint(0, 100))

    def _rate_blind(self) -> Iterator[Log]:
        """Seal ratings of a client and a server, open one side or both, or exchange them."""
        if self._sealed and self._random.random() < 0.6:  # noqa: PLR2004  # a share
            yield from self._open()
            return
        client, server = self._any_agent(), self._any_agent()
        if client == server or ("ClientRated", client, server) in self._rated:
            return
        self._rated.add(("ClientRated", client, server))
        pair = client, server, keccak(text=f"{client} and {server}")
        sides = self._random.choice(((), (), (), ("rating", "feedback")))
        if sides:
            yield from self._opened(pair, self._any_account(), sides)
        else:
            self._sealed.append((pair, self._any_account(), ["rating", "feedback"]))
            yield encoded(Registry.BIDIRECTIONAL, "RatingsSealed", *pair)

    def _open(self) -> Iterator[Log]:
        """Open a sealed rating, its feedback, or both. Now and then the opening names what was never given."""
        at = self._random.randrange(len(self._sealed))
        pair, account, missing = self._sealed[at]
        if self._random.random() < self._hostile:
            index = self._random.randint(0, 3)
            yield encoded(Registry.BIDIRECTIONAL, "RatingsOpened", *pair, self._any_account(), index)
            return
        sides = missing if self._random.random() < 0.5 else [self._random.choice(missing)]  # noqa: PLR2004  # a share
        rest = [side for side in missing if side not in sides]
        self._sealed[at] = pair, account, rest
        if not rest:
            self._sealed.pop(at)
        yield from self._opened(pair, account, sides)

    def _opened(self, pair: tuple[int, int, bytes], account: str, sides: Sequence[str]) -> Iterator[Log]:
        """Return the logs of an opening, in the registry's order."""
        client, server, _ = pair
        if "rating" in sides:
            yield encoded(Registry.BIDIRECTIONAL, "ClientRated", client, server, self._random.randint(0, 100))
        index = 0
        if "feedback" in sides:
            index = self._last_index[server, account] = self._last_index.get((server, account), 0) + 1
            self._given.append((server, account, index))
            tag, value = self._random.choice(_TAGS).encode(), self._random.randint(0, 100)
            texts = keccak(tag), tag, b"week", b"https://a.example", b""
            yield encoded(Registry.BIDIRECTIONAL, "NewFeedback", *(server, account, index, value, 0, *texts), bytes(32))
        yield encoded(Registry.BIDIRECTIONAL, "RatingsOpened", *pair, account, index)

    def _validate(self) -> Iterator[Log]:
        """Request a validation, or answer one."""
        if self._requests and self._random.random() < 0.6:  # noqa: PLR2004  # a share
            validator, agent, name = self._random.choice(self._requests)
            response = self._random.randint(0, 100)
            arguments = (validator, agent, name, response, self._text(b"ipfs://answer"), bytes(32), b"tag")
            yield encoded(Registry.VALIDATION, "ValidationResponse", *arguments)
            return
        validator, agent = self._any_account(), self._any_agent()
        name = keccak(text=f"request {len(self._requests)} {agent}")
        self._requests.append((validator, agent, name))
        yield encoded(Registry.VALIDATION, "ValidationRequest", validator, agent, self._text(b"ipfs://work"), name)

    def _change(self) -> Iterator[Log]:
        """Change an agent: owner, wallet, URI, metadata, or an account's primary agent."""
        agent = self._any_agent()
        kind = self._random.choice(("transfer", "wallet", "uri", "metadata", "primary"))
        if kind == "transfer":
            owner, receiver = self._owners[agent], self._any_account()
            if self._wallets.get(agent):
                yield self._wallet_set(agent, "")
            self._wallets.pop(agent, None)
            self._owners[agent] = receiver
            yield encoded(Registry.IDENTITY, "Transfer", owner, receiver, agent)
        elif kind == "wallet":
            wallet = self._any_account() if self._random.random() < 0.8 else ""  # noqa: PLR2004  # a share
            self._wallets[agent] = wallet
            yield self._wallet_set(agent, wallet)
        elif kind == "uri":
            arguments = (agent, self._text(b"https://new.example"), self._owners[agent])
            yield encoded(Registry.IDENTITY, "URIUpdated", *arguments)
            yield encoded(Registry.IDENTITY, "MetadataUpdate", agent)
        elif kind == "metadata":
            key = self._text(self._random.choice((b"category", b"version", b"region")))
            yield encoded(Registry.IDENTITY, "MetadataSet", agent, keccak(key), key, self._random.randbytes(8))
        else:
            account = self._random.choice((self._owners[agent], self._wallets.get(agent) or self._owners[agent]))
            yield encoded(Registry.IDENTITY, "PrimaryAgentSet", account, agent)

    def _pay(self) -> Iterator[Log]:
        """Settle or attest a payment, attest what else is known of a buyer, or post a root."""
        buyer, amount = self._any_account(), self._random.randint(0, 2**56 - 1)
        kind = self._random.choice(("settled", "left out", "attested", "vote", "reviews", "root"))
        if kind == "settled":
            yield encoded(Registry.BUYERS, "PaymentSettled", buyer, self._any_agent(), amount, keccak(text=buyer))
        elif kind == "left out":
            values = buyer, 0, amount, keccak(text=buyer), self._random.randint(0, 3)
            yield encoded(Registry.BUYERS, "PaymentNotCounted", *values)
        elif kind == "attested":
            yield encoded(Registry.BUYERS, "PaymentAttested", AttestedPayment(buyer, amount, 1_700_000_000, 255).word)
        elif kind == "vote":
            score = self._random.randint(0, 100)
            yield encoded(Registry.BUYERS, "FeedbackAttested", buyer, self._any_account(), score)
        elif kind == "reviews":
            numbers = self._random.randrange(1 << 16), self._random.randrange(1 << 24), self._random.randrange(1 << 16)
            yield encoded(Registry.BUYERS, "ReviewsAttested", buyer, *numbers)
        else:
            self._roots += 1
            yield encoded(Registry.BUYERS, "Anchored", self._roots, keccak(text=f"root {self._roots}"))

    def _junk(self) -> Iterator[Log]:
        """Emit what cannot be decoded."""
        registry = self._random.choice(tuple(ADDRESSES))
        known = self._random.choice(tuple(selectors(registry, "event")))
        topics = self._random.choice(((known,), (known, bytes(32), bytes(32), bytes(32)), (b"\xee" * 32,)))
        yield Log(ADDRESSES[registry], topics, self._random.randbytes(self._random.randrange(100)))

    def _wallet_set(self, agent: int, wallet: str) -> Log:
        """Return the log of a wallet that was set or unset."""
        value = bytes.fromhex(wallet[2:]) if wallet else b""
        return encoded(Registry.IDENTITY, "MetadataSet", agent, keccak(b"agentWallet"), b"agentWallet", value)

    def _any_agent(self) -> int:
        """Choose an agent, the early ones more often."""
        return 1 + min(int(self._random.paretovariate(0.6)) - 1, len(self._owners) - 1)

    def _any_account(self) -> str:
        """Choose an account."""
        return self._random.choice(self._accounts)

    def _text(self, ordinary: bytes) -> bytes:
        """Return an ordinary text, now and then a hostile one."""
        return self._random.choice(_HOSTILE) if self._random.random() < self._hostile else ordinary


@cache
def _accounts() -> tuple[str, ...]:
    """Return the accounts, of all generators."""
    return tuple(checksummed("0x" + keccak(text=f"account {number}")[:20].hex()) for number in range(2_000))


@lru_cache(maxsize=20_000)
def encoded(registry: Registry, event: str, *values: Any) -> Log:
    """Encode an event. Many generators of a run make up the same ones, and to encode takes most of their time.

    Args:
        registry: The registry that emits it.
        event: Its name in Solidity.
        values: Its parameters in their order; texts as bytes.
    """
    topic, inputs = _events()[registry, event]
    topics, types, plain = [topic], [], []
    for part, value in zip(inputs, values, strict=True):
        kind = "bytes" if part["type"] == "string" else part["type"]
        if not part["indexed"]:
            types.append(kind)
            plain.append(value)
        elif part["type"] == "string":
            topics.append(value)
        else:
            topics.append(encode([kind], [value]))
    return Log(ADDRESSES[registry], tuple(topics), encode(types, plain))


_EVENTS: dict[tuple[Registry, str], tuple[bytes, Any]] = {}


def _events() -> dict[tuple[Registry, str], tuple[bytes, Any]]:
    """Return the topic and the parameters of every event."""
    if not _EVENTS:
        for registry in ADDRESSES:
            for topic, entry in selectors(registry, "event").items():
                _EVENTS[registry, entry["name"]] = topic, entry["inputs"]
    return _EVENTS
