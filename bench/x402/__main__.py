"""`python -m bench.x402`: the overhead of the extension on paid requests, and the time of a verification."""

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ape.logging import LogLevel, logger
from web3 import HTTPProvider

from bench.report import print_table
from bench.x402.shop import LARGE, SMALL, Overhead, measure, open_market, open_shop
from bilateral.x402 import PaidRequest, Verifier, interaction_hash, protect_client
from bilateral.x402.clients.requests import verification_of, verifying_session
from scripts._anvil import running_anvil

MAX_ADDED: Final = 0.003
MAX_RATIO: Final = 1.5
MAX_VERIFICATION: Final = 0.002

_BODY: Final = b"a" * SMALL


class RememberingNode:
    """A node whose answers are remembered, so that a repeated question takes no round trip."""

    def __init__(self, url: str) -> None:
        self._node, self._answers = HTTPProvider(url), dict[str, Any]()

    def make_request(self, method: str, parameters: Sequence[Any]) -> Any:
        """Answer from memory, or ask the node."""
        key = f"{method} {parameters}"
        if key not in self._answers:
            self._answers[key] = self._node.make_request(method, parameters)
        return self._answers[key]


class _Recording(Verifier):
    """A verifier that keeps the paid requests that it verifies."""

    paid: PaidRequest

    def verify(self, paid: PaidRequest, *, historical: bool = False) -> Any:
        """Keep a paid request, and verify it."""
        self.paid = paid
        return super().verify(paid, historical=historical)


def verification_seconds(rpc: str, count: int) -> float:
    """Return the median time of a verification whose files and node answers are known.

    Args:
        rpc: The URL of an anvil.
        count: The number of verifications.
    """
    with open_shop(rpc, 1) as shop, _Recording({RememberingNode(shop.rpc): shop.deployment}) as verifier:
        client = protect_client(shop.market.client(), verifier)
        with verifying_session(client, verifier) as session:
            first = verification_of(session.post(shop.url + "/echo", data=_BODY))
        assert first is not None  # noqa: S101  # a measurement of failures would be none
        assert first.is_verified, first.problems  # noqa: S101
        taken = []
        for _ in range(count):
            begun = time.perf_counter()
            verification = verifier.verify(verifier.paid)
            taken.append(time.perf_counter() - begun)
            assert verification.is_verified  # noqa: S101
    return statistics.median(taken)


@dataclass(frozen=True)
class Verdict:
    """A figure beside its limit.

    Attributes:
        figure: The figure.
        limit: Its limit.
        holds: True if it is within the limit.
        floor: The lowest figure that hashing the bodies leaves, if that is above the limit; empty otherwise.
        is_near_floor: True if it is at most a tenth above that floor.
    """

    figure: str
    limit: str
    holds: bool
    floor: str = ""
    is_near_floor: bool = False

    @property
    def is_accepted(self) -> bool:
        """True if the figure fails no run."""
        return self.holds or self.is_near_floor

    @property
    def text(self) -> str:
        """The verdict in words."""
        missed = f"missed: hashing alone makes it {self.floor}" if self.floor else "missed"
        return "holds" if self.holds else missed

    @property
    def cells(self) -> tuple[str, str, str]:
        """The cells of a table."""
        return self.figure, self.limit, self.text

    @classmethod
    def of_large(cls, overhead: Overhead, hashing: float) -> "Verdict":
        """Judge requests with large bodies, whose hash nothing can overlap.

        Args:
            overhead: Their times.
            hashing: The time of the hash, in seconds.
        """
        lowest = 1 + hashing / overhead.bare
        floor = f"{lowest:.2f} times" if lowest > MAX_RATIO else ""
        is_near = bool(floor) and overhead.ratio <= lowest * 1.1
        return cls(f"{overhead.ratio:.2f} times", f"{MAX_RATIO} times", overhead.ratio <= MAX_RATIO, floor, is_near)


def hashing_seconds(size: int) -> float:
    """Return the shortest time in which two bodies are hashed, which no settlement can overlap: its hash comes first.

    Args:
        size: The size of a body, in bytes.
    """
    body, taken = bytes(size), []
    for _ in range(5):
        begun = time.perf_counter()
        interaction_hash("task", body, body)
        taken.append(time.perf_counter() - begun)
    return min(taken)


def main() -> int:
    """Measure, print, and return 1 if a figure is above its limit."""
    logger.set_level(LogLevel.WARNING)
    small, ready = measure(SMALL, 300), measure(LARGE, 7)
    with running_anvil() as url:
        seconds = verification_seconds(url, 300)
        with open_market(url) as market:
            large = measure(LARGE, 7, market)
    hashing = hashing_seconds(LARGE)
    added = Verdict(f"+{small.added * 1000:.2f} ms", f"+{MAX_ADDED * 1000:.0f} ms", small.added <= MAX_ADDED)
    verdicts = {
        ("1 kB", small): added,
        ("30 MB, settled on a chain", large): Verdict.of_large(large, hashing),
        ("30 MB, settled at once", ready): Verdict.of_large(ready, hashing),
    }
    checked = Verdict(f"{seconds * 1000:.2f} ms", f"{MAX_VERIFICATION * 1000:.0f} ms", seconds <= MAX_VERIFICATION)
    rows = [
        (kind, f"{overhead.bare * 1000:.2f} ms", f"{overhead.signed * 1000:.2f} ms", *verdict.cells)
        for (kind, overhead), verdict in verdicts.items()
    ]
    rows.append(("verification", "", "", *checked.cells))
    rows.append(("keccak-256 of two bodies of 30 MB", "", "", f"{hashing * 1000:.0f} ms", "", ""))
    columns = ("what", "bare SDK", "with the extension", "figure", "at most", "verdict")
    print_table("Paid requests, medians", *columns, rows=rows)
    return 0 if checked.holds and all(verdict.is_accepted for verdict in verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
