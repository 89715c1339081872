"""`python -m bench.buyers_anchors`: the time to store the tree of a million states of buyers, and to prove one of them.

Each engine gets a database of its own. A proof is read by a connection as the service has it, with its root checked.
"""

import random
import resource
import statistics
import sys
import tempfile
import time
from typing import Final

from eth_utils.crypto import keccak

from bench.index.measurement import databases
from bench.report import options
from bilateral.buyers.anchoring import read_proof, store_tree
from bilateral.buyers.anchors import verify_state
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier, policy_hash
from bilateral.core.identifiers import checksummed
from bilateral.index.log.database import open_database

STATES: Final = 1_000_000
PROOFS: Final = 1_000
PROOF_MS: Final = 20.0
"""The bound for 99 of 100 proofs. The slowest one also shows how long a busy machine let it wait."""

_POLICY: Final = "brp-1.0"
_EPOCH: Final = (31337, checksummed("0x" + "5a" * 20), 1)


def state(number: int) -> BuyerState:
    """Return the state of a buyer.

    Args:
        number: The number of the buyer.
    """
    buyer = checksummed("0x" + keccak(number.to_bytes(8))[-20:].hex())
    return BuyerState(
        *(buyer, 8453, 56, BuyerTier.TRUSTED, 47, 234_500_000 + number, 1_768_473_000, 1_773_000_000),
        *(32, 2_320, 0, 0, 1, policy_hash(_POLICY), 43_000_000),
    )


def measure(engine: str, database: str, states: int) -> bool:
    """Store the tree, and prove states drawn by lot. Print the figures.

    Args:
        engine: The name of the engine.
        database: The URL of an empty database.
        states: The number of states.

    Returns:
        True if each proof was fast enough.
    """
    made = [(_POLICY, state(number)) for number in range(states)]
    opened = open_database(database)
    began = time.perf_counter()
    with opened.begin() as connection:
        root = store_tree(connection, _EPOCH, made)
    stored = time.perf_counter() - began
    chance, times = random.Random(1), []  # noqa: S311  # the same states each time
    for _ in range(PROOFS):
        _, wanted = chance.choice(made)
        began = time.perf_counter()
        with opened.connect() as connection:
            proof = read_proof(connection, _EPOCH, wanted.buyer, 8453, _POLICY)
        times.append((time.perf_counter() - began) * 1_000)
        if proof is None or proof.state != wanted or not verify_state(wanted, root, proof.proof):
            raise SystemExit(f"{engine}: the proof of {wanted.buyer} is wrong")
    opened.dispose()
    late = statistics.quantiles(times, n=100)[-1]
    is_met = late <= PROOF_MS
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{engine}: {states:,} states stored in {stored:.1f} s ({memory:,} MiB at most); "
        f"{PROOFS:,} proofs, median {statistics.median(times):.2f} ms, p99 {late:.2f} ms, slowest {max(times):.2f} ms; "
        f"bound {PROOF_MS:g} ms: {'met' if is_met else 'missed'}"
    )
    return is_met


def main() -> int:
    """Measure on each engine.

    Returns:
        The exit code: 1 if a proof took longer than its bound.
    """
    states = options(__doc__, states=STATES).states
    with tempfile.TemporaryDirectory() as folder:
        met = [measure(engine, fresh("anchors"), states) for engine, fresh in databases(folder)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
