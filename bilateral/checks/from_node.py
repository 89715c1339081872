"""Check a server on an EVM chain using only a node, without an index.

The agent's past (its age, and its earlier owners and wallets) is read as far back as the request limit permits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final, TypeVar

from eth_utils.crypto import keccak

from bilateral.checks import facts
from bilateral.checks.errors import RequestsSpentError
from bilateral.checks.facts import Unknown
from bilateral.checks.judge import LiveCheck, live_check
from bilateral.checks.live_files import load_registration
from bilateral.checks.policy import Policy
from bilateral.checks.rules import days
from bilateral.checks.verdicts import DAY, AsOf
from bilateral.client import Client
from bilateral.client.operations import agents, reading, registries
from bilateral.client.results import Agent, FeedbackEntry
from bilateral.client.state import ClientState
from bilateral.core import errors
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.contracts.logs import RawLog
from bilateral.core.events import MetadataSet, Transfer
from bilateral.core.events.decoder import topic_of
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.bounds import scale_of_tag, share_of_scale
from bilateral.core.values.standing import Side
from bilateral.documents import Loader
from bilateral.node import answers
from bilateral.node.logs import LogFilter, read_answer
from bilateral.node.steps import Batch, Failure, Operation, Rpc, advance

T = TypeVar("T")

MOST_REQUESTS: Final = 60
"""The maximum number of requests per check. Providers' free plans allow about a hundred per minute."""

_MOST_TRUSTED_AGENTS: Final = 5
"""The maximum number of agents to look up per policy. Each lookup takes four requests."""

_TIMES = "the time of each rating, and the files behind ratings: registries store neither"
_ANALYSIS = "findings and standings from the trust analysis, and the raters' own ratings: only an index has them"
_PROOFS = "proofs of domains, and payments by raters: only an index has them"

_NEEDS_INDEX: Final = (
    *("require_payment_proof", "blind", "maximum_rating_age_days", "maximum_repeats", "minimum_validations"),
    *("require_domain", "trust.own_experience", "trust.minimum_lower_bound", "watchtowers"),
)
"""Policy fields that must have their default values, because evaluating any other value requires an index."""

_SAMPLE: Final = 10_000
"""The number of blocks over which the block time is measured: about 40 minutes at a block time of 0.25 s."""

_LOG_REQUESTS: Final = 20
"""The maximum number of requests per kind of log: 200,000 blocks on nodes that allow 10,000 blocks per request."""

_UNREADABLE: Final = (
    errors.NodeError,
    errors.NodeTimeoutError,
    errors.MalformedNodeAnswerError,
    errors.UnexpectedAnswerError,
)
"""The errors with which nodes reject requests for past state or for a range of logs."""

_NOBODY: Final = bytes(32)


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
    """Answer the question: should I pay this server? A check sends at most `MOST_REQUESTS` requests to the node.

    Args:
        client: The SDK's client for the agent's chain.
        agent_id: The server, in any published form.
        pay_to: The account that would be paid; None to skip the related rules.
        amount: The amount that the server requests, in whole payment tokens. It is only displayed, because a live check
            has no trust analysis with which to compare it.
        policy: The policy; if omitted, the default policy.
        loader: Loads the registration file; defaults to the client's loader.
        report: Called with the name of each step, to show progress.

    Raises:
        InvalidArgumentError: The policy has a field that only an index can evaluate.
        ContractRevertError: The agent does not exist.
        BilateralError: The node cannot be reached, or returns an error.
    """
    policy, default = policy or Policy(), Policy()
    for name in _NEEDS_INDEX:
        if attrgetter(name)(policy) != attrgetter(name)(default):
            raise errors.InvalidArgumentError(f"the policy's {name} requires an index: remove it for a live check")
    if len(policy.trust.agents) > _MOST_TRUSTED_AGENTS:
        raise errors.InvalidArgumentError(
            f"a live check looks up at most {_MOST_TRUSTED_AGENTS} agents in trust.agents: list accounts instead"
        )
    reader = _Reader(client, policy, report)
    return live_check(reader.read(agent_id, pay_to, amount, client.state.loader if loader is None else loader), policy)


class _Reader:
    """Reads the facts about an agent, using a limited number of requests."""

    def __init__(self, client: Client, policy: Policy, report: Callable[[str], None]) -> None:
        self._client, self._policy, self._report = client, policy, report
        self._budget = Budget(MOST_REQUESTS)
        self._unknown: list[str] = []

    def _run(self, operation: Operation[Any]) -> Any:
        return self._client.runner.run(self._budget.bounded(operation))

    def read(
        self, agent_id: str | int | AgentId | GlobalAgentId, pay_to: str | None, amount: Decimal | None, loader: Loader
    ) -> facts.Facts:
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
        return facts.Facts(
            source=facts.Source.NODE,
            side=Side.SERVER,
            as_of=AsOf(str(agent.registry.chain), head.number),
            name=str(agent.id),
            account=agent.wallet,
            agent=self._agent(agent, head, past, then, young),
            payment=None if pay_to is None else facts.Payment(pay_to),
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

    def _ratings(self, agent: Agent) -> facts.RatingFacts | Unknown:
        tag = self._policy.tag
        self._report(f"reading the ratings with the tag {tag}")
        reviewers = self._trusted()
        try:
            entries = self._run(reading.read_all(self._client.state, agent.id, reviewers, reading.Selection(tag1=tag)))
        except RequestsSpentError as error:
            self._unknown.append(f"ratings: {error}")
            return Unknown("The ratings could not be read, so none of them counts.")
        self._report(f"read {len(entries):,} ratings")
        own = {account for account in (agent.owner, agent.wallet) if account}
        return facts.RatingFacts(_counted(entries, own, tag), is_vetted=reviewers is not None)

    def _trusted(self) -> list[str] | None:
        trust = self._policy.trust
        if not (trust.accounts or trust.agents):
            return None
        accounts = set(trust.accounts)
        for trusted in trust.agents:
            agent = self._run(agents.load(self._client.state, trusted, load_file=False))
            accounts |= {account for account in (agent.owner, agent.wallet) if account is not None}
        return sorted(accounts)

    def _history(self, agent: Agent, head: Head, first: int) -> tuple[Past | None, Holders | None, Holders | None]:
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
    ) -> facts.AgentFacts:
        age: int | Unknown
        if past is not None and past.registered is not None:
            age = head.days_since(past.registered)
        else:
            age = Unknown("the age of the agent: the node does not return logs that old")
            self._unknown.append(age.reason)
        handed_over = changed = False
        if self._policy.recent_days and then is not None:
            handovers, wallets = ((), ()) if past is None else (past.handovers, past.wallet_changes)
            existed = then.exists is True
            handed_over = any(block > then.block for block in handovers) or (existed and then.owner != agent.owner)
            changed = any(block > then.block for block in wallets) or (existed and then.wallet != agent.wallet)
            self._note_gaps(past, then, head)
        return facts.AgentFacts(
            owner=agent.owner,
            wallet=agent.wallet,
            age_days=age,
            existed=None if young is None else young.exists,
            owner_change=facts.Change() if handed_over else None,
            wallet_change=facts.Change() if changed else None,
        )

    def _note_gaps(self, past: Past | None, then: Holders, head: Head) -> None:
        places = {} if past is None else {"owner": past.handovers_from, "wallet": past.wallets_from}
        missing = [name for name in ("owner", "wallet") if places.get(name, head.number) > then.block]
        names = " and ".join(missing)
        if missing and isinstance(then.exists, Unknown):
            block = max(places.values(), default=head.number)
            reason = "the node returns neither older logs nor older states"
            self._unknown.append(f"changes of {names} before block {block}: {reason}")
        elif missing:
            recent = days(self._policy.recent_days)
            self._unknown.append(f"changes of {names} in the last {recent} that have since been reversed")


def _counted(entries: Iterable[FeedbackEntry], own: set[str], tag: str) -> facts.Counted:
    scale = scale_of_tag(tag) or (0, 100)
    tallies: dict[str, tuple[int, int]] = {}
    for entry in entries:
        count, shares = tallies.get(entry.id.client, (0, 0))
        tallies[entry.id.client] = count + 1, shares + share_of_scale(entry.stored.value, entry.stored.decimals, scale)
    own_count = sum(tallies.pop(client)[0] for client in own & tallies.keys())
    return replace(facts.Counted.of(tallies), own=own_count)


@dataclass
class Budget:
    """The budget of requests to the node.

    Attributes:
        spent: The number of requests so far. Each request in a batch counts.
    """

    most: int
    spent: int = 0

    def bounded(self, operation: Operation[T]) -> Operation[T]:
        """Run an operation; raise an error if it exceeds the budget."""
        answer: Any = None
        while True:
            try:
                step = advance(operation, answer)
            except StopIteration as end:
                result: T = end.value
                return result
            cost = len(step.requests) if isinstance(step, Batch) else int(isinstance(step, Rpc))
            if self.spent + cost > self.most:
                operation.close()
                raise RequestsSpentError(self.most)
            self.spent += cost
            try:
                answer = yield step
            except Exception as error:  # noqa: BLE001  # the operation decides about it
                answer = Failure(error)


@dataclass(frozen=True)
class Head:
    """The latest block, and the chain's block rate.

    Attributes:
        block_seconds: The mean number of seconds between blocks.
    """

    number: int
    time: int
    block_seconds: float

    def before(self, days: int, first: int) -> int:
        """Return an estimate of the last block that is at least `days` old, but no block before `first`."""
        return max(first, self.number - int(days * DAY / self.block_seconds))

    def days_since(self, block: int) -> int:
        """Return a block's age in full days, estimated from the block rate."""
        return int((self.number - block) * self.block_seconds // DAY)


@dataclass(frozen=True)
class Holders:
    """The owner and the wallet of an agent at a block.

    Attributes:
        exists: False if the agent was not registered at that block.
    """

    block: int
    exists: bool | Unknown
    owner: str | None = None
    wallet: str | None = None


@dataclass
class Past:
    """The events about an agent's token and wallet, from the newest back to some block.

    Attributes:
        registered: The block of the registration; None if the logs were not read that far back.
        handovers_from: The first block whose transfers were read.
        wallets_from: The first block whose wallet changes were read.
    """

    handovers_from: int
    wallets_from: int
    registered: int | None = None
    handovers: list[int] = field(default_factory=list)
    wallet_changes: list[int] = field(default_factory=list)


def read_head(first: int) -> Operation[Head]:
    """Read the latest block, and measure the chain's block rate."""
    latest = answers.record((yield Rpc("eth_getBlockByNumber", ("latest", False))))
    number, time = answers.quantity(latest.get("number")), answers.quantity(latest.get("timestamp"))
    sample, seconds = max(first, number - _SAMPLE), 1.0
    if sample < number:
        with suppress(*_UNREADABLE):
            before = answers.record((yield Rpc("eth_getBlockByNumber", (hex(sample), False))))
            seconds = max((time - answers.quantity(before.get("timestamp"))) / (number - sample), 0.01)
    return Head(number, time, seconds)


def read_holders(state: ClientState, agent_id: int, block: int) -> Operation[Holders]:
    """Read the owner and the wallet of an agent at a block, if the node still has that state."""
    try:
        (owner,) = yield from registries.call(state, Registry.IDENTITY, "ownerOf", agent_id, block=hex(block))
        (wallet,) = yield from registries.call(state, Registry.IDENTITY, "getAgentWallet", agent_id, block=hex(block))
    except ContractRevertError:
        return Holders(block, exists=False)
    except _UNREADABLE:
        return Holders(block, exists=Unknown("the node has no state from that long ago"))
    return Holders(block, True, str(owner), str(wallet) if int(str(wallet), 16) else None)


def read_past(state: ClientState, agent_id: int, head: Head, first: int) -> Operation[Past]:
    """Read the events about an agent's token and wallet, as far back as the request limit permits."""
    deployment = yield from registries.connect(state)
    place, agent = (deployment.identity,), registries.topic(agent_id)
    kind = "0x" + topic_of(Registry.IDENTITY, Transfer).hex()
    transfers, reached = yield from _newest(LogFilter(place, (kind, None, None, agent)), first, head.number, state)
    past = Past(reached, first)
    for log in transfers:
        if log.topics[1] == _NOBODY:
            past.registered, past.handovers_from = log.position.block_number, first
        else:
            past.handovers.append(log.position.block_number)
    kind = "0x" + topic_of(Registry.IDENTITY, MetadataSet).hex()
    key = "0x" + keccak(text="agentWallet").hex()
    start = first if past.registered is None else past.registered
    wallets, past.wallets_from = yield from _newest(LogFilter(place, (kind, agent, key)), start, head.number, state)
    if past.registered is not None and past.wallets_from <= past.registered:
        past.wallets_from = first  # an agent's wallet cannot be older than the agent
    past.wallet_changes = [log.position.block_number for log in wallets if log.position.block_number != past.registered]
    return past


def _newest(logs_of: LogFilter, first: int, last: int, state: ClientState) -> Operation[tuple[list[RawLog], int]]:
    """Read logs backwards from the newest until the first block, the registration or the request limit is reached."""
    limit = state.log_range
    logs: list[RawLog] = []
    end = last
    for _ in range(_LOG_REQUESTS):
        if end < first:
            break
        start = first if limit.span is None else max(first, end - limit.span + 1)
        try:
            part = read_answer(logs_of, start, end, (yield Rpc("eth_getLogs", (logs_of.parameters(start, end),))))
        except _UNREADABLE as failure:
            if not limit.refused(failure, start, end):
                break
            continue
        limit.accepted()
        logs += reversed(part)
        end = start - 1
        if any(log.topics[1] == _NOBODY for log in part):
            break
    return logs, end + 1
