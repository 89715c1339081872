"""The speed of the Python package on this machine. Figures are printed and not recorded."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address

from bilateral.client import Client
from bilateral.contracts import Deployment
from bilateral.signatures import (
    Domain,
    FeedbackAuth,
    decode_feedback_auth,
    recover_feedback_auth_signer,
    sign_feedback_auth,
)
from bilateral.values.summaries import Summary, summarize

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRIES = 10_000
CLIENTS = 1_000
SIGNATURES = 500
RUNS = 3

RETURNED = ["address[]", "uint64[]", "int128[]", "uint8[]", "string[]", "string[]", "bool[]"]
TAGS = (("starred", ""), ("uptime", "30days"), ("responseTime", "p95"), ("tradingYield", "month"))

OWNER = Account.from_key(b"\x01" * 32)
DOMAIN = Domain(84532, to_checksum_address(b"\x02" * 20))
AUTH = FeedbackAuth(7, to_checksum_address(b"\x03" * 20), 3, 4_102_444_800, DOMAIN.chain_id)


@dataclass(frozen=True)
class SpeedCase:
    """Something that the package does many times.

    Attributes:
        work: The work, as the table shows it.
        unit: The counted thing.
        count: The number of units in one run.
        prepare: Makes ready, which is not timed, and returns the run.
    """

    work: str
    unit: str
    count: int
    prepare: Callable[[], Callable[[], object]]


def speed(case: SpeedCase) -> int:
    """Time a case.

    Args:
        case: The case.

    Returns:
        How many it does in a second, in the best of a few runs: what else the machine does can only slow it down.
    """
    run = case.prepare()
    return round(case.count / min(_seconds(run) for _ in range(RUNS)))


def returned_feedback(count: int) -> bytes:
    """Return an answer of `readAllFeedback`.

    Args:
        count: The number of its entries.

    Returns:
        The answer as a node gives it.
    """
    numbers = range(count)
    tags = [TAGS[number % len(TAGS)] for number in numbers]
    columns = (
        [(1 + number % CLIENTS).to_bytes(20) for number in numbers],
        [1 + number // CLIENTS for number in numbers],
        [number * 7919 % 10_000 - 100 for number in numbers],
        [number % 3 for number in numbers],
        [tag1 for tag1, _ in tags],
        [tag2 for _, tag2 in tags],
        [number % 10 == 9 for number in numbers],  # noqa: PLR2004  # every tenth is revoked
    )
    return encode(RETURNED, columns)


class AnsweringNode:
    """A node that has its one answer ready, so that only what is done with it takes time."""

    def __init__(self, answer: bytes) -> None:
        """Take the answer to every call of a contract."""
        self._answers = {"eth_chainId": hex(DOMAIN.chain_id), "eth_call": f"0x{answer.hex()}"}

    def make_request(self, method: str, params: Any) -> dict[str, Any]:  # noqa: ARG002  # the same for all
        """Answer."""
        return {"jsonrpc": "2.0", "id": 1, "result": self._answers[method]}


def summary_of(node: AnsweringNode) -> Summary:
    """Read all feedback and sum up what is not revoked.

    Args:
        node: A node that answers as `readAllFeedback` does.

    Returns:
        The summary.
    """
    places = DOMAIN.verifying_contract
    client = Client(node, deployment=Deployment(DOMAIN.chain_id, identity=places, reputation=places))
    entries = client.read_all_feedback(1, include_revoked=True)
    return summarize(entry.stored for entry in entries if not entry.is_revoked)


def signatures(count: int) -> list[bytes]:
    """Sign authorisations of feedback.

    Args:
        count: The number.

    Returns:
        Each in the form that `giveFeedback` takes.
    """
    return [sign_feedback_auth(AUTH, DOMAIN, OWNER) for _ in range(count)]


def signers(feedback_auths: list[bytes]) -> list[str | None]:
    """Take authorisations of feedback apart and find out who signed them.

    Args:
        feedback_auths: Each in the form that `giveFeedback` takes.

    Returns:
        The signers.
    """
    return [
        recover_feedback_auth_signer(*decode_feedback_auth(authorization), DOMAIN) for authorization in feedback_auths
    ]


def _read_and_sum_up() -> Callable[[], object]:
    node = AnsweringNode(returned_feedback(ENTRIES))
    return lambda: summary_of(node)


def _sign() -> Callable[[], object]:
    return lambda: signatures(SIGNATURES)


def _verify() -> Callable[[], object]:
    signed = signatures(1) * SIGNATURES
    return lambda: signers(signed)


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


SPEED_CASES = [
    SpeedCase(f"read_all_feedback of {ENTRIES:,} entries, summed up", "entries", ENTRIES, _read_and_sum_up),
    SpeedCase("sign a FeedbackAuth", "operations", SIGNATURES, _sign),
    SpeedCase("verify a FeedbackAuth", "operations", SIGNATURES, _verify),
]
"""The timed work."""
