"""Publishing a period: the root of all measurements in the watchtower's own metadata, and signals for changes.

Each step first checks on chain whether it was done before, so an interrupted run can be completed by running it again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from itertools import zip_longest
from typing import Any, Final

import rfc8785

from bilateral.client import Client, Signal
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, AgentId, ChainId, GlobalAgentId
from bilateral.core.values import value_for_tag
from bilateral.documents import DataUriStore, FeedbackFile
from bilateral.documents.ipfs import Cid
from bilateral.watchtower.endpoints import ROTATES
from bilateral.watchtower.periods import Leaf, Period, values_of

METADATA_KEY: Final = "measurements"
"""The key of the watchtower's metadata that contains the last period's root (32 bytes) and the CID of its leaves."""

HEARTBEAT: Final = 13
"""The number of weeks after which an unchanged measurement is published again."""

_BANDS: Final = tuple(map(Decimal, ("99.5", "99", "95", "90", "50")))
_ROUNDS: Final = 4  # the last one finds nothing missing, unless somebody makes transactions fail
_AT_A_TIME: Final = 200  # signals, which take two requests for gas estimates
_MULTIHASH: Final = bytes([0x12, 0x20])  # SHA-256, 32 bytes


@dataclass(frozen=True)
class Due:
    """A signal to publish: the number of the measurement behind it, the agent, the tag and the value."""

    number: int
    agent: AgentId
    tag: str
    value: Any


@dataclass
class Report:
    """The outcome of publishing a period.

    Attributes:
        root: The root of the period's measurements.
        uri: The URI of all measurements.
        due: The number of signals that were due.
        sent: The hashes of the transactions that were sent.
        refused: The signals that the registry rejects, such as those for an agent that the account may operate. An
            owner can also make a signal fail by approving the account in the preceding block.
    """

    root: bytes
    uri: str
    due: int = 0
    sent: list[str] = field(default_factory=list)
    refused: list[Due] = field(default_factory=list)


class MerkleTree:
    """A Merkle tree (RFC 6962, SHA-256), whose root the watchtower puts on chain.

    Attributes:
        content: The leaves, one per line, as canonical JSON (RFC 8785).
        root: The 32 bytes that commit to all leaves.

    Args:
        leaves: The measurements; at least one.
    """

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        encoded = [rfc8785.dumps(leaf) for leaf in leaves]
        self.content = b"".join(leaf + b"\n" for leaf in encoded)
        level, self._levels = [sha256(b"\0" + leaf).digest() for leaf in encoded], list[list[bytes]]()
        while len(level) > 1:
            self._levels.append(level)
            pairs = zip_longest(level[::2], level[1::2])  # a node without a neighbour goes up unchanged
            level = [sha256(b"\1" + left + right).digest() if right else left for left, right in pairs]
        self.root = level[0]

    def path(self, number: int) -> list[str]:
        """Return the siblings from a leaf to the root: each one's side, `L` or `R`, and its hash."""
        places = ((level, number >> depth) for depth, level in enumerate(self._levels))
        sides = "RL"  # of the siblings of even and odd places
        return [sides[place % 2] + level[place ^ 1].hex() for level, place in places if place ^ 1 < len(level)]


def due_signals(
    leaves: Sequence[Leaf], previous: Sequence[Leaf], period: Period, *, is_complete: bool = False
) -> Iterator[Due]:
    """Yield a period's signals: those that differ enough from the previous period's, and a rotating part of the others.

    Args:
        is_complete: True to yield all signals.
    """
    earlier = {_key(leaf): leaf for leaf in previous}
    for number, leaf in enumerate(leaves):
        before = earlier.get(_key(leaf))
        has_drifted = any(change["code"] != ROTATES for change in leaf.get("changes", ()))
        turn = int(leaf.get("endpoint", "0")[:8], 16) + period.week
        for agent in leaf["agents"]:
            values = values_of(leaf, agent)
            published = values_of(before, agent) if before and agent in before["agents"] else {}
            tags = {tag for tag in values if is_complete or _differs(tag, published.get(tag), values[tag])}
            tags |= {"reachable"} if has_drifted else set()
            tags |= {"uptime" if "uptime" in values else "reachable"} if turn % HEARTBEAT == 0 else set()
            yield from (Due(number, AgentId.parse(agent), tag, values[tag]) for tag in values if tag in tags)


def _key(leaf: Leaf) -> str:
    return str(leaf.get("endpoint") or next(iter(leaf["agents"])))


def _differs(tag: str, old: Any, new: Any) -> bool:
    """Return whether a value differs enough from the previous one to be published on chain."""
    if old is None or tag in {"reachable", "ownerVerified"}:
        return bool(old != new)
    before, now = Decimal(old), Decimal(new)
    if tag in {"uptime", "successRate"}:
        return [before >= band for band in _BANDS] != [now >= band for band in _BANDS]
    if tag == "revenues":
        return now * 10 >= before * 11
    return not before <= now * 2 <= before * 4


def publish(  # noqa: PLR0913  # what to publish, by whom, and how much of it
    client: Client,
    agent_id: AgentId,
    period: Period,
    leaves: Sequence[Leaf],
    previous: Sequence[Leaf] = (),
    *,
    is_complete: bool = False,
) -> Report:
    """Publish a period's measurements.

    Args:
        client: The client for the watchtower's account, with a store for evidence.
        agent_id: The watchtower's own agent, whose metadata receives the root.
        leaves: The measurements. The root commits to all of them.
        previous: The previous period's measurements.
        is_complete: True to publish all signals, not only those that changed.
    """
    store = client.state.store
    if isinstance(store, DataUriStore):
        raise InvalidArgumentError(
            "the evidence requires a store: configure one, for example with --ipfs-api or --store-folder"
        )
    tree = MerkleTree(leaves)
    stored = store.put(tree.content)
    cid = Cid.parse(stored.uri.removeprefix("ipfs://")) if stored.uri.startswith("ipfs:") else Cid.of_raw(tree.content)
    report = Report(tree.root, stored.uri)
    statement = tree.root + bytes([1, cid.codec]) + _MULTIHASH + cid.digest
    if client.get_metadata(agent_id, METADATA_KEY) != statement:
        handle = client.set_metadata(agent_id, METADATA_KEY, statement)
        handle.wait()
        report.sent.append(str(handle.hash))
    deployment = client.get_deployment()
    registry, own = deployment.agent_registry, agent_id.on(deployment.chain_id)
    author = AccountId(ChainId.evm(deployment.chain_id), str(client.address))
    tower = str(GlobalAgentId(registry, str(own.token_id)))
    shared = {"method": "bilateral-watchtower/1", "watchtower": tower, "root": tree.root.hex(), "leaves": stored.uri}

    def evidence(due: Due) -> Signal:
        leaf, value = leaves[due.number], value_for_tag(due.tag, due.value, period.name)
        file = FeedbackFile.of({"measurement": {**shared, "leaf": leaf, "path": tree.path(due.number)}})
        agent, endpoint = GlobalAgentId(registry, str(due.agent.token_id)), leaf.get("url", "")
        tags = {"tag1": due.tag, "tag2": period.name}
        created_at = datetime.fromtimestamp(period.end, UTC)  # every run produces the same bytes
        complete = file.complete(agent, author, value, **tags, endpoint=endpoint, created_at=created_at)
        document = store.put(complete.to_bytes())
        return Signal(due.agent, due.tag, value, endpoint, document.uri, document.hash)

    every = due_signals(leaves, previous, period, is_complete=is_complete)
    signals = [due for due in every if due.agent.chain_id == own.chain_id and due.agent != own]
    report.due = len(signals)
    for start in range(0, len(signals), _AT_A_TIME):
        part = signals[start : start + _AT_A_TIME]
        _send(client, period, list(zip(part, map(evidence, part), strict=True)), report)
    return report


def _send(client: Client, period: Period, part: list[tuple[Due, Signal]], report: Report) -> None:
    """Publish signals until the chain has all of them. One that it rejects does not stop the others."""
    missing = part
    try:
        for _ in range(_ROUNDS):
            batch = client.publish_signals([signal for _, signal in part], period.name)
            if not batch.handles:
                return
            report.sent += [str(handle.hash) for handle in batch.handles]
            missing = [entry for entry in part if entry[1] not in batch.already_published]
    except ContractRevertError:
        if len(part) > 1:
            middle = len(part) // 2
            _send(client, period, part[:middle], report)
            _send(client, period, part[middle:], report)
            return
    report.refused += [due for due, _ in missing]
