"""`bilateral buyer publish`, `send-review`, `dispute`, `messages` and `reply`: messages to a service for buyers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from bilateral.cli.buyer_options import Agent, Note, PaymentOptions, PlaceOptions, Service, buyers_module
from bilateral.cli.help import argument, flag, option, optional
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command
from bilateral.core.errors import InvalidArgumentError


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(PaymentOptions):
    """A payment that the signer made."""

    payee: str = option("ADDRESS", "The wallet that you paid.")


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group."""
    for function in (publish, send_review, dispute, messages, reply, request_credential):
        command(app, is_local=True, signs=True)(function)


def publish(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    name: Annotated[str, argument("NAME", "The name of the service.")],
    seller: Agent,
    service: Service,
    price: str | None = optional("DOLLARS", "The price of a call in dollars."),
    incentives: Path | None = optional("FILE", "The policy for buyers: a JSON file with buyerIncentives."),
    details: Path | None = optional("FILE", "Further fields: a JSON file, see docs/buyers.md."),
) -> None:
    """Publish a service of your agent with its price and its policy for buyers. It replaces the one with its name."""
    from bilateral.cli.terms import json_of  # noqa: PLC0415  # slow to import

    policy = None if incentives is None else json_of(invocation.read_file(incentives))
    if isinstance(policy, dict):
        policy = policy.get("buyerIncentives", policy)
    further = {} if details is None else json_of(invocation.read_file(details))
    if not isinstance(further, dict) or not isinstance(policy, dict | None):
        raise InvalidArgumentError("the files of --incentives and --details must have a JSON object")
    publishing = buyers_module("publishing")
    offer = publishing.ServiceOffer(seller, name, _price(price), policy, further)
    taken = publishing.publish_service(service, offer, invocation.signer)
    invocation.output.result(dict(taken), title="Service published")


def send_review(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    score: Annotated[int, argument("SCORE", "0 to 100.")],
    paid: ReviewOptions,
    tag1: str = option("TAG", "The main tag.", default=""),
    tag2: str = option("TAG", "The second tag.", default=""),
    note: Note = "",
) -> None:
    """Review a seller that you paid, as the buyer. Sends no transaction."""
    publishing, signer = buyers_module("publishing"), invocation.signer
    payment = paid.payment(str(signer.address), str(signer.address))
    taken = publishing.send_review(paid.service, publishing.PaidReview(payment, score, tag1, tag2, note), signer)
    invocation.output.result(dict(taken), title="Review given")


def dispute(
    invocation: Invocation,
    buyer: Annotated[str, argument("BUYER", "The account that paid.")],
    paid: PaymentOptions,
    reason: str = option("TEXT", "The reason, which the buyer sees.", default=""),
    withdraw: bool = flag("--withdraw", "Withdraw the dispute that you filed."),
) -> None:
    """File a dispute about a payment to your agent, or withdraw it. Sends no transaction."""
    publishing, signer = buyers_module("publishing"), invocation.signer
    payment = paid.payment(buyer, str(signer.address))
    taken = publishing.send_dispute(paid.service, publishing.PaidDispute(payment, reason, withdraw), signer)
    invocation.output.result(dict(taken), title="Dispute withdrawn" if withdraw else "Dispute filed")


def messages(
    invocation: Invocation,
    service: Service,
    chain_id: Annotated[int, typer.Option(min=1, help="The chain of the payments.")],
) -> None:
    """Show the feedback and the disputes about you, with the ids to reply to. Only the buyer itself sees them."""
    published = buyers_module("publishing").ask_messages(service, chain_id, invocation.signer)
    invocation.output.result([dict(message) for message in published], title="Messages")


def reply(  # one a field of the message
    invocation: Invocation,
    message: Annotated[str, argument("MESSAGE", "The id of the message, see messages.")],
    text: Annotated[str, option("TEXT", "The reply.")],
    seller: Agent,
    service: Service,
) -> None:
    """Reply to feedback or a dispute about you, as the buyer: once to each. Sends no transaction."""
    publishing = buyers_module("publishing")
    taken = publishing.send_reply(service, publishing.MessageReply(message, seller, text), invocation.signer)
    invocation.output.result(dict(taken), title="Reply given")


def request_credential(  # noqa: PLR0913, PLR0917  # one a field of the wish
    invocation: Invocation,
    holder: Annotated[str, argument("HOLDER", "The address that may use it; best a fresh one.")],
    service: Service,
    chain_id: Annotated[int, typer.Option(min=1, help="The chain of the payments.")],
    place: PlaceOptions,
    policy: str = option("NAME", "The scoring policy that the place asks for.", default="brp-1.0"),
) -> None:
    """Ask a service for a credential of your tier for another address. Write it as credential reads it."""
    from bilateral.buyers.publishing import request_credential as request  # noqa: PLC0415  # slow to import
    from bilateral.cli.terms import fields_of  # noqa: PLC0415

    place.require()
    buyers_module("publishing")  # says which extra is missing
    made = request(service, holder, invocation.signer, chain_id=chain_id, scope=place.on(chain_id), policy=policy)
    signed = {"credential": fields_of(made.credential), "signature": "0x" + made.signature.hex()}
    invocation.output.raw(json.dumps(signed))


def _price(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        price = Decimal(text) if text.isascii() and "_" not in text else Decimal("NaN")
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        raise InvalidArgumentError(f"--price {text[:40]!r} is not a number of dollars, such as 0.05")
    return price
