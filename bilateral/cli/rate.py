"""`bilateral rate …`: ratings that servers give their clients and validators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bilateral.cli.blind import Vault, vault_at
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command, make_group
from bilateral.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilateral.client import AgentLike

app = make_group("rate")

Subject = Annotated[
    str, typer.Argument(metavar="SUBJECT", help="The agent that is rated: 42 or 84532:42.", show_default=False)
]
Score = Annotated[int, typer.Argument(metavar="RATING", help="0 to 100.", show_default=False)]
Server = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="AGENT",
        help="The agent that rates; the signer's primary agent if left out. The registry refuses if it is another.",
    ),
]
Owner = Annotated[
    str | None,
    typer.Option(
        "--owner",
        metavar="ADDRESS",
        help="The owner of the rated agent; its owner now if left out. The registry refuses if it is another.",
    ),
]
Confirmations = Annotated[
    int,
    typer.Option(
        "--confirmations",
        metavar="N",
        min=1,
        help="Wait until the rated agent has had its owner for N blocks, because a rating is final.",
    ),
]
Interaction = Annotated[
    str | None,
    typer.Option("--blind", metavar="INTERACTION", help="Seal the rating for this interaction: 0x and 64 digits."),
]
ClientAccount = Annotated[
    str | None,
    typer.Option("--client-account", metavar="ADDRESS", help="With --blind: the account that gives the feedback."),
]
Pairs = Annotated[
    list[str], typer.Argument(metavar="AGENT=RATING...", help="Agents with their ratings.", show_default=False)
]


class _Expected(NamedTuple):
    """The facts that a rating depends on, as the client's methods name them."""

    server_id: str | None
    confirmations: int
    timeout: float


@command(
    app,
    "client",
    "bilateral rate client 7 90 --account server",
    "bilateral rate client 7 90 --blind 0x9c2f… --client-account 0xf39F… --account server > server.json",
    writes=True,
)
def client(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    subject: Subject,
    rating: Score,
    server: Server = None,
    owner: Owner = None,
    confirmations: Confirmations = 1,
    blind: Interaction = None,
    client_account: ClientAccount = None,
    vault: Vault = None,
) -> None:
    """Rate a client. A rating is final. With --blind, seal the rating and write its envelope as JSON instead."""
    if blind is not None:
        _seal(invocation, subject, rating, blind, client_account, vault)
        return
    expected = _Expected(server, confirmations, invocation.settings.timeout)
    invocation.write(
        "Client rated", lambda client: client.rate_client(subject, rating, owner=owner, **expected._asdict())
    )


@command(app, "validator", "bilateral rate validator 9 75 --account server", writes=True)
def validator(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    subject: Subject,
    rating: Score,
    server: Server = None,
    owner: Owner = None,
    confirmations: Confirmations = 1,
) -> None:
    """Rate a validator. A rating is final."""
    expected = _Expected(server, confirmations, invocation.settings.timeout)
    invocation.write(
        "Validator rated", lambda client: client.rate_validator(subject, rating, owner=owner, **expected._asdict())
    )


@command(app, "clients", "bilateral rate clients 7=90 8=85 12=40 --account server", writes=True)
def clients(invocation: Invocation, ratings: Pairs, server: Server = None, confirmations: Confirmations = 1) -> None:
    """Rate many clients in one transaction. Ratings are final."""
    pairs, expected = _pairs(ratings), _Expected(server, confirmations, invocation.settings.timeout)
    invocation.write("Clients rated", lambda client: client.rate_clients(pairs, **expected._asdict()))


@command(app, "validators", "bilateral rate validators 9=75 10=80 --account server", writes=True)
def validators(invocation: Invocation, ratings: Pairs, server: Server = None, confirmations: Confirmations = 1) -> None:
    """Rate many validators in one transaction. Ratings are final."""
    pairs, expected = _pairs(ratings), _Expected(server, confirmations, invocation.settings.timeout)
    invocation.write("Validators rated", lambda client: client.rate_validators(pairs, **expected._asdict()))


@command(
    app,
    "show",
    "bilateral rate show 7 --by 1",
    "bilateral rate show 7 8 12 --by 1",
    "bilateral rate show 9 --by 1 --validator",
)
def show(
    invocation: Invocation,
    subjects: Annotated[list[str], typer.Argument(metavar="SUBJECT...", help="The rated agents.", show_default=False)],
    server: Annotated[str, typer.Option("--by", metavar="AGENT", help="The server that rated.", show_default=False)],
    as_validator: Annotated[
        bool, typer.Option("--validator", help="Show ratings as validators, not as clients.")
    ] = False,
) -> None:
    """Show the ratings that a server gave."""
    with invocation.reading() as reading:
        if as_validator:
            ratings = [reading.get_validator_rating(subject, server) for subject in subjects]
        elif len(subjects) == 1:
            ratings = [reading.get_client_rating(subjects[0], server)]
        else:
            ratings = reading.get_client_ratings(subjects, server)
    invocation.output.results(
        ratings,
        {
            "subject": lambda entry: entry.subject,
            "as": lambda entry: entry.kind,
            "by": lambda entry: entry.server,
            "rating": lambda entry: entry.rating,
        },
    )


def _seal(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation, subject: str, rating: int, interaction: str, account: str | None, vault: Path | None
) -> None:
    """Seal a rating of a client, and write its envelope.

    Raises:
        InvalidArgumentError: The client's account is missing, or the interaction is malformed.
    """
    from bilateral.client.inputs import hash_bytes  # noqa: PLC0415  # slow to import

    if account is None:
        raise InvalidArgumentError("--blind needs --client-account, the account that gives the feedback")
    named = hash_bytes(interaction, "--blind")
    with invocation.signing() as signing:
        signed = signing.seal_rating(vault_at(vault), subject, rating, client=account, interaction=named)
    invocation.output.raw(signed.to_json())


def _pairs(entries: Sequence[str]) -> dict[AgentLike, int]:
    """Return the ratings by agent."""
    pairs: dict[AgentLike, int] = {}
    for entry in entries:
        agent, _, rating = entry.partition("=")
        if not rating.isascii() or not rating.isdigit() or not agent:
            raise InvalidArgumentError("ratings are given as AGENT=RATING, such as 7=90")
        if agent in pairs:
            raise InvalidArgumentError(f"agent {agent} is rated twice")
        pairs[agent] = int(rating)
    return pairs
