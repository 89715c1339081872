"""`bilateral buyer discount` and `bilateral buyer feedback`: what a service for buyers answers, and takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.index import require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command
from bilateral.errors import InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

_BUYER = "0x8004B663056A597Dffe9eCcC1965A193B7388713"
_SELLER = "eip155:8453:0x8004…#247"
_SERVICE = "https://service.example"

_URI: Final = re.compile(r"(https?|ipfs|data):", re.IGNORECASE)

Buyer = Annotated[str, typer.Argument(metavar="BUYER", help="The account that pays.", show_default=False)]
Service = Annotated[
    str | None,
    typer.Option(
        "--service", envvar="BILATERAL_BUYER_SERVICE", metavar="URL", help="The service for buyers.", show_default=False
    ),
]
Seller = Annotated[
    str | None,
    typer.Option("--seller", metavar="AGENT", help="The paid agent, as eip155:8453:0x…#247.", show_default=False),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group.

    Args:
        app: The group.
    """
    command(
        app,
        "discount",
        f"bilateral buyer discount {_BUYER} --seller '{_SELLER}' --service {_SERVICE}",
        f"bilateral buyer discount {_BUYER} --incentives agent-buyer-incentives.json",
        f"bilateral buyer discount {_BUYER} --incentives https://seller.example/.well-known/agent-buyer-incentives.json",
    )(discount)
    command(
        app,
        "feedback",
        f"bilateral buyer feedback {_BUYER} --score 90 --tag prompt-payment --transaction 0x5c1f… --seller '{_SELLER}' "
        f"--service {_SERVICE} --account seller",
        is_local=True,
        signs=True,
    )(feedback)


def discount(
    invocation: Invocation,
    buyer: Buyer,
    seller: Seller = None,
    service: Service = None,
    incentives: Annotated[
        str | None,
        typer.Option(
            "--incentives",
            metavar="FILE|URL",
            help="Apply the seller's policy in this JSON document to the records on chain, and ask no service.",
        ),
    ] = None,
) -> None:
    """Show the discount that a seller gives a buyer: by a service, or by the records on chain."""
    if incentives is not None:
        if service is not None or seller is not None:
            raise InvalidArgumentError("name either --incentives, or --service and --seller")
        invocation.output.result(_by_records(invocation, buyer, incentives), title="Discount")
        return
    if service is None or seller is None:
        raise InvalidArgumentError("name the service by --service and the agent by --seller, or give --incentives")
    found = _remote().ask_discount(service, buyer, seller)
    invocation.output.result(dict(found), title="Discount")


def feedback(  # noqa: PLR0913, PLR0917  # one a field of the message
    invocation: Invocation,
    buyer: Buyer,
    score: Annotated[int, typer.Option("--score", metavar="NUMBER", help="0 to 100.", show_default=False)],
    transaction: Annotated[
        str,
        typer.Option("--transaction", metavar="HASH", help="The transaction of the payment.", show_default=False),
    ],
    seller: Annotated[
        str,
        typer.Option("--seller", metavar="AGENT", help="Your agent, as eip155:8453:0x…#247.", show_default=False),
    ],
    service: Annotated[
        str,
        typer.Option(
            "--service",
            envvar="BILATERAL_BUYER_SERVICE",
            metavar="URL",
            help="The service for buyers.",
            show_default=False,
        ),
    ],
    payee: Annotated[
        str | None,
        typer.Option("--payee", metavar="ADDRESS", help="The wallet that was paid; the signer if left out."),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A word on the buyer; may be repeated.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A remark, which may be published.")] = "",
    log_index: Annotated[
        int | None,
        typer.Option("--log-index", min=0, help="The payment's log, if the transaction has several that fit."),
    ] = None,
) -> None:
    """Give feedback on the buyer of one payment, as the agent's owner or wallet. Sends no transaction."""
    from bilateral.cli.terms import bytes_of  # noqa: PLC0415  # slow to import

    remote, signer = _remote(), invocation.signer
    given = remote.PaidFeedback(
        buyer,
        seller,
        payee or str(signer.address),
        bytes_of(transaction, "--transaction"),
        score,
        tuple(tags or ()),
        note,
        log_index,
    )
    taken = remote.send_feedback(service, given, signer)
    invocation.output.result(dict(taken), title="Feedback given")


def _read(invocation: Invocation, place: str) -> bytes:
    """Read a file that the user names, or load the document of a stranger behind a URI."""
    if _URI.match(place):
        return invocation.loader().load(place).content
    return invocation.read_file(Path(place))


def _remote() -> ModuleType:
    """Return the module that asks a service.

    Raises:
        MissingExtraError: A package that hashes messages is not installed.
    """
    try:
        from bilateral.buyers import remote  # noqa: PLC0415  # slow, and an extra
    except ModuleNotFoundError as missing:
        raise MissingExtraError("x402", [str(missing.name)]) from None
    return remote


def _by_records(invocation: Invocation, buyer: str, place: str) -> dict[str, Any]:
    """Apply a seller's policy, in a file or behind a URI, to the records of a buyer on chain."""
    require_extra()
    from bilateral.buyers.chain import incentives_of, standing_of  # noqa: PLC0415  # slow, and an extra
    from bilateral.buyers.discounts import discount_for  # noqa: PLC0415
    from bilateral.buyers.score import score_of, tier_of  # noqa: PLC0415
    from bilateral.cli.terms import json_of  # noqa: PLC0415
    from bilateral.client.operations import registries  # noqa: PLC0415

    said = json_of(_read(invocation, place))
    policy = incentives_of(said)
    with invocation.reading() as client:
        records, now = client.get_buyer_records(buyer), int(client._run(registries.block_time()).timestamp())
        standing = standing_of(records, client.get_deployment().chain_id, now)
    found, metrics = discount_for(policy, standing), standing.weighed.metrics
    return {
        "buyer": standing.buyer,
        "tier": tier_of(metrics),
        "score": score_of(metrics),
        "percentage": found.percentage,
        "verdict": found.verdict,
        "reason": found.reason,
        "warnings": list(found.warnings),
    }
