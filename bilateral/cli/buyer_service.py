"""`bilateral buyer discount` and `bilateral buyer feedback`: what a service for buyers answers, and takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.buyer_options import Note, PaymentOptions, buyers_module
from bilateral.cli.help import argument, option, optional
from bilateral.cli.index_options import require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bilateral.client import Client

_URI: Final = re.compile(r"(https?|ipfs|data):", re.IGNORECASE)

Buyer = Annotated[str, argument("BUYER", "The account that pays.")]
Service = Annotated[str | None, option("URL", "The service for buyers.", "--service", envvar="BILATERAL_BUYER_SERVICE")]
ScoringPolicy = Annotated[
    str | None, option("NAME", "The scoring policy of the service; its own one if left out.", "--policy")
]
Seller = Annotated[str | None, option("AGENT", "The paid agent, as eip155:8453:0x…#247.", "--seller")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group."""
    command(app)(discount)
    command(app, is_local=True, signs=True)(feedback)


def discount(  # noqa: PLR0913, PLR0917  # one an option
    invocation: Invocation,
    buyer: Buyer,
    seller: Seller = None,
    service: Service = None,
    incentives: str | None = optional(
        "FILE|URL", "Apply the seller's policy in this JSON document to the buyer's score, which show shows."
    ),
    policy: ScoringPolicy = None,
) -> None:
    """Show the discount that a seller gives a buyer.

    The score is that of `show`: of the service if one is named, else of both records on chain. The answer names its
    sources.
    """
    if incentives is not None:
        if seller is not None:
            raise InvalidArgumentError("name either --incentives or --seller")
        invocation.output.result(_by_policy(invocation, buyer, incentives, service, policy), title="Discount")
        return
    if service is None or seller is None:
        raise InvalidArgumentError("name the service by --service and the agent by --seller, or give --incentives")
    discount = buyers_module("remote").ask_discount(service, buyer, seller, policy=policy)
    source = _source_of_service(service, discount.get("scoringPolicy"), None)
    invocation.output.result({**discount, "sources": [source]}, title="Discount")


def feedback(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    buyer: Buyer,
    score: Annotated[int, option("NUMBER", "0 to 100.")],
    paid: PaymentOptions,
    tags: list[str] | None = optional("TAG", "A word on the buyer; may be repeated.", "--tag"),
    note: Note = "",
) -> None:
    """Give feedback on the buyer of one payment, as the agent's owner or wallet. Sends no transaction."""
    remote, signer = buyers_module("remote"), invocation.signer
    paid_feedback = remote.PaidFeedback(paid.payment(buyer, str(signer.address)), score, tuple(tags or ()), note)
    taken = remote.send_feedback(paid.service, paid_feedback, signer)
    invocation.output.result(dict(taken), title="Feedback given")


def _read(invocation: Invocation, place: str) -> bytes:
    """Read a file that the user names, or load the document of a stranger behind a URI."""
    if _URI.match(place):
        return invocation.loader().load(place).content
    return invocation.read_file(Path(place))


def answer_about(invocation: Invocation, service: str, buyer: str, policy: str | None) -> dict[str, Any]:
    """Return the profile of a buyer by a service, with its source."""
    profile = buyers_module("remote").ask_buyer(service, buyer, chain_id=invocation.settings.chain, policy=policy)
    reputation = profile.get("reputation")
    known: dict[str, Any] = reputation if isinstance(reputation, dict) else {}
    source = _source_of_service(service, known.get("scoringPolicy"), profile.get("asOfBlock"))
    return {"score": known.get("score"), "tier": known.get("tier"), **profile, "sources": [source]}


def source_on_chain(client: Client) -> dict[str, Any]:
    """Return the registry of buyers as the source of an answer."""
    from bilateral.core.contracts import Registry  # noqa: PLC0415  # slow to import

    deployment = client.get_deployment()
    registry = f"eip155:{deployment.chain_id}:{deployment.address_of(Registry.BUYERS)}"
    return {"source": "registry", "registry": registry, "counts": "settled and attested payments"}


def _source_of_service(service: str, policy: Any, block: Any) -> dict[str, Any]:
    known = {
        "source": "service",
        "service": buyers_module("remote").base_of(service),
        "scoring_policy": policy,
        "as_of_block": block,
    }
    return {name: value for name, value in known.items() if value is not None}


def _by_policy(
    invocation: Invocation, buyer: str, place: str, service: str | None, policy: str | None
) -> dict[str, Any]:
    """Apply a seller's policy, in a file or behind a URI, to a buyer as a service or the records on chain show it."""
    require_extra()
    from bilateral.buyers.discounts import discount_by, facts_of, facts_of_profile, incentives_of  # noqa: PLC0415
    from bilateral.buyers.records import standing_of  # noqa: PLC0415  # slow, and an extra
    from bilateral.cli.terms import json_of  # noqa: PLC0415
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
