"""The answer about a server on an EVM chain from a node alone, without an index."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from bilateral.checks.live import LiveCheck, judge_file, judge_others
from bilateral.checks.live_history import Budget, RequestsSpentError, read_head, read_holders, read_past
from bilateral.checks.policy import Policy
from bilateral.checks.raters import Judgement
from bilateral.checks.ratings import Counted
from bilateral.checks.reasons import Reasons
from bilateral.checks.shared_reasons import days, judge_ratings, rating_figures
from bilateral.checks.stake import Backing
from bilateral.checks.verdicts import Code
from bilateral.client.operations import agents, reading
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.bounds import scale_of_tag, share_of_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from decimal import Decimal

    from bilateral.checks.live_history import Head, Holders, Past
    from bilateral.client import Client
    from bilateral.client.results import Agent, FeedbackEntry
    from bilateral.documents import Loader
    from bilateral.node.steps import Operation

MOST_REQUESTS: Final = 60
"""Requests of one check. Free plans allow some hundred a minute."""

_MOST_TRUSTED_AGENTS: Final = 5
"""Agents of a policy that are looked up. Each takes four requests."""

UNKNOWN: Final = (
    "the time of each rating, and the files behind ratings: registries keep neither",
    "findings and standings of trust analysis, and the raters' own ratings: an index makes them",
    "proofs of domains, and payments by raters",
)
"""The facts that only an index could know."""

_NEEDS_INDEX: Final[Mapping[str, Callable[[Policy], bool]]] = {
    "require_payment_proof": lambda policy: policy.require_payment_proof,
    "blind": lambda policy: policy.blind is not None,
    "maximum_rating_age_days": lambda policy: policy.maximum_rating_age_days is not None,
    "maximum_repeats": lambda policy: policy.maximum_repeats is not None,
    "minimum_validations": lambda policy: policy.minimum_validations > 0,
    "require_domain": lambda policy: policy.require_domain,
    "trust.own_experience": lambda policy: policy.trust.own_experience,
    "trust.minimum_lower_bound": lambda policy: policy.trust.minimum_lower_bound is not None,
}
"""Fields of a policy that a node alone cannot answer, each with its test."""


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
    chosen = policy or Policy()
    for name, is_asked in _NEEDS_INDEX.items():
        if is_asked(chosen):
            raise InvalidArgumentError(f"the policy's {name} needs an index: leave it out for a live check")
    if len(chosen.trust.agents) > _MOST_TRUSTED_AGENTS:
        raise InvalidArgumentError(
            f"a live check looks up at most {_MOST_TRUSTED_AGENTS} agents of trust.agents: name accounts instead"
        )
    question = _Question(client, chosen, Budget(MOST_REQUESTS), report)
    report("reading the agent")
    agent: Agent = client.runner.run(question.budget.bounded(agents.load(client.state, agent_id, load_file=False)))
    head = client.runner.run(question.budget.bounded(read_head(client.get_deployment().first_block)))
    _judge_wallet(question.reasons, agent, pay_to)
    report("loading the registration file")
    document_loader = client.state.loader if loader is None else loader
    file = judge_file(question.reasons, agent.global_id, str(agent.uri), document_loader, is_paid=pay_to is not None)
    also = judge_others(question.reasons, file, agent.global_id, {})
    counted = question.judge_ratings(agent, amount)
    history = question.judge_history(agent, head)
    untrusted = {} if file is None else {"name": file.name, "description": file.description}
    return LiveCheck(
        verdict=question.reasons.verdict,
        side="server",
        chain=str(agent.registry.chain),
        agent=str(agent.id),
        account=agent.wallet,
        block=head.number,
        reasons=question.reasons.sorted,
        figures={
            "owner": agent.owner,
            "wallet": agent.wallet,
            **history,
            "rating": rating_figures(counted, chosen.tag),
            "requests": question.budget.spent,
        },
        also=also,
        unknown=(*question.unknown, *UNKNOWN),
        untrusted={name: text for name, text in untrusted.items() if text},
    )


def _judge_wallet(reasons: Reasons, agent: Agent, pay_to: str | None) -> None:
    """Add the reasons about the account that a payment goes to."""
    if agent.wallet is None:
        reasons.add(Code.NO_WALLET, "The agent has no wallet, so no payment can be for it.")
    elif pay_to is not None and checksummed(pay_to) != agent.wallet:
        sentence = f"The payment would go to {checksummed(pay_to)}; the agent's wallet is {agent.wallet}."
        reasons.add(Code.PAY_TO_DIFFERS, sentence)


class _Question:
    """One check, with what it has asked and learnt so far."""

    def __init__(self, client: Client, policy: Policy, budget: Budget, report: Callable[[str], None]) -> None:
        self._client, self._report = client, report
        self.budget, self.reasons = budget, Reasons(policy)
        self.unknown: list[str] = []

    def _ask(self, operation: Operation[Any]) -> Any:
        """Run an operation within the budget."""
        return self._client.runner.run(self.budget.bounded(operation))

    def judge_ratings(self, agent: Agent, amount: Decimal | None) -> Counted:
        """Add the reasons about the ratings, and return those that count."""
        policy, state = self.reasons.policy, self._client.state
        self._report(f"reading the ratings with the tag {policy.tag}")
        trusted = self._trusted()
        reviewers = None if trusted is None else sorted(trusted)
        selection = reading.Selection(tag1=policy.tag)
        try:
            entries = self._ask(reading.read_all(state, agent.id, reviewers, selection))
        except RequestsSpentError as error:
            self.unknown.append(f"ratings: {error}")
            self.reasons.add(Code.NO_RATINGS, "The ratings could not be read, so none counts.")
            return Counted()
        self._report(f"read {len(entries):,} ratings")
        counted = _counted(entries, {account for account in (agent.owner, agent.wallet) if account}, policy.tag)
        backing = Backing(None, amount, policy)
        judge_ratings(self.reasons, Judgement(counted, trusted, (), ()), backing)
        return counted

    def _trusted(self) -> frozenset[str] | None:
        """Return the accounts whose ratings count; None if all count."""
        trust, state = self.reasons.policy.trust, self._client.state
        if not (trust.accounts or trust.agents):
            return None
        accounts = set(trust.accounts)
        for named in trust.agents:
            agent = self._ask(agents.load(state, named, load_file=False))
            accounts |= {account for account in (agent.owner, agent.wallet) if account is not None}
        return frozenset(accounts)

    def judge_history(self, agent: Agent, head: Head) -> dict[str, Any]:
        """Add the reasons about age, earlier owners and wallets, and return their figures."""
        policy, state = self.reasons.policy, self._client.state
        self._report("reading earlier owners and wallets")
        first = self._client.get_deployment().first_block
        token, past, then, young = agent.id.token_id, None, None, None
        try:
            if policy.recent_days:
                then = self._ask(read_holders(state, token, head.before(policy.recent_days, first)))
            if policy.minimum_age_days:
                young = self._ask(read_holders(state, token, head.before(policy.minimum_age_days, first)))
            past = self._ask(read_past(state, token, head, first))
        except RequestsSpentError as error:
            self.unknown.append(f"earlier owners and wallets: {error}")
        self._judge_age(past, young, head)
        self._judge_changes(agent, past, then, head)
        return {
            "age_days": None if past is None or past.registered is None else head.days_since(past.registered),
            "handovers_known_from_block": None if past is None else past.handovers_from,
            "wallets_known_from_block": None if past is None else past.wallets_from,
        }

    def _judge_age(self, past: Past | None, young: Holders | None, head: Head) -> None:
        """Add the reason that the agent is too young, or that its age is unknown."""
        least = self.reasons.policy.minimum_age_days
        registered = None if past is None else past.registered
        if registered is not None:
            if head.days_since(registered) < least:
                sentence = f"The agent is {days(head.days_since(registered))} old; the policy asks for {days(least)}."
                self.reasons.add(Code.TOO_YOUNG, sentence)
            return
        self.unknown.append("the age of the agent: the node does not give logs so far back")
        if young is not None and young.exists is False:
            self.reasons.add(Code.TOO_YOUNG, f"The agent did not exist {days(least)} ago, as the policy asks.")
        elif young is not None and young.exists is None:
            self.reasons.add(Code.TOO_YOUNG, f"Nothing shows that the agent is {days(least)} old, as the policy asks.")

    def _judge_changes(self, agent: Agent, past: Past | None, then: Holders | None, head: Head) -> None:
        """Add the reasons about a recent change of owner or wallet, or name them as unknown."""
        recent = self.reasons.policy.recent_days
        if not recent or then is None:
            return
        handed = past is not None and any(block > then.block for block in past.handovers)
        if handed or (then.exists and then.owner != agent.owner):
            sentence = f"The agent was handed over in the last {days(recent)}, to {agent.owner}. "
            self.reasons.add(Code.OWNER_CHANGED, f"{sentence}Its earlier ratings are those of another owner.")
        changed = past is not None and any(block > then.block for block in past.wallet_changes)
        if changed or (then.exists and then.wallet != agent.wallet):
            self.reasons.add(
                Code.WALLET_CHANGED, f"The agent's wallet changed in the last {days(recent)}, to {agent.wallet}."
            )
        places = {} if past is None else {"owner": past.handovers_from, "wallet": past.wallets_from}
        missing = [name for name in ("owner", "wallet") if places.get(name, head.number) > then.block]
        if missing and then.exists is None:
            block = max(places.values(), default=head.number)
            names = " and ".join(missing)
            self.unknown.append(
                f"changes of the {names} before block {block}: the node gives neither older logs nor older states"
            )
        elif missing:
            self.unknown.append(f"changes of the {' and '.join(missing)} in the last {days(recent)} that were undone")


def _counted(entries: Iterable[FeedbackEntry], own: set[str], tag: str) -> Counted:
    """Return the ratings by others than the agent's own side. Each rater counts once, by its mean."""
    scale = scale_of_tag(tag) or (0, 100)
    shares: dict[str, list[int]] = defaultdict(list)
    for entry in entries:
        shares[entry.id.client].append(share_of_scale(entry.stored.value, entry.stored.decimals, scale))
    others = {client: values for client, values in shares.items() if client not in own}
    return Counted(
        count=sum(map(len, others.values())),
        raters=len(others),
        share_sum=sum(sum(values) // len(values) for values in others.values()),
        own=sum(len(values) for client, values in shares.items() if client in own),
    )
