"""An account page's content: what the account gave and received as a client, buyer, owner, wallet or validator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlalchemy import Connection

from bilateral.buyers.policies import BRP, INDEPENDENT, Reason
from bilateral.buyers.records import profile_of, read_cursors, read_standing
from bilateral.explorer.agent_figures import Activity, money_by_day
from bilateral.explorer.named import FindingRow, findings_of
from bilateral.explorer.records import Evidence, evidence_of
from bilateral.index.agents.queries import Account
from bilateral.index.agents.queries import account as read_account
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.payments.queries import PAYMENT_SIDES, Payment, payments_of
from bilateral.index.ratings.authorized import AuthorizedFeedback, authorized_feedback_by
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_by
from bilateral.index.ratings.queries import Direction, Rating, RatingSummary, ratings_of, summaries
from bilateral.index.ratings.validations import Validation, validations_by
from bilateral.index.reading.registries import AgentKey, Exact, Registries, agent_key
from bilateral.index.standing.queries import Doubt, Suspect, doubts_of, suspect

Row = TypeVar("Row", Feedback, AuthorizedFeedback, Rating, Payment)

_ROWS: Final = 12  # rows per list; a link leads to the rest
_PAYMENTS: Final = 300
"""The maximum number of payments per chain and direction in the money chart. The newest ones are used."""

_AGENTS: Final = 6
"""The maximum number of an account's agents to show figures and ratings for. More would slow down the page."""


@dataclass(frozen=True, slots=True)
class AccountSuspicion:
    """A chain's trust analysis of a suspected account.

    Attributes:
        judgement: The analysis's assessment of the account.
    """

    chain_id: int
    judgement: Suspect


@dataclass(frozen=True, slots=True)
class AccountPage:
    """An account page's content. Each list contains the 12 newest entries from all chains.

    Attributes:
        account: The account, with its agents.
        summaries: The rating summaries of the account's first 6 agents, one per side, by the agent's short id.
        has_other_agents: True if the account is the owner or wallet of more than 6 agents. Figures and ratings cover
            only the first 6.
        given: The feedback that the account gave.
        authorized: The feedback that the account gave with the agent owner's authorisation.
        ratings_given: The ratings that the account's first few agents gave to clients and validators.
        received: The ratings that the account's first few agents received from servers.
        paid: The payments that the account made to agents.
        was_paid: The payments that the account received as the wallet of agents.
        money: The amounts received and paid per day, in cents, from the newest payments; None if there are none.
        buyers: The account's buyer records.
        validations: The validation requests that the account received as a validator.
        suspicions: The trust analysis of the account on each chain where it is suspected.
        findings: The trust analysis findings that involve the account.
        evidence: The payment proof and the main response for each feedback entry given, by the entry's page path.
        names: The names of agents on the page, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
    """

    account: Account
    summaries: dict[str, tuple[RatingSummary, ...]]
    has_other_agents: bool
    given: tuple[Feedback, ...]
    authorized: tuple[AuthorizedFeedback, ...]
    ratings_given: tuple[Rating, ...]
    received: tuple[Rating, ...]
    paid: tuple[Payment, ...]
    was_paid: tuple[Payment, ...]
    money: Activity | None
    buyers: tuple[BuyerRecord, ...]
    validations: tuple[Validation, ...]
    suspicions: tuple[AccountSuspicion, ...]
    findings: tuple[FindingRow, ...]
    evidence: dict[str, Evidence]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    chains: tuple[ChainProgress, ...]


def account_page(connection: Connection, registries: Registries, address: str) -> AccountPage:
    """Read the content of an account's page."""
    chain_ids, chosen = tuple(registries.by_chain), FeedbackFilter(include_revoked=True)
    account = read_account(connection, address, chain_ids)
    own = [agent.global_id for agent in account.agents if agent.is_owner or agent.is_wallet]
    keys = [agent_key(registries, global_id) for global_id in own[:_AGENTS]]
    newest = _newest(
        [feedback for id_ in chain_ids for feedback in feedback_by(connection, id_, address, chosen, limit=_ROWS).items]
    )
    authorized = _newest(
        [entry for id_ in chain_ids for entry in authorized_feedback_by(connection, id_, address, _ROWS)]
    )
    rated, received = (
        _newest(_ratings(connection, keys, direction)) for direction in (Direction.GIVEN, Direction.RECEIVED)
    )
    payments_made, got = (
        [payment for id_ in chain_ids for payment in payments_of(connection, id_, address, side, _PAYMENTS)]
        for side in PAYMENT_SIDES
    )
    paid, was_paid = _newest(payments_made), _newest(got)
    requested = [
        validation for id_ in chain_ids for validation in validations_by(connection, id_, address, limit=_ROWS).items
    ]
    requested = sorted(
        requested,
        key=lambda validation: (validation.requested_at, validation.requested_block, validation.request_hash),
        reverse=True,
    )[:_ROWS]
    ids = {agent.id for agent in account.agents}
    ids |= {row.agent for rows in (newest, authorized, rated, received, paid, was_paid, requested) for row in rows}
    ids |= {rating.server for rating in (*rated, *received)}
    findings = _findings(connection, registries, address)
    ids |= {about for finding in findings for about in finding.agents}
    indexed = chains(connection)
    return AccountPage(
        account=account,
        summaries={key.id: _for_sides(summaries(connection, key)) for key in keys},
        has_other_agents=len(own) > len(keys) or account.has_more,
        given=newest,
        authorized=authorized,
        ratings_given=rated,
        received=received,
        paid=paid,
        was_paid=was_paid,
        money=money_by_day(got, payments_made),
        buyers=buyer_records(connection, indexed, [address]),
        validations=tuple(requested),
        suspicions=_suspicions(connection, registries, address),
        findings=findings,
        evidence=evidence_of(connection, registries, newest),
        names=names_of(connection, registries, ids),
        doubts=doubts_of(connection, registries, ids),
        chains=indexed,
    )


def _ratings(connection: Connection, keys: Sequence[AgentKey], direction: Direction) -> list[Rating]:
    return [rating for key in keys for rating in ratings_of(connection, key, direction, limit=_ROWS).items]


def _for_sides(summaries: Sequence[RatingSummary]) -> tuple[RatingSummary, ...]:
    """Return the summary with the most counterparts for each side, in the order of the sides."""
    best: dict[str, RatingSummary] = {}
    for summary in summaries:
        best.setdefault(summary.side, summary)
    return tuple(best[side] for side in ("server", "client", "validator") if side in best)


def _findings(connection: Connection, registries: Registries, address: str) -> tuple[FindingRow, ...]:
    return tuple(
        finding
        for chain_id in registries.by_chain
        for finding in findings_of(connection, chain_id, registries.identity_of(chain_id), {address})
    )


def _suspicions(connection: Connection, registries: Registries, address: str) -> tuple[AccountSuspicion, ...]:
    suspects = (
        (chain_id, suspect(connection, chain_id, registries.identity_of(chain_id), address))
        for chain_id in registries.by_chain
    )
    return tuple(AccountSuspicion(chain_id, suspicion) for chain_id, suspicion in suspects if suspicion.suspicion > 0)


def _newest(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (row.time, row.block, row.log_index), reverse=True)[:_ROWS])


@dataclass(frozen=True, slots=True)
class BuyerRecord:
    """An account's payments on one chain, and the resulting scores under two policies.

    Attributes:
        payments: The number of payments to other owners' agents.
        dollars: The total of these payments, in dollars.
        sellers: The number of agents that the account paid.
        reviews: The number of reviews that the buyer gave.
        score: The score according to the specification's formula, 0 to 100.
        independent_score: The score based only on payments to independent sellers.
        reasons: Why payments do not count towards `independent_score`, or call for caution.
    """

    account: str
    chain_id: int
    payments: int
    dollars: Exact
    sellers: int
    reviews: int
    score: int
    tier: str
    independent_score: int
    independent_tier: str
    reasons: tuple[Reason, ...]


def buyer_records(
    connection: Connection, indexed: Sequence[ChainProgress], accounts: Iterable[str]
) -> tuple[BuyerRecord, ...]:
    """Return the accounts' records on each chain on which they made payments, with current scores."""
    now, buyers = int(time.time()), sorted(set(accounts))
    chains = [chain.chain_id for chain in indexed if read_cursors(connection, chain.chain_id)]
    records = (_record(connection, chain_id, account, now) for chain_id in chains for account in buyers)
    return tuple(record for record in records if record is not None)


def _record(connection: Connection, chain_id: int, account: str, now: int) -> BuyerRecord | None:
    """Return an account's record on a chain; None if the account has made no payments there."""
    plain, careful = (
        profile_of(read_standing(connection, chain_id, account, policy, now)) for policy in (BRP, INDEPENDENT)
    )
    if not plain.metrics.paymentCount:
        return None
    return BuyerRecord(
        account=account,
        chain_id=chain_id,
        payments=plain.metrics.paymentCount,
        dollars=plain.metrics.totalVolumeUsdc,
        sellers=plain.metrics.distinctSellers,
        reviews=plain.metrics.reviewsGiven,
        score=plain.reputation.score,
        tier=plain.reputation.tier,
        independent_score=careful.reputation.score,
        independent_tier=careful.reputation.tier,
        reasons=careful.reputation.reasons,
    )
