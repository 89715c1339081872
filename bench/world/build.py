"""Writes a made-up world into a database: rows of events in bulk, and the index's own code for all that follows."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from eth_utils.crypto import keccak
from sqlalchemy import text

from bench.world.people import AUTHORIZED, IDENTITY, REPUTATION, VALIDATION, People
from bilateral.core.contracts import Registry
from bilateral.core.events import (
    ClientRated,
    FeedbackRevoked,
    MetadataSet,
    NewAuthorizedFeedback,
    NewFeedback,
    Registered,
    ResponseAppended,
    Transfer,
    ValidationRequest,
    ValidationResponse,
    ValidatorRated,
)
from bilateral.core.interpreter import tuned_interpreter
from bilateral.documents import Loader
from bilateral.index.files.references import ReferenceScan
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.rows import rows_of
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS, READERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine, Table

    from bench.world.people import World
    from bilateral.core.events import Event

_BLOCK_EVENTS: Final = 1_000
_BATCH_BLOCKS: Final = 10
_FIRST_TIME: Final = 1_750_000_000
BLOCK_SECONDS: Final = 12
_NOBODY: Final = "0x" + "0" * 40
_NO_HASH: Final = bytes(32)
_KINDS: Final = {
    IDENTITY: Registry.IDENTITY,
    REPUTATION: Registry.BIDIRECTIONAL,
    AUTHORIZED: Registry.AUTHORIZED,
    VALIDATION: Registry.VALIDATION,
}


def build(engine: Engine, world: World, report: Callable[[str], None] = lambda _: None) -> None:
    """Write a world into an empty database.

    Args:
        engine: The database, with its tables.
        world: The world.
        report: Called with a line now and then.
    """
    with engine.begin() as connection:
        rows = [(world.chain_id, address, kind.value, IDENTITY, 1) for address, kind in _KINDS.items()]
        rows_of(connection).insert(schema.registry, rows)
    store, chain = ChainStore(engine, world.chain_id, PROJECTIONS), _Chain(world)
    store.begin(chain.block())
    cursor = chain.block()
    while not chain.is_complete:
        with tuned_interpreter():
            cursor = _append(store, cursor, chain)
        report(f"block {cursor.number}: {chain.agents} agents, {chain.ratings} ratings")
    scan, references = ReferenceScan(engine, world.chain_id, Loader(), READERS), 0
    while (step := scan.step()) is not None:
        references += step
        report(f"{references} references to files")
    if engine.dialect.name == "postgresql":
        # A server in use does this by itself, now and then.
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def _append(store: ChainStore, cursor: Block, chain: _Chain) -> Block:
    """Append the next blocks, and return the last one."""
    for _ in range(_BATCH_BLOCKS):
        chain.mine()
        if chain.is_complete:
            break
    end = chain.block()
    store.append(cursor, Batch(end, chain.take(), [end], end.number, end.number))
    return end


class _Chain:
    """The blocks of a world, made one after another.

    Args:
        world: The world.

    Attributes:
        agents: The number of agents that are registered.
        ratings: The number of ratings that are given.
    """

    def __init__(self, world: World) -> None:
        """See the class. There is no block yet."""
        self._world = world
        self._people = People(world)
        self._number = 0
        self._index = 0
        self._block = Block(0, self._hash("block"), _FIRST_TIME)
        self._rows: dict[Table, list[tuple[Any, ...]]] = defaultdict(list)
        self._last_index: dict[tuple[int, str], int] = {}
        self._given: list[tuple[int, str, int]] = []
        self._rated: set[tuple[type[Event], int, int]] = set()
        self.agents = 0
        self.ratings = 0

    @property
    def is_complete(self) -> bool:
        """True if the world has all of its agents and ratings."""
        return self.agents == self._world.agents and self.ratings >= self._world.ratings

    def block(self) -> Block:
        """Return the last block."""
        return self._block

    def take(self) -> dict[Table, list[tuple[Any, ...]]]:
        """Return the rows of all events since the last call."""
        rows, self._rows = dict(self._rows), defaultdict(list)
        return rows

    def mine(self) -> None:
        """Make one more block."""
        self._number += 1
        self._index = 0
        self._block = Block(self._number, self._hash("block"), _FIRST_TIME + BLOCK_SECONDS * self._number)
        while self._index < _BLOCK_EVENTS and not self.is_complete:
            # Agents arrive as ratings do, but a few come first.
            if self.agents < self._world.agents and self._is_time_for_an_agent():
                self._register()
            else:
                self._rate()

    def _is_time_for_an_agent(self) -> bool:
        """Return True if fewer agents are there than the share of ratings asks for."""
        due = 5 + self._world.agents * self.ratings // max(1, self._world.ratings)
        return self.agents < due

    def _register(self) -> None:
        """Register the next agent."""
        self.agents += 1
        agent, owner = self.agents, self._people.owner(self.agents)
        self._log(Transfer, IDENTITY, _NOBODY, owner, agent)
        self._log(Registered, IDENTITY, agent, self._people.registration_uri(agent), owner, None)
        wallet = bytes.fromhex(owner[2:])
        self._log(MetadataSet, IDENTITY, agent, _topic("agentWallet"), "agentWallet", wallet, None)
        if not agent % 10:
            self._log(MetadataSet, IDENTITY, agent, _topic("region"), "region", b"eu" if agent % 20 else b"us", None)

    def _rate(self) -> None:
        """Give one rating, and now and then a revocation, a response or a validation."""
        chance, agent = self._people.random.random(), self._people.any_agent(self.agents)
        self.ratings += 1
        if chance < 0.06:  # noqa: PLR2004  # a share
            self._rate_counterpart(ClientRated if chance < 0.045 else ValidatorRated, agent)  # noqa: PLR2004  # a share
        elif chance < 0.09:  # noqa: PLR2004  # a share
            tags = (b"starred".ljust(32, b"\0"), bytes(32))
            score = int(100 * self._people.quality(agent))
            values = (agent, self._people.any_client(), score, *tags, "", _NO_HASH, None)
            self._log(NewAuthorizedFeedback, AUTHORIZED, *values)
        else:
            self._give_feedback(agent)
        if chance > 0.98:  # noqa: PLR2004  # a share
            at = self._people.random.randrange(len(self._given))
            self._given[at], self._given[-1] = self._given[-1], self._given[at]
            self._log(FeedbackRevoked, REPUTATION, *self._given.pop())
        elif chance > 0.95:  # noqa: PLR2004  # a share
            chosen = self._people.random.choice(self._given)
            self._log(ResponseAppended, REPUTATION, *chosen, self._people.owner(chosen[0]), "", _NO_HASH, None)
        elif chance > 0.94:  # noqa: PLR2004  # a share
            self._validate(agent)

    def _give_feedback(self, agent: int) -> None:
        """Give open feedback."""
        people = self._people
        tag, value, decimals = people.opinion(agent)
        is_measured = tag == "uptime" and people.random.random() < 0.5  # noqa: PLR2004  # half of them
        client = people.watchtower if is_measured else people.any_client()
        index = self._last_index.get((agent, client), 0) + 1
        self._last_index[agent, client] = index
        self._given.append((agent, client, index))
        texts = (tag, "week" if is_measured else "", "", people.feedback_uri(agent, client))
        self._log(NewFeedback, REPUTATION, agent, client, index, value, decimals, _topic(tag), *texts, _NO_HASH, None)

    def _rate_counterpart(self, event: type[Event], agent: int) -> None:
        """Let a server rate a client or a validator. An agent rates another one once."""
        server = self._people.any_agent(self.agents)
        if server != agent and (event, agent, server) not in self._rated:
            self._rated.add((event, agent, server))
            rating = int(100 * self._people.quality(agent))
            self._log(event, REPUTATION, agent, server, rating)

    def _validate(self, agent: int) -> None:
        """Ask for a validation, which is mostly answered."""
        validator, request = self._people.any_client(), self._hash(f"request {self.ratings}")
        self._log(ValidationRequest, VALIDATION, validator, agent, "", request, None)
        if self.ratings % 5:
            answer = (int(100 * self._people.quality(agent)), "", _NO_HASH, "work", None)
            self._log(ValidationResponse, VALIDATION, validator, agent, request, *answer)

    def _log(self, event: type[Event], registry: str, *values: Any) -> None:
        """Add the row of an event to the block."""
        block = self._block
        place = (self._world.chain_id, block.number, self._index, block.hash, block.time)
        transaction = self._hash(f"transaction {self._index}")
        self._rows[schema.EVENT_TABLES[event]].append((*place, transaction, registry, *values))
        self._index += 1

    def _hash(self, name: str) -> bytes:
        """Return a hash that only this block has under a name."""
        return sha256(f"{self._world.seed} {self._number} {name}".encode()).digest()


@cache
def _topic(name: str) -> bytes:
    """Return the hash under which an indexed text is logged."""
    return keccak(text=name)
