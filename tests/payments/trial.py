"""Plays made-up payments through server, client and index, and compares all three with the plain model."""

from __future__ import annotations

import logging
import random
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlalchemy import select

from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.tables import payment, payment_return
from bilateral.index.payments.terms import PaymentTerms
from bilateral.x402 import CheckName, Outcome
from tests.payments import model
from tests.payments.acts import DAY, Acts
from tests.payments.chain import Chain
from tests.payments.channels import Channels
from tests.payments.shop import STATES, Shop
from tests.payments.stories import ChannelStory, make_up

_STORIES_A_STEP = 80
"""The stories between two steps of the index."""

_RECENT = 200
"""The last stories whose cancellation a client still finds: it searches 1,000 blocks."""


@dataclass
class Trial:
    """A run, and where the parts disagree with the model.

    Attributes:
        deals: The stories as they happened.
        payments: All that was paid.
        disagreements: A line for each, with the story.
        tally: How often each act and each flaw came.
    """

    deals: list = field(default_factory=list)
    payments: list = field(default_factory=list)
    disagreements: list = field(default_factory=list)
    tally: Counter = field(default_factory=Counter)

    def require(self, part, story, found, expected):
        """Note a disagreement."""
        if found != expected:
            self.disagreements.append(f"{part}: {found!r} instead of {expected!r}, in {story}")


def run(url, count, seed, database, show=lambda _: None):
    """Play made-up payments on a chain of anvil without blocks, and compare the parts with the model.

    Args:
        url: The URL of anvil.
        count: The number of payments.
        seed: The seed of the stories.
        database: The SQLAlchemy URL of an empty database.
        show: Called with the number of payments so far.
    """
    trial, chain = Trial(), Chain(url)
    acts, channels = Acts(chain), Channels(chain)
    indexes = [_Index(chain, url, database, can_trace=can_trace) for can_trace in (True, False)]
    with _quiet(), _open(Shop(acts, url)) as shop:
        for number, story in enumerate(make_up(count, random.Random(seed)), start=1):  # noqa: S311  # no secrets
            trial.tally[story.act] += 1
            if isinstance(story, ChannelStory):
                trial.payments += channels.play(story)
                if chain.mine():
                    trial.disagreements.append(f"chain: a transaction failed, in {story}")
            else:
                trial.tally[story.flaw] += 1
                deal = acts.agree(story)
                _trade(trial, shop, deal)
                if story.act != "expires":
                    _look_up(trial, deal, shop.verifier)
                trial.deals.append(deal)
                trial.payments += deal.payments
            if number % _STORIES_A_STEP == 0 or number == count:
                for index in indexes:
                    index.follow()
            show(number)
        chain.rpc("evm_increaseTime", DAY)
        chain.rpc("anvil_mine", hex(2 * STATES))
        for place, deal in enumerate(reversed(trial.deals)):
            is_recent = place < _RECENT and deal.story.act == "is cancelled"
            if is_recent or deal.story.act in {"expires", "stays open"}:
                _look_up(trial, deal, shop.verifier)
                _look_up(trial, deal, shop.plain_verifier, has_past=False)
    for index in indexes:
        index.compare(trial, channels.returns)
    return trial


def _trade(trial, shop, deal):
    """Buy, verify the answer, and try to buy another one with the same authorization."""
    story, is_at_once = deal.story, deal.story.act.endswith("at once")
    second = shop.send_meanwhile(deal, deal.second_payload) if is_at_once else None
    reply, expected = shop.send(deal, deal.payload), model.answer(story)
    trial.require("server", story, _answer(reply), expected)
    if reply.status == 200 and expected.is_paid:
        trial.require("client", story, _verdict(reply.verification), model.verdict(story))
        expected = model.verdict(story, can_trace=False)
        trial.require("client without traces", story, _verdict(reply.plain_verification), expected)
        if story.act == "charges nothing and then all":
            shop.acts.happen(deal)
    if deal.second_payload is not None:
        reply = second() if is_at_once else shop.send(deal, deal.second_payload)
        trial.require("server, asked again", story, _answer(reply), model.second_answer(story))


def _answer(reply):
    """Return a reply in the words of the model."""
    return model.Answer(reply.status == 200, reply.reason.removeprefix("Payment aborted: "), reply.has_run)


def _verdict(verification):
    """Return a verification in the words of the model."""
    codes = {str(check.name): check.code for check in verification.checks if check.outcome is Outcome.FAILED}
    unchecked = {check.code for check in verification.checks if check.outcome is Outcome.UNCHECKED}
    paid = verification.payment
    if unchecked == {"nothing_paid"} and not codes:
        return model.Verdict({}, is_delivery=True)
    if verification.check(CheckName.PAYMENT).code == "not_provable":
        is_unchecked = verification.outcome(CheckName.PAYMENT) is Outcome.UNCHECKED
        return model.Verdict(codes, is_provable=not is_unchecked)
    amount, ceiling = (None, None) if paid is None else (paid.amount, paid.ceiling)
    return model.Verdict(codes, amount, ceiling, has_remark=bool(verification.remarks))


def _look_up(trial, deal, verifier, *, has_past=True):
    """Ask the chain what became of what a buyer signed."""
    if deal.authorization is None:
        return
    found = verifier.find_settlement({"accepted": deal.accepted, "payload": deal.payload}, seconds=0)
    answer = found.is_paid, found.is_expired, found.transaction
    trial.require("look-up", deal.story, answer, model.settlement(deal, has_past=has_past))


class _Index:
    """An index that follows the chain, with or without traces."""

    def __init__(self, chain, url, database, *, can_trace):
        self.name = f"index {'with' if can_trace else 'without'} traces"
        self._chain, self._can_trace, self._engine = chain, can_trace, open_database(f"{database}.{can_trace}")
        terms = PaymentTerms({chain.tokens[name]: 6 for name in model.LISTED}, traces=can_trace)
        deployment = replace(chain.deployment, first_block=1)
        settings = ChainSettings((url,), (deployment,), payments=terms)
        self._settings = IndexSettings((settings,), files=FileSettings(workers=0), analyses=False)

    def follow(self):
        """Read the new blocks. The chain keeps the states of few blocks, without which it traces nothing."""
        follow_chains(self._engine, self._settings, stop=threading.Event(), until_head=True)

    def compare(self, trial, returns):
        """Compare the payments and returns with the model."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(payment)).all()
            back = connection.execute(select(payment_return)).all()
        self._engine.dispose()
        trial.tally[self.name] = len(rows)
        agents = dict(zip(self._chain.wallets, self._chain.agents, strict=False))
        paid = model.counted(trial.payments, self._chain.tokens, agents, can_trace=self._can_trace)
        expected, found = Counter(_row_of(entry, agents) for entry in paid), Counter(map(_stored, rows))
        stories = {entry.transaction: deal.story for deal in trial.deals for entry in deal.payments}
        for row in expected - found:
            trial.require(self.name, stories.get(row[0]), None, row)
        for row in found - expected:
            trial.require(self.name, stories.get(row[0]), row, None)
        moved = sorted((_hash(row), row.payee, row.receiver, int(row.micros)) for row in back)
        expected = sorted((entry.transaction, entry.payer, entry.payee, entry.amount) for entry in returns)
        trial.require(f"returns of the {self.name}", None, moved, expected)


def _row_of(entry, agents):
    accounts = entry.payer, entry.payee, entry.token, agents[entry.payee]
    return entry.transaction, entry.kind, *accounts, entry.amount, entry.ceiling, entry.nonce


def _stored(row):
    accounts = row.payer, row.payee, row.token, int(row.agent_id)
    ceiling = None if row.ceiling is None else int(row.ceiling)
    return _hash(row), str(row.kind), *accounts, int(row.amount), ceiling, int.from_bytes(row.nonce)


def _hash(row):
    return "0x" + bytes(row.transaction_hash).hex()


@contextmanager
def _open(shop):
    try:
        yield shop
    finally:
        shop.close()


@contextmanager
def _quiet():
    """Refusals are what is tried here, and each would log a line."""
    logger = logging.getLogger("bilateral")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
