"""Trees of anchored states in the database: a proof reads one path, whatever the number of states."""

from __future__ import annotations

import math

import pytest
from sqlalchemy import func, select, update

from bilateral.buyers.anchoring import forget_trees, read_proof, store_tree
from bilateral.buyers.anchors import StateTree, verify_state
from bilateral.buyers.tables import buyer_state, buyer_tree
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier, policy_hash
from bilateral.core.identifiers import checksummed
from bilateral.index.log.database import open_database

REGISTRY = checksummed("0x" + "5a" * 20)
POLICY = "brp-1.0"


def state(number):
    buyer = checksummed(f"0x{number + 1:040x}")
    volume = 2**70 + number  # more than 64 bits
    return BuyerState(buyer, 8453, 50, BuyerTier.TRUSTED, 9, volume, 1, 2, 3, 4, 5, 6, 7, policy_hash(POLICY), 8)


class Counting:
    """A connection that counts the rows that it reads."""

    def __init__(self, connection):
        self._connection, self.rows = connection, 0

    def execute(self, query):
        frozen = self._connection.execute(query).freeze()
        self.rows += len(frozen().all())
        return frozen()


@pytest.fixture
def connection(buyers_database):
    """A connection in a transaction that is rolled back."""
    engine = open_database(buyers_database)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize("number", [1, 2, 3, 33, 1_000])
def test_proof_reads_the_rows_of_one_path(connection, number):
    states = [state(entry) for entry in range(number)]
    epoch = 31337, REGISTRY, 1
    root = store_tree(connection, epoch, [(POLICY, entry) for entry in states])
    assert root == StateTree(states).root
    for wanted in states[:: max(1, number // 40)]:  # to read a thousand paths takes seconds
        counting = Counting(connection)
        proof = read_proof(counting, epoch, wanted.buyer, 8453, POLICY)
        assert proof.state == wanted
        assert verify_state(wanted, root, proof.proof)
        assert counting.rows <= 1 + math.ceil(math.log2(number))
    assert read_proof(connection, epoch, state(number).buyer, 8453, POLICY) is None
    assert read_proof(connection, epoch, states[0].buyer, 8453, "independent-1.0") is None


def test_state_whose_tree_an_older_version_did_not_store_has_no_proof(connection):
    epoch = 31337, REGISTRY, 1
    store_tree(connection, epoch, [(POLICY, state(0))])
    connection.execute(update(buyer_state).values(node=None))
    assert read_proof(connection, epoch, state(0).buyer, 8453, POLICY) is None


def test_forgotten_epochs_leave_no_rows(connection):
    for number in (1, 2, 3):
        store_tree(connection, (31337, REGISTRY, number), [(POLICY, state(number)) for number in range(40)])
    forget_trees(connection, (31337, REGISTRY, 2))
    for table, rows in ((buyer_state, 40), (buyer_tree, 3)):
        query = select(func.count()).where(table.c.registry == REGISTRY)
        assert connection.execute(query).scalar_one() == rows
    assert read_proof(connection, (31337, REGISTRY, 3), state(7).buyer, 8453, POLICY) is not None
