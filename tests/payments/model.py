"""What is right for each story, by the requirements alone: no calldata, log or receipt is read here.

A payment is proven if its own authorization moved the money, whoever sent the transaction and whatever stands beside
it. Everything else follows from who was paid how much.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.payments.flaws import CODES
from tests.payments.stories import FREE_AGENTS, STRANGER

LISTED = ("dollar", "taxed")
"""The tokens that the index counts."""

_NEVER_SETTLED = {
    "is cancelled",
    "expires",
    "stays open",
    "names an earlier payment",
    "names a payment of another buyer",
    "names a plain transfer",
    "settles another token",
    "pays past the proxy",
    "pays by an allowance",
    "imitates the contract",
    # The token that was agreed on logs no transfer of its own.
    "settles a token that moves another one",
}
"""The acts in which the named transaction is no settlement of what the buyer signed."""


@dataclass(frozen=True)
class Answer:
    """What a server answers.

    Attributes:
        is_paid: True for the answer; False for a refusal.
        reason: The reason for a refusal.
        has_run: True if the application ran.
    """

    is_paid: bool
    reason: str = ""
    has_run: bool = True


@dataclass(frozen=True)
class Verdict:
    """What a client finds out.

    Attributes:
        problems: The code of each check that fails, by its name; the others pass.
        amount: The amount of the payment; None if none is found.
        ceiling: The ceiling of a metered payment.
        is_delivery: True for an answer without a payment, of which nothing is checked.
        is_provable: False if the node cannot show whether the payment was made.
        has_remark: True for a fact beside the outcome.
    """

    problems: dict[str, str]
    amount: int | None = None
    ceiling: int | None = None
    is_delivery: bool = False
    is_provable: bool = True
    has_remark: bool = False


def arriving(story):
    """Return what arrives of the amount that the seller takes."""
    moved = story.price if story.kind == "permit2-exact" else story.charged
    return moved - moved // 10 if story.coin == "taxed" and story.kind != "eip3009" else moved


def answer(story):
    """Return what the seller's server answers to the first message."""
    if story.flaw:
        return Answer(False, CODES[story.flaw], has_run=False)
    if story.act == "charges too much":
        is_metered = story.kind == "permit2-upto"
        return Answer(False, "settlement_exceeds_ceiling" if is_metered else "settlement_amount_mismatch")
    if story.act == "is overtaken" and arriving(story) < story.price:
        return Answer(False, "transaction_failed")
    if story.charged == 0 and story.seller not in FREE_AGENTS:
        return Answer(False, "nothing_charged")
    return Answer(True)


def second_answer(story):
    """Return what it answers to the second message, which has the same authorization. The application ran once.

    The nonces of payments by Permit2 are looked up first, and are unused while the application runs.
    """
    is_used = story.kind != "eip3009" and not story.act.endswith("at once")
    return Answer(False, "nonce_used" if is_used else "payment_in_progress", has_run=False)


def verdict(story, *, can_trace=True):
    """Return what the buyer's client finds out about a paid answer.

    Args:
        story: The story.
        can_trace: True if the client's node tells which calls another contract made. Without it, a payment by a router
            is neither proven nor disproven.
    """
    if story.charged == 0:
        return Verdict({}, is_delivery=True)
    if story.act == "names no transaction of the chain":
        return Verdict({"payment": "payment_not_found"})
    if story.act in _NEVER_SETTLED:
        return Verdict({"payment": "payment_mismatch"})
    if "by a router" in story.act and story.kind != "eip3009" and not can_trace:
        return Verdict({}, is_provable=False)
    amount, problems = arriving(story), {}
    if story.kind == "permit2-exact" and amount < story.price:
        return Verdict({"payment": "paid_less"})
    # Nobody reports an amount if the seller's own server finds the settlement of an overtaken payment.
    says = "nothing" if story.act == "is overtaken" and story.kind == "permit2-exact" else story.says
    reported = {"the truth": story.charged, "another amount": story.charged + 1}.get(says)
    if reported not in {None, amount}:
        problems["settlement"] = "amount_mismatch"
    if story.seller == STRANGER:
        problems["pay_to"] = "payment_address_mismatch"
    is_metered = story.kind == "permit2-upto"
    has_remark = is_metered and reported is None
    return Verdict(problems, amount, story.price if is_metered else None, has_remark=has_remark)


def settlement(deal, *, has_past=True):
    """Return what the chain shows of what a buyer signed, after the deadline of those that expire.

    Args:
        deal: The deal.
        has_past: True if the node has the states of old blocks. They tell whether a nonce of Permit2 was used before it
            was canceled.

    Returns:
        Whether it was paid, whether it can never be paid any more, and the transaction that paid it.
    """
    signed = deal.authorization
    if signed.state == "used":
        # A token that logs no transfer leaves nothing to find the transaction by.
        is_found = deal.story.act != "settles a token that moves another one"
        return True, False, signed.transaction if is_found else None
    if signed.state == "cancelled" and signed.kind != "eip3009" and not has_past:
        return None, False, None
    return False, signed.state == "cancelled" or deal.story.act == "expires", None


def counted(payments, tokens, wallets, *, can_trace=True):
    """Return those payments that the index counts: proven ones, in a listed token, to an agent.

    Args:
        can_trace: True if the index has a node that tells which calls another contract made.
    """
    listed = {tokens[name] for name in LISTED}
    return [
        payment
        for payment in payments
        if payment.token in listed
        and payment.payee in wallets
        and payment.amount > 0
        and (payment.is_direct or can_trace)
    ]
