"""The aggregator: accepts feedback that clients signed, checks it, pays for the gas, and publishes what it has done."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

from sqlalchemy import Engine, func, select

from bilateral.client import Client
from bilateral.client.operations import fees, registries
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import BilateralError, FeeLimitError, InsufficientFundsError
from bilateral.core.identifiers import ChainId
from bilateral.documents import Limits, Loader, Network
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log.database import named_database_errors
from bilateral.node.closing import Closing
from bilateral.node.steps import Blocking, Operation
from bilateral.x402.aggregator import evidence, records
from bilateral.x402.aggregator.blind import BlindMessage, BlindRelay, public
from bilateral.x402.aggregator.messages import RelayedPair, Submission
from bilateral.x402.aggregator.records import Acceptance, Sponsored, reading
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError, invalid
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from bilateral.x402.aggregator.submitter import SignedMessage, Submitter, prepare
from bilateral.x402.aggregator.tables import blind_pair, sponsored_feedback
from bilateral.x402.proof.checking import FileCache

_LOG: Final = logging.getLogger(__name__)
_FLUSH_SECONDS: Final = 1.0
"""How often the counters are stored, in seconds. A crash loses at most one second of counts."""

_MIN_SECONDS_LEFT: Final = 60
"""The minimum remaining validity of a signature, in seconds, because a transaction may not be mined immediately."""

_NO_BAND: Final = -1  # the band of messages without a value

_CODES: Final[Mapping[str, Code]] = {
    "self_feedback": Code.SELF_FEEDBACK,
    **dict.fromkeys(("erc721_nonexistent_token", "token_does_not_exist"), Code.UNKNOWN_AGENT),
    **dict.fromkeys(("signature_expired", "signature_voided"), Code.INVALID_REVIEWER_SIGNATURE),
    **dict.fromkeys(("invalid_signature", "unexpected_feedback_index"), Code.INVALID_REVIEWER_SIGNATURE),
}
"""The rejection code for each error of the registry; any other error means an invalid payload."""


@dataclass(frozen=True)
class _Chain:
    """A chain and its SDK clients: one for requests and one for the worker."""

    settings: SponsoredChain
    client: Client
    submitter: Submitter
    worker: Client
    wake: threading.Event
    relay: BlindRelay


class Aggregator(Closing):
    """Accepts signed feedback. Thread-safe.

    Args:
        clock: Returns the time, in Unix seconds.
        observe: Called with the name and amount of each counted event: `accepted`, `submitted`, `confirmed`, `failed`,
            `gas_wei` and `refused <code>`.
    """

    def __init__(
        self,
        engine: Engine,
        settings: AggregatorSettings,
        *,
        clock: Callable[[], float] = time.time,
        observe: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self.settings, self._engine, self._observe, self._clock = settings, engine, observe, clock
        self._acceptance = Acceptance(engine, clock)
        network = Network(allow_private=settings.allow_private)
        self._loader = Loader(limits=Limits(bytes=256 * 1024, seconds=8), network=network)
        self._files = FileCache(self._loader)
        self._lock = threading.Lock()
        self._refusals: Counter[tuple[str, int]] = Counter()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._chains = {str(chain.network): self._connect(chain) for chain in settings.chains}

    def __enter__(self) -> Self:
        """Start the workers."""
        self.start()
        return self

    def start(self) -> None:
        """Start a worker for each chain. Each worker resumes the work that an earlier process left unfinished."""
        for network, chain in self._chains.items():
            work = partial(chain.submitter.run, self._stop, chain.wake)
            self._threads.append(threading.Thread(target=work, name=f"aggregator {network}", daemon=True))
        self._threads.append(threading.Thread(target=self._keep_counts, name="aggregator counts", daemon=True))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop the workers, and close the node connections. The queue remains in the database."""
        self._stop.set()
        for chain in self._chains.values():
            chain.wake.set()
        for thread in self._threads:
            thread.join()
        for chain in self._chains.values():
            chain.client.close()
            chain.worker.close()

    @property
    def is_working(self) -> bool:
        """True while every worker is running."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def submit(self, content: bytes) -> tuple[Sponsored, bool]:
        """Check feedback, and add it to the queue."""
        submission: Submission | None = None

        def count(refusal: FeedbackRefusedError) -> None:
            feedback = None if submission is None else submission.feedback
            band = _NO_BAND if feedback is None else records.band_of(feedback.value, feedback.value_decimals)
            with self._lock:
                self._refusals[refusal.code.value, band] += 1

        with self._refusing("feedback", count):
            submission = Submission.from_bytes(content)
            with named_database_errors():
                sponsored = self._submit(submission)
        if sponsored[1]:
            self._observe("accepted", 1)
        return sponsored

    def relay(self, content: bytes) -> tuple[RelayedPair, bool]:
        """Accept one side of a pair of blind ratings: its envelope and its opening."""
        with self._refusing("rating"):
            message = BlindMessage.from_bytes(content)
            chain = self._chain_of(message.network)
            with named_database_errors():
                accepted = chain.relay.accept(message)
        chain.wake.set()
        return accepted

    @contextmanager
    def _refusing(self, subject: str, count: Callable[[FeedbackRefusedError], None] = lambda _: None) -> Iterator[None]:
        """Convert failures of the checks themselves to rejections, and count each rejection."""
        try:
            yield
        except BilateralError as failure:
            refusal = failure
            if not isinstance(refusal, FeedbackRefusedError):
                _LOG.warning("a %s cannot be checked: %s", subject, failure)
                problem = f"the {subject} cannot be checked now: {type(failure).__name__}"
                refusal = FeedbackRefusedError(Code.UNAVAILABLE, problem)
            count(refusal)
            self._observe(f"refused {refusal.code}", 1)
            if refusal is failure:
                raise
            raise refusal from failure

    def _chain_of(self, network: ChainId) -> _Chain:
        if str(network) not in self._chains:
            served = ", ".join(self._chains)
            raise FeedbackRefusedError(Code.UNSUPPORTED_NETWORK, f"{network} is not supported: use {served}")
        return self._chains[str(network)]

    def read_pair(self, pair_id: int) -> RelayedPair | None:
        """Return a pair of blind ratings that this service relays, without openings, or None if it does not exist."""
        with reading(self._engine) as connection:
            row = connection.execute(select(blind_pair).where(blind_pair.c.pair_id == pair_id)).one_or_none()
        return None if row is None else public(row)

    def read(self, feedback_id: int) -> Sponsored | None:
        """Return the feedback entry with the given id, or None if there is none."""
        with reading(self._engine) as connection:
            return records.read_feedback(connection, feedback_id)

    def count_by_state(self) -> dict[tuple[int, str], int]:
        """Count the feedback entries for each chain and state."""
        place = sponsored_feedback.c.chain_id, sponsored_feedback.c.state
        with reading(self._engine) as connection:
            rows = connection.execute(select(*place, func.count()).group_by(*place))
            return {(chain_id, state): count for chain_id, state, count in rows}

    def spent_today(self, chain: SponsoredChain) -> int:
        """Return how much of a chain's budget for today is used, in wei."""
        day = int(self._clock()) // records.SECONDS_A_DAY
        with reading(self._engine) as connection:
            return records.spent_on(connection, chain.chain_id, chain.account, day)

    def _connect(self, chain: SponsoredChain) -> _Chain:
        own: dict[str, Any] = {"signer": chain.signer, "deployment": chain.deployment, "max_cost": chain.max_cost}
        make = partial(Client, chain.rpc_url, **own, loader=self._loader, poll_interval=chain.poll_seconds)
        worker, client = make(), make()
        submitter = Submitter(self._engine, chain, self.settings, worker, clock=self._clock, count=self._observe)
        relay = BlindRelay(self._engine, chain, client, clock=self._clock)
        return _Chain(chain, client, submitter, worker, threading.Event(), relay)

    def _submit(self, submission: Submission) -> tuple[Sponsored, bool]:
        chain = self._chain_of(submission.agent.registry.chain)
        served_registry = chain.settings.deployment.agent_registry
        if submission.agent.registry != served_registry:
            problem = f"agents in {submission.agent.registry} are not supported, only those in {served_registry}"
            raise FeedbackRefusedError(Code.UNKNOWN_AGENT, problem)
        earlier = self._acceptance.find(submission)
        if earlier is not None:
            return earlier, False
        try:
            checked, cost = chain.client.runner.run(self._check(chain.client, chain.settings, submission))
        except FeedbackRefusedError:  # the same message may be on chain by now, and then its index is taken
            earlier = self._acceptance.find(submission)
            if earlier is None:
                raise
            return earlier, False
        accepted = self._acceptance.accept(chain.settings, submission, checked, cost)
        chain.wake.set()
        return accepted

    def _check(
        self, client: Client, chain: SponsoredChain, submission: Submission
    ) -> Operation[tuple[evidence.Evidence, int]]:
        state = client.state
        now = yield from registries.block_time()
        if submission.feedback.deadline < int(now.timestamp()) + _MIN_SECONDS_LEFT:
            raise invalid(
                "sponsored.deadline", f"the signature must remain valid for another {_MIN_SECONDS_LEFT} seconds"
            )
        checked = yield from evidence.check(state, self._files, self._loader, chain, submission)
        try:
            prepared = yield from prepare(
                state,
                SignedMessage.of(
                    submission.feedback, submission.feedback.client_address, submission.registry_signature
                ),
            )
        except ContractRevertError as revert:  # other feedback for the payment may have taken the index meanwhile
            yield Blocking(lambda: self._acceptance.refuse_duplicate(submission, checked))
            raise _refusal_of(revert) from None
        except (InsufficientFundsError, FeeLimitError) as problem:
            _LOG.warning("cannot pay for feedback on %s: %s", chain.network, problem)
            raise FeedbackRefusedError(Code.UNAVAILABLE, "this service cannot pay for the feedback now") from None
        return checked, fees.most(prepared.transaction)

    def _keep_counts(self) -> None:
        """Write the rejection counts periodically instead of on each request, because anyone can send requests."""
        while not self._stop.wait(_FLUSH_SECONDS):
            self.flush_refusals()
        self.flush_refusals()

    def flush_refusals(self) -> None:
        """Write the rejection counts to the database."""
        with self._lock:
            counts, self._refusals = self._refusals, Counter()
        try:
            with named_database_errors():
                self._acceptance.count_refusals(counts)
        except DatabaseUnavailableError as failure:
            _LOG.warning("refusals cannot be counted: %s", failure)
            with self._lock:
                self._refusals += counts


def _refusal_of(revert: ContractRevertError) -> FeedbackRefusedError:
    code = _CODES.get(revert.reason, Code.INVALID_PAYLOAD)
    details: dict[str, Any] = {"registryError": revert.error or "reverted"}
    if revert.reason == "unexpected_feedback_index":
        details["expectedIndex"] = str(revert.arguments.get("expected"))
    return FeedbackRefusedError(code, str(revert), **details)
