"""`bilateral rate …`: ratings that servers give their clients and validators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from bilateral.cli.blind import Vault, vault_at
from bilateral.cli.columns import columns
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, flag, make_group, option, optional
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bilateral.client import AgentLike

app = make_group("rate")

Server = Annotated[
    str | None,
    option(
        "AGENT",
        "The agent that rates. Fails if it is not the signer's primary agent, which is the default.",
        "--by",
    ),
]
Confirmations = Annotated[
    int,
    option(
        "N",
        "Wait until the rated agent has had the same owner for N blocks, because ratings are final.",
        "--confirmations",
        min=1,
    ),
]


@dataclass(frozen=True)
class RatingOptions:
    """The rating of one agent, the agent that rates it, and the checks before the rating is sent."""

    subject: Annotated[str, argument("SUBJECT", "The agent to rate: 42 or 84532:42.")]
    rating: Annotated[int, argument("RATING", "The rating to give, from 0 to 100.")]
    server_id: Server = None
    owner: str | None = optional(
        "ADDRESS", "The expected owner of the rated agent. Fails if it is not the current owner, which is the default."
    )
    confirmations: Confirmations = 1


@dataclass(frozen=True)
class RatingsOptions:
    """The ratings of many agents, the agent that rates them, and the checks before the ratings are sent."""

    ratings: Annotated[list[str], argument("AGENT=RATING...", "Agents and their ratings, such as 7=90.")]
    server_id: Server = None
    confirmations: Confirmations = 1

    def pairs(self) -> dict[AgentLike, int]:
        """Return the ratings by agent."""
        pairs: dict[AgentLike, int] = {}
        for entry in self.ratings:
            agent, _, rating = entry.partition("=")
            if not rating.isascii() or not rating.isdigit() or not agent:
                raise InvalidArgumentError("ratings must have the form AGENT=RATING, such as 7=90")
            if agent in pairs:
                raise InvalidArgumentError(f"agent {agent} is rated twice")
            pairs[agent] = int(rating)
        return pairs


@dataclass(frozen=True)
class SealingOptions:
    """The interaction whose rating is to be sealed, if any."""

    blind: str | None = optional("INTERACTION", "Seal the rating of the interaction with this id: 0x and 64 digits.")
    client_account: str | None = optional("ADDRESS", "With --blind: the account that gives the feedback.")
    vault: Vault = None


@command(app, writes=True)
def client(invocation: Invocation, rating: RatingOptions, sealing: SealingOptions) -> None:
    """Rate a client. Ratings are final. With --blind, seal the rating and write its envelope as JSON instead."""
    if sealing.blind is not None:
        _seal(invocation, rating, sealing.blind, sealing)
        return
    facts = {"owner": rating.owner, **_expected(invocation, rating)}
    invocation.write("Client rated", lambda client: client.rate_client(rating.subject, rating.rating, **facts))


@command(app, writes=True)
def validator(invocation: Invocation, rating: RatingOptions) -> None:
    """Rate a validator. Ratings are final."""
    facts = {"owner": rating.owner, **_expected(invocation, rating)}
    invocation.write("Validator rated", lambda client: client.rate_validator(rating.subject, rating.rating, **facts))


@command(app, writes=True)
def clients(invocation: Invocation, many: RatingsOptions) -> None:
    """Rate many clients in one transaction. Ratings are final."""
    pairs, facts = many.pairs(), _expected(invocation, many)
    invocation.write("Clients rated", lambda client: client.rate_clients(pairs, **facts))


@command(app, writes=True)
def validators(invocation: Invocation, many: RatingsOptions) -> None:
    """Rate many validators in one transaction. Ratings are final."""
    pairs, facts = many.pairs(), _expected(invocation, many)
    invocation.write("Validators rated", lambda client: client.rate_validators(pairs, **facts))


@command(app)
def show(
    invocation: Invocation,
    subjects: Annotated[list[str], argument("SUBJECT...", "The rated agents.")],
    server: Annotated[str, option("AGENT", "The server that gave the ratings.", "--by")],
    as_validator: bool = flag("--validator", "Show the agents' ratings as validators instead of as clients."),
) -> None:
    """Show the ratings that a server gave."""
    with invocation.reading() as reading:
        if as_validator:
            ratings = [reading.get_validator_rating(subject, server) for subject in subjects]
        elif len(subjects) == 1:
            ratings = [reading.get_client_rating(subjects[0], server)]
        else:
            ratings = reading.get_client_ratings(subjects, server)
    invocation.output.results(ratings, columns("subject", **{"as": "kind"}, by="server", rating="rating"))


def _expected(invocation: Invocation, options: RatingOptions | RatingsOptions) -> dict[str, Any]:
    timeout = invocation.settings.timeout
    return {"server_id": options.server_id, "confirmations": options.confirmations, "timeout": timeout}


def _seal(invocation: Invocation, rating: RatingOptions, interaction: str, sealing: SealingOptions) -> None:
    from bilateral.client.state import hash_bytes  # noqa: PLC0415  # slow to import

    account = sealing.client_account
    if account is None:
        raise InvalidArgumentError("--blind requires --client-account, the account that gives the feedback")
    encoded, vault = hash_bytes(interaction, "--blind"), vault_at(sealing.vault)
    with invocation.signing() as signing:
        signed = signing.seal_rating(vault, rating.subject, rating.rating, client=account, interaction=encoded)
    invocation.output.raw(signed.to_json())
