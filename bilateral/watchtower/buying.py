"""Paid probes: buy from sellers to see whether they deliver, within a strict budget.

The money is reserved in the ledger before a payment is signed, and stays reserved whatever the outcome. A payment is
signed for exactly the terms that were checked, and sent once.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, Final

import sqlalchemy as sa
from eth_abi.exceptions import EncodingError
from eth_account.messages import encode_typed_data
from x402 import x402ClientSync
from x402.http import x402HTTPClientSync
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas import PaymentRequired

from bilateral.client import TransactionSigner
from bilateral.core.errors import DocumentError
from bilateral.documents.exchanges import Answer, exchange
from bilateral.documents.http import Limits, Network
from bilateral.index.measurements.values import DAY, Protocol, Target
from bilateral.index.payments.terms import MICROS
from bilateral.watchtower.store import purchase
from bilateral.x402.offers import PAYMENT_REQUIRED, read_offer

_LATE_MILLISECONDS: Final = 30_000
_LIMITS: Final = Limits(bytes=1024 * 1024, seconds=120.0, redirects=0)
_METHOD: Final = "eip3009"


class Purchase(StrEnum):
    """The outcomes of a paid probe. Nothing was paid if the outcome is listed before `DELIVERED`."""

    NO_OFFER = "no_offer"
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105
    TOO_EXPENSIVE = "too_expensive"
    PRICE_RAISED = "price_raised"
    DECLINED = "declined"
    BOUGHT_BEFORE = "bought_before"
    OVER_BUDGET = "over_budget"
    DELIVERED = "delivered"
    LATE = "late"
    WRONG_TYPE = "wrong_type"
    NOT_DELIVERED = "not_delivered"


@dataclass(frozen=True)
class Budget:
    """The limits for paid probes.

    Attributes:
        tokens: The tokens that are worth a dollar, with their decimals, keyed by network (CAIP-2) and lower-case
            address.
        micros_of_call: The maximum per payment, in millionths of a dollar.
        micros_of_day: The maximum per UTC day, in millionths of a dollar.
    """

    tokens: Mapping[tuple[str, str], int]
    micros_of_call: int = 50_000
    micros_of_day: int = 5_000_000


@dataclass(frozen=True)
class Buyer:
    """Buys from sellers.

    Args:
        engine: The watchtower's database, which contains the ledger.
        signer: The paying key. It should hold little more than a few days' budget.
        declines: Returns whether a check declines to pay an agent on given terms.
    """

    engine: sa.Engine
    signer: TransactionSigner
    budget: Budget
    declines: Callable[[str, Mapping[str, Any]], bool]
    network: Network = field(default_factory=Network)
    clock: Callable[[], float] = time.time

    def buy(self, target: Target, facts: Mapping[str, Any]) -> Purchase:  # noqa: PLR0911  # reasons not to pay
        """Buy from a seller at most once a week, or twice if the seller did not deliver the first time.

        Args:
            facts: The facts from the last unpaid probe of the seller, which contain the maximum price to pay.
        """
        agent = min(target.agents, default=None)
        method = facts.get("method") or target.method or "GET"
        if agent is None or target.protocol is not Protocol.X402 or not (price := self._ask(target, method, {})):
            return Purchase.NO_OFFER
        offer = read_offer(price.headers.get(PAYMENT_REQUIRED), b"")
        priced = [(micros, option) for option in offer.whole_options if (micros := self._micros(option)) is not None]
        if not priced:
            return Purchase.UNKNOWN_TOKEN if offer.whole_options else Purchase.NO_OFFER
        micros, option = min(priced, key=itemgetter(0))
        listed = (facts.get("price") or {}).get(f"{option['scheme']} {option['network']} {option['asset']}")
        if micros > self.budget.micros_of_call:
            return Purchase.TOO_EXPENSIVE
        if listed is None or int(option["amount"]) > int(listed):
            return Purchase.PRICE_RAISED
        if any(self.declines(listing, option) for listing in target.agents):
            return Purchase.DECLINED
        message, number = offer.message or {}, self._reserve(target, agent, micros)
        if isinstance(number, Purchase):
            return number
        try:
            outcome = _judged(self._ask(target, method, self._signed({**message, "accepts": [option]})), message)
        except (ValueError, TypeError, EncodingError):  # from the SDK, for terms that it cannot sign
            outcome = Purchase.NO_OFFER
        with self.engine.begin() as connection:
            of_number = purchase.c.number == number
            connection.execute(sa.update(purchase).where(of_number).values(outcome=str(outcome)))
        return outcome

    def _micros(self, option: Mapping[str, Any]) -> int | None:
        """Return the price in millionths of a dollar, rounded up; None for other tokens and kinds of payment."""
        decimals = self.budget.tokens.get((option["network"], option["asset"].lower()))
        extra = option.get("extra")
        method = extra.get("assetTransferMethod", _METHOD) if isinstance(extra, dict) else None
        if decimals is None or option["scheme"] != "exact" or method != _METHOD:
            return None
        return -(-int(option["amount"]) * 10**MICROS // int(10**decimals))

    def _reserve(self, target: Target, agent: str, micros: int) -> int | Purchase:
        """Reserve the money permanently if it is within budget and the seller was not tried this week."""
        now, columns = int(self.clock()), purchase.c
        with self.engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("LOCK TABLE purchase IN EXCLUSIVE MODE"))
            is_this_week = columns.at >= now // (7 * DAY) * 7 * DAY
            query = sa.select(columns.outcome).where(is_this_week, columns.agent == agent)
            before = connection.execute(query).scalars().all()
            if before and before != [Purchase.NOT_DELIVERED]:
                return Purchase.BOUGHT_BEFORE
            total = sa.select(sa.func.sum(columns.micros)).where(columns.at >= now // DAY * DAY)
            if int(connection.execute(total).scalar_one() or 0) + micros > self.budget.micros_of_day:
                return Purchase.OVER_BUDGET
            values = {"agent": agent, "endpoint_id": target.endpoint_id, "at": now, "micros": micros}
            number = connection.execute(sa.insert(purchase).values(values).returning(columns.number)).scalar_one()
        return int(number)

    def _signed(self, message: Mapping[str, Any]) -> dict[str, str]:
        def sign(**typed_data: Any) -> Any:
            return self.signer.sign_message(encode_typed_data(**typed_data))

        # The SDK requires a LocalAccount, but only uses these two members.
        account: Any = SimpleNamespace(address=self.signer.address, sign_typed_data=sign)
        client = register_exact_evm_client(x402ClientSync().set_spend_controls(False), EthAccountSigner(account))
        sdk = x402HTTPClientSync(client)
        payment = sdk.create_payment_payload(PaymentRequired.model_validate(message))
        return dict(sdk.encode_payment_signature_header(payment))

    def _ask(self, target: Target, method: str, headers: Mapping[str, str]) -> Answer | None:
        body = b"{}" if method == "POST" else None
        headers = {**headers, "Content-Type": "application/json"} if body else headers
        with suppress(DocumentError):
            return exchange(method, target.url, _LIMITS, self.network, headers=headers, body=body)
        return None


def _judged(answer: Answer | None, message: Mapping[str, Any]) -> Purchase:
    if answer is None or answer.status >= HTTPStatus.MULTIPLE_CHOICES:
        return Purchase.NOT_DELIVERED
    resource = message.get("resource")
    declared = resource.get("mimeType") if isinstance(resource, dict) else None
    if isinstance(declared, str) and declared and declared.lower() != answer.media_type:
        return Purchase.WRONG_TYPE
    return Purchase.LATE if answer.milliseconds > _LATE_MILLISECONDS else Purchase.DELIVERED
