"""`bilateral buyer discount`, `feedback`, `publish`, `send-review`, `dispute` and other messages to a service."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.index_options import require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, flag, option, optional
from bilateral.cli.terms import bytes_of, fields_of, json_of
from bilateral.core.errors import InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

    from bilateral.buyers.remote import PaymentProof
    from bilateral.client import Client


Service = Annotated[
    str, option("URL", "The URL of the service for buyers.", "--service", envvar="BILATERAL_BUYER_SERVICE")
]
Agent = Annotated[str, option("AGENT", "The agent, as eip155:8453:0x…#247.", "--seller")]
Note = Annotated[str, option("TEXT", "A remark, which may be published.", "--note")]
Gate = Annotated[
    str | None, option("ADDRESS", "The contract where the credential is used; it inherits BuyerTierGated.", "--gate")
]


def buyers_module(name: str) -> ModuleType:
    """Import a module of `bilateral.buyers`, which may need the `x402` extra."""
    try:
        return import_module(f"bilateral.buyers.{name}")
    except ModuleNotFoundError as missing:
        raise MissingExtraError("x402", [str(missing.name)]) from None


@dataclass(frozen=True, kw_only=True)
class PaymentOptions:
    """The payment that a message is about, and the service that receives the message."""

    transaction: Annotated[str, option("HASH", "The payment's transaction hash.")]
    seller: Agent
    service: Service
    payee: str | None = optional("ADDRESS", "The wallet that was paid; the signer by default.")
    log_index: int | None = optional(None, "The payment's log, if several logs in the transaction match.", min=0)

    def payment(self, buyer: str, signer: str) -> PaymentProof:
        """Return the payment as a proof."""
        from bilateral.buyers.remote import PaymentProof  # noqa: PLC0415  # slow to import

        transaction = bytes_of(self.transaction, "--transaction")
        return PaymentProof(buyer, self.seller, self.payee or signer, transaction, self.log_index)


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Where a credential is used: a gate contract or a scope."""

    gate: Gate = None
    scope: str | None = optional("WORD", "32 bytes that identify where the credential is used, instead of --gate.")

    def require(self) -> None:
        """Check that exactly one place is specified."""
        if (self.gate is None) is (self.scope is None):
            raise InvalidArgumentError("pass exactly one of --gate and --scope to specify where the credential is used")

    def on(self, chain_id: int) -> bytes:
        """Return the place's 32-byte scope."""
        from bilateral.buyers.credentials import gate_scope  # noqa: PLC0415  # slow to import

        return bytes_of(self.scope, "--scope") if self.gate is None else gate_scope(chain_id, self.gate)


_URI: Final = re.compile(r"(https?|ipfs|data):", re.IGNORECASE)

Buyer = Annotated[str, argument("BUYER", "The account that pays.")]
OptionalService = Annotated[
    str | None, option("URL", "The URL of the service for buyers.", "--service", envvar="BILATERAL_BUYER_SERVICE")
]
ScoringPolicy = Annotated[
    str | None, option("NAME", "The scoring policy to apply; by default, the service's own.", "--policy")
]
Seller = Annotated[str | None, option("AGENT", "The paid agent, as eip155:8453:0x…#247.", "--seller")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group."""
    command(app)(discount)
    for function in (feedback, publish, send_review, dispute, messages, reply, request_credential):
        command(app, is_local=True, signs=True)(function)


def discount(  # noqa: PLR0913, PLR0917  # one an option
    invocation: Invocation,
    buyer: Buyer,
    seller: Seller = None,
    service: OptionalService = None,
    incentives: str | None = optional(
        "FILE|URL", "Apply the seller's policy in this JSON document to the score that `buyer show` prints."
    ),
    policy: ScoringPolicy = None,
) -> None:
    """Show the discount that a seller offers a buyer.

    The score is the one that `buyer show` reports: from the service if one is specified, or else from the on-chain
    registry. The output lists its sources.
    """
    if incentives is not None:
        if seller is not None:
            raise InvalidArgumentError("pass --incentives or --seller, not both")
        invocation.output.result(_by_policy(invocation, buyer, incentives, service, policy), title="Discount")
        return
    if service is None or seller is None:
        raise InvalidArgumentError("pass either --incentives, or both --service and --seller")
    discount = buyers_module("remote").ask_discount(service, buyer, seller, policy=policy)
    source = _source_of_service(service, discount.get("scoringPolicy"), None)
    invocation.output.result({**discount, "sources": [source]}, title="Discount")


def feedback(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    buyer: Buyer,
    score: Annotated[int, option("NUMBER", "The score of the buyer, from 0 to 100.")],
    paid: PaymentOptions,
    tags: list[str] | None = optional("TAG", "A word that describes the buyer; may be repeated.", "--tag"),
    note: Note = "",
) -> None:
    """As the agent's owner or wallet, give feedback on the buyer who made a payment. Sends no transaction."""
    remote, signer = buyers_module("remote"), invocation.signer
    paid_feedback = remote.PaidFeedback(paid.payment(buyer, str(signer.address)), score, tuple(tags or ()), note)
    accepted = remote.send(paid.service, paid_feedback, signer)
    invocation.output.result(dict(accepted), title="Feedback given")


def _read(invocation: Invocation, place: str) -> bytes:
    if _URI.match(place):
        return invocation.loader().load(place).content
    return invocation.read_file(Path(place))


def answer_about(invocation: Invocation, service: str, buyer: str, policy: str | None) -> dict[str, Any]:
    """Return a buyer's profile from a service, including a description of the source."""
    profile = buyers_module("remote").ask_buyer(service, buyer, chain_id=invocation.settings.chain, policy=policy)
    reputation = profile.get("reputation")
    fields: dict[str, Any] = reputation if isinstance(reputation, dict) else {}
    source = _source_of_service(service, fields.get("scoringPolicy"), profile.get("asOfBlock"))
    return {"score": fields.get("score"), "tier": fields.get("tier"), **profile, "sources": [source]}


def source_on_chain(client: Client) -> dict[str, Any]:
    """Describe the buyer registry as a source in the output."""
    from bilateral.core.contracts import Registry  # noqa: PLC0415  # slow to import

    deployment = client.get_deployment()
    registry = f"eip155:{deployment.chain_id}:{deployment.address_of(Registry.BUYERS)}"
    return {"source": "registry", "registry": registry, "counts": "settled and attested payments"}


def _source_of_service(service: str, policy: Any, block: Any) -> dict[str, Any]:
    fields = {
        "source": "service",
        "service": buyers_module("remote").base_of(service),
        "scoring_policy": policy,
        "as_of_block": block,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _by_policy(
    invocation: Invocation, buyer: str, place: str, service: str | None, policy: str | None
) -> dict[str, Any]:
    require_extra()
    from bilateral.buyers.discounts import discount_by, facts_of, facts_of_profile, incentives_of  # noqa: PLC0415
    from bilateral.buyers.records import standing_of  # noqa: PLC0415  # slow, and an extra
    from bilateral.client.operations import registries  # noqa: PLC0415
    from bilateral.core.identifiers import checksummed  # noqa: PLC0415

    incentives = incentives_of(json_of(_read(invocation, place)))
    if service is not None:
        profile = answer_about(invocation, service, buyer, policy)
        facts, sources = facts_of_profile(profile), profile["sources"]
    else:
        with invocation.reading() as client:
            records, now = client.get_buyer_records(buyer), int(client.runner.run(registries.block_time()).timestamp())
            facts = facts_of(standing_of(records, client.get_deployment().chain_id, now))
            sources = [source_on_chain(client)]
    discount = discount_by(incentives, facts)
    return {
        "buyer": checksummed(buyer),
        "tier": facts.tier,
        "score": facts.score,
        "percentage": discount.percentage,
        "verdict": discount.verdict,
        "reason": discount.reason,
        "warnings": list(discount.warnings),
        "sources": sources,
    }


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(PaymentOptions):
    """A payment that the signer made."""

    payee: str = option("ADDRESS", "The wallet that you paid.")


def publish(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    name: Annotated[str, argument("NAME", "The name of the service.")],
    seller: Agent,
    service: Service,
    price: str | None = optional("DOLLARS", "The price per call, in dollars."),
    incentives: Path | None = optional("FILE", "The policy for buyers: a JSON file with buyerIncentives."),
    details: Path | None = optional("FILE", "A JSON file with additional fields (docs/buyers.md)."),
) -> None:
    """Publish one of your agent's services with its price and buyer policy. Replaces any service with that name."""
    policy = None if incentives is None else json_of(invocation.read_file(incentives))
    if isinstance(policy, dict):
        policy = policy.get("buyerIncentives", policy)
    further = {} if details is None else json_of(invocation.read_file(details))
    if not isinstance(further, dict) or not isinstance(policy, dict | None):
        raise InvalidArgumentError("the files for --incentives and --details must each contain a JSON object")
    remote = buyers_module("remote")
    offer = remote.ServiceOffer(seller, name, _price(price), policy, further)
    accepted = remote.send(service, offer, invocation.signer)
    invocation.output.result(dict(accepted), title="Service published")


def send_review(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    score: Annotated[int, argument("SCORE", "The score to give, from 0 to 100.")],
    paid: ReviewOptions,
    tag1: str = option("TAG", "The main tag.", default=""),
    tag2: str = option("TAG", "The second tag.", default=""),
    note: Note = "",
) -> None:
    """As the buyer, review a seller that you paid. Sends no transaction."""
    remote, signer = buyers_module("remote"), invocation.signer
    payment = paid.payment(str(signer.address), str(signer.address))
    accepted = remote.send(paid.service, remote.PaidReview(payment, score, tag1, tag2, note), signer)
    invocation.output.result(dict(accepted), title="Review given")


def dispute(
    invocation: Invocation,
    buyer: Annotated[str, argument("BUYER", "The account that paid.")],
    paid: PaymentOptions,
    reason: str = option("TEXT", "The reason, which the buyer sees.", default=""),
    withdraw: bool = flag("--withdraw", "Withdraw a dispute you filed."),
) -> None:
    """File a dispute about a payment to your agent, or withdraw it. Sends no transaction."""
    remote, signer = buyers_module("remote"), invocation.signer
    payment = paid.payment(buyer, str(signer.address))
    accepted = remote.send(paid.service, remote.PaidDispute(payment, reason, withdraw), signer)
    invocation.output.result(dict(accepted), title="Dispute withdrawn" if withdraw else "Dispute filed")


def messages(
    invocation: Invocation,
    service: Service,
    chain_id: Annotated[int, typer.Option(min=1, help="The chain on which the payments were made.")],
) -> None:
    """As the buyer, show the feedback and disputes about you, with their ids for `reply`. Others cannot see them."""
    published = buyers_module("remote").ask_messages(service, chain_id, invocation.signer)
    invocation.output.result([dict(message) for message in published], title="Messages")


def reply(  # one a field of the message
    invocation: Invocation,
    message: Annotated[str, argument("MESSAGE", "The message's id, as shown by `messages`.")],
    text: Annotated[str, option("TEXT", "The reply.")],
    seller: Agent,
    service: Service,
) -> None:
    """As the buyer, reply to a feedback entry or dispute about you. You can reply to each only once."""
    remote = buyers_module("remote")
    accepted = remote.send(service, remote.MessageReply(message, seller, text), invocation.signer)
    invocation.output.result(dict(accepted), title="Reply given")


def request_credential(  # noqa: PLR0913, PLR0917  # one a field of the wish
    invocation: Invocation,
    holder: Annotated[str, argument("HOLDER", "The address that may use the credential, preferably a new one.")],
    service: Service,
    chain_id: Annotated[int, typer.Option(min=1, help="The chain on which the payments were made.")],
    place: PlaceOptions,
    policy: str = option("NAME", "The scoring policy that the server or contract requires.", default="brp-1.0"),
) -> None:
    """Request a credential for your tier that a different address can use, in the format that `credential` reads."""
    place.require()
    request, scope = buyers_module("remote").request_credential, place.on(chain_id)
    issued = request(service, holder, invocation.signer, chain_id=chain_id, scope=scope, policy=policy)
    signed = {"credential": fields_of(issued.credential), "signature": "0x" + issued.signature.hex()}
    invocation.output.raw(json.dumps(signed))


def _price(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        price = Decimal(text) if text.isascii() and "_" not in text else Decimal("NaN")
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        raise InvalidArgumentError(f"--price {text[:40]!r} is not an amount in dollars, such as 0.05")
    return price
