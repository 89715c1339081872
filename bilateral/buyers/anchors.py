"""Merkle trees of buyers' states, in OpenZeppelin's standard tree format. `anchorRoot` posts their roots.

A leaf is the double hash of a state's ABI encoding. The two hashes of a pair are sorted before they are hashed
together. Anyone can check a state against a root with `verify_state`, or on chain with `verifyBuyer`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, Self

from eth_utils.crypto import keccak

from bilateral.core.contracts.buyer_terms import BuyerState
from bilateral.core.errors import InvalidArgumentError

_WORD: Final = 32  # bytes of a word of the contract ABI


def leaf_of(state: BuyerState) -> bytes:
    """Return the 32-byte leaf that commits to a state."""
    return keccak(keccak(b"".join(map(_word, state.arguments))))


def verify_state(state: BuyerState, root: bytes, proof: Sequence[bytes]) -> bool:
    """Return whether a state is in the tree with the given root, as `verifyBuyer` does.

    Args:
        proof: The sibling hashes, from the leaf up.
    """
    node = leaf_of(state)
    for sibling in proof:
        node = _parent(node, sibling)
    return node == root


class StateTree:
    """The Merkle tree of all buyers' states at one point in time. The states may be passed in any order.

    Args:
        states: The states, at least one. No two states may have the same buyer, chain and policy.

    Raises:
        InvalidArgumentError: There are no states, or two have the same buyer, chain and policy.
    """

    def __init__(self, states: Iterable[BuyerState]) -> None:
        self._states: dict[tuple[str, int, bytes], tuple[BuyerState, bytes]] = {}
        for state in states:
            key = (state.buyer, state.chain_id, state.policy)
            if key in self._states:
                raise InvalidArgumentError(f"there are two states for buyer {state.buyer} on chain {state.chain_id}")
            self._states[key] = (state, leaf_of(state))
        if not self._states:
            raise InvalidArgumentError("pass the state of at least one buyer")
        self._leaves = sorted(leaf for _, leaf in self._states.values())
        self._nodes = _nodes_above(self._leaves)

    @classmethod
    def of(cls, *states: BuyerState) -> Self:
        """Build a tree of the given states."""
        return cls(states)

    @property
    def root(self) -> bytes:
        """The root, 32 bytes."""
        return self._nodes[0]

    def __len__(self) -> int:
        return len(self._leaves)

    @property
    def nodes(self) -> Sequence[bytes]:
        """All nodes: the root first, and node i's children at positions 2i + 1 and 2i + 2."""
        return self._nodes

    def state_of(self, buyer: str, chain_id: int, policy: bytes) -> BuyerState | None:
        """Return a buyer's state, or None if the tree does not contain it.

        Args:
            chain_id: The EIP-155 id of the chain on which the buyer's payments were made.
            policy: The hash of the scoring policy's name.
        """
        state = self._states.get((buyer, chain_id, policy))
        return None if state is None else state[0]

    def proof_of(self, state: BuyerState) -> list[bytes]:
        """Return the proof that a state is in the tree: the sibling hashes, from the leaf up.

        Raises:
            InvalidArgumentError: The tree does not contain the state.
        """
        return [self._nodes[node] for node in path_of(self.node_of(state))]

    def node_of(self, state: BuyerState) -> int:
        """Return the node number of a state's leaf.

        Raises:
            InvalidArgumentError: The tree does not contain the state.
        """
        key = (state.buyer, state.chain_id, state.policy)
        standing_state, leaf = self._states.get(key, (None, b""))
        if standing_state != state:
            raise InvalidArgumentError(f"the tree does not contain this state for buyer {state.buyer}")
        # OpenZeppelin puts the leaves at the end, in descending order.
        return len(self._nodes) - 1 - bisect_left(self._leaves, leaf)


def path_of(node: int) -> list[int]:
    """Return the numbers of the nodes that prove a leaf: the siblings of the leaf and of each of its ancestors.

    Args:
        node: The number of the leaf's node.
    """
    path = []
    while node:
        path.append(node + 1 if node % 2 else node - 1)
        node = (node - 1) // 2
    return path


def _nodes_above(leaves: Sequence[bytes]) -> list[bytes]:
    """Return a complete binary tree's nodes: the root first, and node i's children at positions 2i + 1 and 2i + 2."""
    inner = len(leaves) - 1
    nodes = [b""] * inner + list(reversed(leaves))
    for at in range(inner - 1, -1, -1):
        nodes[at] = _parent(nodes[2 * at + 1], nodes[2 * at + 2])
    return nodes


def _parent(first: bytes, second: bytes) -> bytes:
    return keccak(first + second if first < second else second + first)


def _word(value: str | int | bytes) -> bytes:
    """Encode an address, a number or a hash as one word. Encoding whole states with eth-abi is ten times slower."""
    if isinstance(value, bytes):
        return value
    return (int(value, 16) if isinstance(value, str) else value).to_bytes(_WORD)
