"""A small running economy: honest and false raters, good and bad buyers, paid requests, validators."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import requests
from eth_utils.crypto import keccak

from bilateral.core.identifiers import checksummed
from bilateral.documents import RegistrationFile
from bilateral.documents.data_uri import encode_data_uri
from bilateral.x402 import LostAnswerError, give_paid_feedback
from bilateral.x402.clients.requests import verification_of
from bilateral.x402.server.gate import rate_client
from scripts._demo.paid import session
from scripts._demo.stage import send_from

if TYPE_CHECKING:
    from bilateral.x402 import Verifier
    from scripts._demo.paid import Market
    from scripts._demo.stage import Stage

_ETHER: Final = 10**18
_GAS: Final = 1_000_000
"""The gas limit of a transaction. The largest, a registration with its file, takes less than half of it."""

_GAS_MONEY: Final = _ETHER // 100
"""More than one transaction can cost: its gas limit at 2 gwei, which is the price on a local chain."""

_PAYMENTS: Final = 50
"""The payments of a buyer. Its feedback is compared with all of its former one, which the chain forgets in time."""

_HOUR: Final = 3600
DAYS: Final = 60
"""The days of history with which the economy begins."""

_SERVERS: Final = {
    "Weather Oracle": ("It answers with a forecast for any place.", 92),
    "Route Planner": ("It plans journeys by rail, road and sea.", 84),
    "Contract Reader": ("It reads contracts and lists what is unusual.", 77),
    "Translator": ("It translates between forty languages.", 72),
}
"""The honest servers: their descriptions, and how good they are. All are above the least rating of a check."""

_GRUDGE: Final = "Grudge Market"
_PRAISED: Final = "Best Agent Ever"
_BUYERS: Final = {"Careful Buyer": 95, "Late Payer": 18}
_VALIDATOR: Final = "Second Opinion"
_CLIENTS: Final = 20
_HISTORY: Final = 70
_FIRST_RING: Final = 8
_LARGEST_RING: Final = 40
_SOURCES: Final = tuple(f"exchange {number}" for number in range(3))


@dataclass(frozen=True)
class Member:
    """An agent of the economy.

    Attributes:
        name: Its name.
        owner: The account that speaks as it.
        agent: Its id.
    """

    name: str
    owner: str
    agent: int


class Economy:
    """The economy. `begin` plays its history, and each call of `live` one more event.

    Attributes:
        events: The number of events since the history.

    Args:
        stage: The chain with the registries.
        market: The shop of paid requests.
        verifier: The verifier of the buyers.
        url: The URL of the shop's resource.
    """

    def __init__(self, stage: Stage, market: Market, verifier: Verifier, url: str) -> None:
        self._stage, self._market, self._verifier, self._url = stage, market, verifier, url
        self.events = 0
        self._payments = itertools.count()
        self._buyer = ""
        self._session = requests.Session()
        self._random = random.Random(8004)  # noqa: S311  # the same story each time
        self._ratings = stage.registry("BidirectionalReputationRegistry")
        self._clients = [_address(f"client {number}") for number in range(_CLIENTS)]
        self._ring: list[str] = []
        self._members: dict[str, Member] = {}
        self._rated: set[tuple[str, str]] = set()
        self._requests = itertools.count(1)
        first = (self._honest, self._pay, self._honest, self._grow_ring, self._honest, self._buy)
        self._turns = itertools.cycle((*first, self._complain, self._honest, self._validate, self._pay))
        stage.ask("anvil_autoImpersonateAccount", True)

    @property
    def token(self) -> str:
        """The token of its payments."""
        return str(self._market.token.address)

    def begin(self) -> None:
        """Register everybody, and play some weeks. The chain's clock ends where this machine's is."""
        for name, (description, _) in _SERVERS.items():
            self._join(name, description)
        self._join(_GRUDGE, "It sells tickets, and forgets nothing.")
        self._join(_PRAISED, "Everybody says so.")
        for name in _BUYERS:
            self._join(name, "It buys what others sell.")
        self._join(_VALIDATOR, "It checks the work of others.")
        for client in self._clients:
            self._fund(_address(self._random.choice(_SOURCES)), client, self._random.randint(_ETHER // 10, _ETHER))
            self._pass(self._random.randint(2 * _HOUR, 18 * _HOUR))
        for _ in range(_HISTORY):
            self._honest()
            self._pass(self._random.randint(8 * _HOUR, 20 * _HOUR))
        for _ in range(_FIRST_RING):
            self._grow_ring()
            self._pass(60)
        for turn in (self._buy, self._complain, self._validate) * 4:
            turn()
            self._pass(_HOUR)
        self._stage.ask("evm_mine")  # time that passed shows in the next block only
        self._pass(max(0, int(time.time()) - self._stage.now()))
        self._stage.ask("evm_mine")

    def live(self) -> None:
        """Let the next event happen."""
        self.events += 1
        next(self._turns)()

    def _honest(self) -> None:
        """Let a client rate a server by its experience."""
        name = self._random.choice(tuple(_SERVERS))
        value = min(100, max(0, round(self._random.gauss(_SERVERS[name][1], 8))))
        self._rate(self._random.choice(self._clients), name, value, "starred")
        if self._random.random() < 0.3:  # noqa: PLR2004  # now and then
            self._rate(self._random.choice(self._clients), name, self._random.randint(9_700, 10_000), "uptime", 2)

    def _grow_ring(self) -> None:
        """Let one account fund another, which praises the agent of the first."""
        if len(self._ring) < _LARGEST_RING:
            member = _address(f"ring {len(self._ring)}")
            self._fund(self._members[_PRAISED].owner, member, _ETHER // 50)
            self._ring.append(member)
        self._rate(self._ring[-1], _PRAISED, 100, "starred")

    def _buy(self) -> None:
        """Let servers rate the buyers, each one once: the good one, and the late payer."""
        for (buyer, quality), server in itertools.product(_BUYERS.items(), _SERVERS):
            if (buyer, server) not in self._rated:
                self._rate_client(server, buyer, min(100, max(0, round(self._random.gauss(quality, 4)))))
                return
        buyer = self._members["Careful Buyer"].owner
        self._rate(buyer, self._random.choice(tuple(_SERVERS)), self._random.randint(80, 98), "starred")

    def _complain(self) -> None:
        """Let a client complain about the server that takes revenge: it rates each critic down."""
        buyer = self._random.choice(("Careful Buyer", *_SERVERS))
        self._rate(self._members[buyer].owner, _GRUDGE, self._random.randint(10, 35), "starred")
        if (buyer, _GRUDGE) not in self._rated:
            self._rate_client(_GRUDGE, buyer, self._random.randint(1, 9))

    def _validate(self) -> None:
        """Let a server ask for a validation, and the validator answer."""
        server, validator = self._members[self._random.choice(tuple(_SERVERS))], self._members[_VALIDATOR]
        registry, request = self._stage.registry("ValidationRegistry"), keccak(text=f"work {next(self._requests)}")
        asked = (validator.owner, server.agent, "https://work.example/report.json", request)
        self._send(server.owner, registry.address, registry.validationRequest.encode_input(*asked))
        answer = (request, self._random.randint(70, 100), "", bytes(32), "audit")
        self._send(validator.owner, registry.address, registry.validationResponse.encode_input(*answer))

    def _pay(self) -> None:
        """Let a buyer pay for a forecast, verify the answer, and name the payment in its feedback."""
        market = self._market
        if next(self._payments) % _PAYMENTS == 0:
            self._welcome_buyer()
        market.fund(self._buyer)
        try:
            verification = verification_of(self._session.get(self._url, timeout=30))
        except (requests.RequestException, LostAnswerError):  # a busy machine is too slow at times; the buyer returns
            return
        if verification is None or not verification.is_verified:
            return
        value, key = self._random.randint(85, 99), market.key(self._buyer)
        with market.registries(self._buyer) as registries:
            give_paid_feedback(registries, verification, value, key).wait()
        standing = market.served[-1]
        market.served.clear()
        if standing is not None and (self._buyer, "forecaster") not in self._rated:
            self._rated.add((self._buyer, "forecaster"))
            with market.registries("forecaster") as registries:
                rate_client(registries, standing, 93).wait()

    def _welcome_buyer(self) -> None:
        """Let another buyer come, with an agent of its own."""
        self._buyer, stage = f"client {len(self._stage.agents) + 1}", self._stage
        stage.ask("anvil_setBalance", stage.account(self._buyer).address, hex(10 * _ETHER))
        with self._market.registries(self._buyer) as registries:
            stage.agents[self._buyer] = registries.register_agent().wait().agent.token_id
        self._session.close()
        self._session = session(self._market, self._verifier, self._buyer)

    def _join(self, name: str, description: str) -> None:
        """Register an agent with a file that is in its URI, and names the agent in return."""
        owner, identity = _address(name), self._stage.registry("IdentityRegistry")
        self._fund(_address(self._random.choice(_SOURCES)), owner, 10 * _ETHER)
        agent_id = int(identity.getAgentCount()) + 1
        registry = f"eip155:{int(self._stage.ask('eth_chainId'), 16)}:{identity.address}"
        own = [{"agentId": agent_id, "agentRegistry": registry}]
        file = RegistrationFile.new(name, description, "https://images.example/agent.png", registrations=own)
        self._send(owner, identity.address, identity.register.encode_input(encode_data_uri(file.to_bytes())))
        self._members[name] = Member(name, owner, agent_id)
        self._pass(_HOUR)

    def _rate(self, client: str, server: str, value: int, tag: str, decimals: int = 0) -> None:
        """Give feedback."""
        feedback = (self._members[server].agent, value, decimals, tag, "", "", "", bytes(32))
        self._send(client, self._ratings.address, self._ratings.giveFeedback.encode_input(*feedback))

    def _rate_client(self, server: str, client: str, rating: int) -> None:
        """Let a server rate a client, once for ever."""
        self._rated.add((client, server))
        data = self._ratings.rateClient.encode_input(self._members[client].agent, rating)
        self._send(self._members[server].owner, self._ratings.address, data)

    def _fund(self, source: str, account: str, amount: int) -> None:
        """Send native tokens."""
        self._stage.ask("anvil_setBalance", source, hex(1_000_000 * _ETHER))
        self._send(source, account, b"", amount)

    def _send(self, sender: str, target: str, data: bytes, value: int = 0) -> None:
        """Send a transaction, and wait until it is mined. A sender that cannot pay for gas much longer gets more."""
        if int(self._stage.ask("eth_getBalance", sender, "latest"), 16) < value + _GAS_MONEY:
            self._stage.ask("anvil_setBalance", sender, hex(value + 100 * _GAS_MONEY))
        # The node's own estimate is too low at times, because the transaction runs in a later block.
        call: dict[str, Any] = {"from": sender, "to": target, "data": f"0x{data.hex()}", "value": hex(value)}
        call["gas"] = hex(_GAS)
        send_from(self._stage, call)

    def _pass(self, seconds: int) -> None:
        """Let time pass."""
        self._stage.ask("evm_increaseTime", seconds)


def _address(name: str) -> str:
    """Return the address of a person."""
    return checksummed("0x" + keccak(text=f"living demo: {name}")[-20:].hex())
