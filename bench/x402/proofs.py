"""`python -m bench.x402.proofs [COUNT]`: many paid requests at once lose and mix no proof. The default is 10,000.

Each request has a body of its own. Each answer must have a proof of exactly its bodies and of a transaction of its own.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
from ape.logging import LogLevel, logger
from x402.http import decode_payment_required_header, encode_payment_signature_header

from bench.report import options
from bench.x402.shop import KEY, Shop, open_shop
from bilateral.x402 import InteractionData, SettlementReceipt, interaction_hash
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.keys import is_signature_of
from scripts._anvil import running_anvil

AT_ONCE: Final = 20

_SECONDS_BETWEEN_LINES: Final = 30.0


def play(shop: Shop, count: int, show: Callable[[int], None] = lambda _: None) -> int:
    """Send paid requests, twenty at a time, and check each proof.

    Args:
        shop: The shop.
        count: The number of requests.
        show: Called with the number of checked answers.

    Returns:
        The number of different transactions, which is that of the requests.

    Raises:
        AssertionError: A proof is missing, or is of other bodies.
    """
    seen: set[str] = set()
    payers = [shop.market.client(number) for number in range(len(shop.market.payers))]
    limits = httpx.Limits(max_connections=2 * AT_ONCE)
    with httpx.Client(base_url=shop.url, timeout=600, limits=limits) as http, ThreadPoolExecutor(AT_ONCE) as pool:
        required = decode_payment_required_header(http.post("/echo").headers["payment-required"])

        def one(number: int) -> str:
            body = f"request {number} of {count} ".encode() * (1 + number % 50)
            header = encode_payment_signature_header(payers[number % len(payers)].create_payment_payload(required))
            response = http.post("/echo", content=body, headers={"PAYMENT-SIGNATURE": header})
            settlement = decode_header(response.headers.get("payment-response"))
            assert (response.status_code, response.content) == (200, body), f"{response.text[:200]} {settlement}"  # noqa: S101
            receipt = SettlementReceipt.of(settlement)
            interaction = InteractionData.of(receipt.interaction)
            assert interaction.interaction_hash == interaction_hash(interaction.task_ref, body, body)  # noqa: S101
            assert is_signature_of(interaction.interaction_hash, interaction.signature, KEY.public_key, KEY.algorithm)  # noqa: S101
            return interaction.task_ref

        for task_ref in pool.map(one, range(count)):
            seen.add(task_ref)
            show(len(seen))
    assert len(seen) == count, f"{count} requests have {len(seen)} transactions"  # noqa: S101
    return len(seen)


def main() -> int:
    """Play, and print the progress."""
    count = options(__doc__, "count", count=10_000).count
    logger.set_level(LogLevel.WARNING)
    began = last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{done:,} of {count:,} paid requests, {last - began:.0f} s", flush=True)

    with running_anvil() as url, open_shop(url, AT_ONCE) as shop:
        proven = play(shop, count, show)
        assert shop.extension.unsigned_responses == 0  # noqa: S101
    print(f"{proven:,} paid requests, {AT_ONCE} at a time: each has a proof of its own bodies and its own transaction.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
