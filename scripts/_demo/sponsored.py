"""A part of the chapter of paid requests: a client reviews through an aggregator, which pays the gas."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx

from bilateral.api.aggregator import FEEDBACK_PATH
from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.dev.servers import serving
from bilateral.index.log.database import open_database
from bilateral.x402 import RESPONSE_DELAYED
from bilateral.x402.aggregator.client import give_sponsored_feedback
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain

if TYPE_CHECKING:
    from bilateral.x402 import Verification
    from scripts._demo.paid import Market

LATE_SCORE, SMALLEST_PAYMENT, BUDGET = 40, 1_000, 10**18
SECONDS = 30


def review(market: Market, verification: Verification) -> None:
    """Review a paid answer through an aggregator.

    Args:
        market: The market.
        verification: The verification of the answer.
    """
    stage, client = market.stage, market.stage.account("client")
    chain = SponsoredChain(
        stage.url,
        market.deployment,
        market.key("sponsor"),
        {str(market.token.address): SMALLEST_PAYMENT},
        budget=BUDGET,
        confirmations=1,
        poll_seconds=0.05,
    )
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        database = f"sqlite:///{folder}/index.sqlite"
        open_database(database).dispose()
        app = create_app(ApiSettings(database=database, rate=None, aggregator=AggregatorSettings((chain,))))
        http = stack.enter_context(httpx.Client(base_url=stack.enter_context(serving(app)), timeout=SECONDS))
        with stage.step("For a late answer it signs a review, and an aggregator checks it and pays the gas.") as step:
            ether = client.balance
            with market.registries("client") as registries:
                taken = give_sponsored_feedback(
                    registries,
                    verification,
                    LATE_SCORE,
                    market.key("client"),
                    RESPONSE_DELAYED,
                    aggregator=FEEDBACK_PATH,
                    send_bodies=True,
                    http=http,
                )
            state = _confirmed(http, taken.id)
            step.check("proof", taken.proof, "bound")
            step.check("state", state, "confirmed")
            step.check("ether that the client spent", ether - client.balance, 0)
        with stage.step("Everybody reads in its log that it takes bad reviews, too.") as step:
            (entry,) = http.get(FEEDBACK_PATH).json()["items"]
            step.check("value", entry["value"], LATE_SCORE)
            step.check("transaction", entry["transaction"], taken.transaction)


def _confirmed(http: httpx.Client, number: int) -> str:
    """Wait until a feedback is confirmed, and return its state."""
    end = time.monotonic() + SECONDS
    while True:
        state = str(http.get(f"{FEEDBACK_PATH}/{number}").json()["state"])
        if state in {"confirmed", "failed"} or time.monotonic() > end:
            return state
        time.sleep(0.05)
