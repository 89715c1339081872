"""The answer about a server on an EVM chain from a node alone, without an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from bilateral.checks.facts import AgentFacts, Change, Counted, Facts, Payment, RatingFacts, Source, Unknown
from bilateral.checks.judge import LiveCheck, live_check
from bilateral.checks.live_files import load_registration
from bilateral.checks.node_history import (
    Budget,
    Head,
    Holders,
    Past,
    RequestsSpentError,
    read_head,
    read_holders,
    read_past,
)
from bilateral.checks.policy import Policy
from bilateral.checks.rules import days
from bilateral.checks.verdicts import AsOf
from bilateral.client import Client
from bilateral.client.operations import agents, reading
from bilateral.client.results import Agent, FeedbackEntry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.bounds import scale_of_tag, share_of_scale
from bilateral.core.values.standing import Side
from bilateral.documents import Loader
from bilateral.node.steps import Operation

MOST_REQUESTS: Final = 60
"""Requests of one check. Free plans allow some hundred a minute."""

_MOST_TRUSTED_AGENTS: Final = 5
"""Agents of a policy that are looked up. Each takes four requests."""

_TIMES = "the time of each rating, and the files behind ratings: registries keep neither"
_ANALYSIS = "findings and standings of trust analysis, and the raters' own ratings: an index makes them"
_PROOFS = "proofs of domains, and payments by raters"

_NEEDS_INDEX: Final = (
    *("require_payment_proof", "blind", "maximum_rating_age_days", "maximum_repeats", "minimum_validations"),
    *("require_domain", "trust.own_experience", "trust.minimum_lower_bound"),
)
"""Fields of a policy that a node alone cannot answer, unless they have their defaults."""


def check_live_server(  # noqa: PLR0913  # the agent and what to compare
    client: Client,
    agent_id: str | int | AgentId | GlobalAgentId,
    *,
    pay_to: str | None = None,
    amount: Decimal | None = None,
    policy: Policy | None = None,
    loader: Loader | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> LiveCheck:
    """Answer the question: should I pay this server? A node is asked at most `MOST_REQUESTS` times.

    Args:
        client: The SDK's client of the agent's chain.
        agent_id: The server, in any published form.
        pay_to: The account that a payment would go to; None to leave out what concerns it.
        amount: The money that it asks for, in units of the payment token; it is shown only, as no analysis weighs it.
        policy: The policy; the default one if left out.
        loader: Loads the registration file; that of the client if left out.
        report: Called with the name of each step, to show progress.

    Raises:
        InvalidArgumentError: The policy has a field that only an index can answer.
        ContractRevertError: There is no such agent.
        BilateralError: The node cannot be reached, or returns an error.
    """
    policy, default = policy or Policy(), Policy()
    for name in _NEEDS_INDEX:
        if attrgetter(name)(policy) != attrgetter(name)(default):
            raise InvalidArgumentError(f"the policy's {name} needs an index: leave it out for a live check")
    if len(policy.trust.agents) > _MOST_TRUSTED_AGENTS:
        raise InvalidArgumentError(
            f"a live check looks up at most {_MOST_TRUSTED_AGENTS} agents of trust.agents: name accounts instead"
        )
    reader = _Reader(client, policy, report)
    return live_check(reader.facts(agent_id, pay_to, amount, client.state.loader if loader is None else loader), policy)


class _Reader:
    """Reads the facts about one agent within a number of requests."""

    def __init__(self, client: Client, policy: Policy, report: Callable[[str], None]) -> None:
        self._client, self._policy, self._report = client, policy, report
        self._budget = Budget(MOST_REQUESTS)
        self._unknown: list[str] = []

    def _run(self, operation: Operation[Any]) -> Any:
        """Run an operation within the budget."""
        return self._client.runner.run(self._budget.bounded(operation))

    def facts(
        self, agent_id: str | int | AgentId | GlobalAgentId, pay_to: str | None, amount: Decimal | None, loader: Loader
    ) -> Facts:
        """Read the agent, its file, its ratings and its past."""
        self._report("reading the agent")
        agent: Agent = self._run(agents.load(self._client.state, agent_id, load_file=False))
        first = self._client.get_deployment().first_block
        head: Head = self._run(read_head(first))
        if pay_to is not None and agent.wallet is not None:
            pay_to = checksummed(pay_to)
        self._report("loading the registration file")
        registration = load_registration(agent.global_id, str(agent.uri), loader, {})
        ratings = self._ratings(agent)
        past, then, young = self._history(agent, head, first)
        return Facts(
            source=Source.NODE,
            side=Side.SERVER,
            as_of=AsOf(str(agent.registry.chain), head.number),
            name=str(agent.id),
            account=agent.wallet,
            agent=self._agent(agent, head, past, then, young),
            payment=None if pay_to is None else Payment(pay_to),
            amount=amount,
            registration=registration,
            domains=Unknown(_PROOFS),
            approvals=Unknown(_PROOFS),
            ratings=ratings,
            findings=Unknown(_ANALYSIS),
            validations=Unknown(_PROOFS),
            details={
                "handovers_known_from_block": None if past is None else past.handovers_from,
                "wallets_known_from_block": None if past is None else past.wallets_from,
                "requests": self._budget.spent,
            },
            unknown=(*self._unknown, _TIMES, _ANALYSIS, _PROOFS),
        )

    def _ratings(self, agent: Agent) -> RatingFacts | Unknown:
        """Read the ratings that count."""
        tag = self._policy.tag
        self._report(f"reading the ratings with the tag {tag}")
        trusted = self._trusted()
        reviewers = None if trusted is None else sorted(trusted)
        try:
            entries = self._run(reading.read_all(self._client.state, agent.id, reviewers, reading.Selection(tag1=tag)))
        except RequestsSpentError as error:
            self._unknown.append(f"ratings: {error}")
            return Unknown(str(error))
        self._report(f"read {len(entries):,} ratings")
        own = {account for account in (agent.owner, agent.wallet) if account}
        return RatingFacts(_counted(entries, own, tag), is_vetted=trusted is not None)

    def _trusted(self) -> frozenset[str] | None:
        """Return the accounts whose ratings count; None if all count."""
        trust = self._policy.trust
        if not (trust.accounts or trust.agents):
            return None
        accounts = set(trust.accounts)
        for trusted in trust.agents:
            agent = self._run(agents.load(self._client.state, trusted, load_file=False))
            accounts |= {account for account in (agent.owner, agent.wallet) if account is not None}
        return frozenset(accounts)

    def _history(self, agent: Agent, head: Head, first: int) -> tuple[Past | None, Holders | None, Holders | None]:
        """Read earlier owners and wallets: by logs, at the begin of the recent days, and at the least age."""
        policy, state, token = self._policy, self._client.state, agent.id.token_id
        self._report("reading earlier owners and wallets")
        past, then, young = None, None, None
        try:
            if policy.recent_days:
                then = self._run(read_holders(state, token, head.before(policy.recent_days, first)))
            if policy.minimum_age_days:
                young = self._run(read_holders(state, token, head.before(policy.minimum_age_days, first)))
            past = self._run(read_past(state, token, head, first))
        except RequestsSpentError as error:
            self._unknown.append(f"earlier owners and wallets: {error}")
        return past, then, young

    def _agent(
        self, agent: Agent, head: Head, past: Past | None, then: Holders | None, young: Holders | None
    ) -> AgentFacts:
        """Return the facts about the agent, and note what the node does not tell."""
        age: int | Unknown = Unknown("the age of the agent: the node does not give logs so far back")
        if past is not None and past.registered is not None:
            age = head.days_since(past.registered)
        else:
            self._unknown.append("the age of the agent: the node does not give logs so far back")
        existed = None if young is None else Unknown("no state so far back") if young.exists is None else young.exists
        handed_over = changed = False
        if self._policy.recent_days and then is not None:
            handovers, wallets = ((), ()) if past is None else (past.handovers, past.wallet_changes)
            handed_over = any(block > then.block for block in handovers) or bool(
                then.exists and then.owner != agent.owner
            )
            changed = any(block > then.block for block in wallets) or bool(then.exists and then.wallet != agent.wallet)
            self._note_gaps(past, then, head)
        return AgentFacts(
            owner=agent.owner,
            wallet=agent.wallet,
            age_days=age,
            existed=existed,
            owner_change=Change() if handed_over else None,
            wallet_change=Change() if changed else None,
        )

    def _note_gaps(self, past: Past | None, then: Holders, head: Head) -> None:
        """Note the changes of owner and wallet in recent days that the node does not tell."""
        places = {} if past is None else {"owner": past.handovers_from, "wallet": past.wallets_from}
        missing = [name for name in ("owner", "wallet") if places.get(name, head.number) > then.block]
        names = " and ".join(missing)
        if missing and then.exists is None:
            block = max(places.values(), default=head.number)
            reason = "the node gives neither older logs nor older states"
            self._unknown.append(f"changes of the {names} before block {block}: {reason}")
        elif missing:
            recent = days(self._policy.recent_days)
            self._unknown.append(f"changes of the {names} in the last {recent} that were undone")


def _counted(entries: Iterable[FeedbackEntry], own: set[str], tag: str) -> Counted:
    """Return the ratings by others than the agent's own side. Each rater counts once, by its mean."""
    scale = scale_of_tag(tag) or (0, 100)
    tallies: dict[str, tuple[int, int]] = {}
    for entry in entries:
        count, shares = tallies.get(entry.id.client, (0, 0))
        share = share_of_scale(entry.stored.value, entry.stored.decimals, scale)
        tallies[entry.id.client] = count + 1, shares + share
    own_count = sum(tallies.pop(client)[0] for client in own & tallies.keys())
    return replace(Counted.of(tallies), own=own_count)
