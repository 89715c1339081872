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
from bilateral.index.operating.process import follow_chains
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.payments.tables import payment, payment_return
from bilateral.index.payments.terms import PaymentTerms
from bilateral.x402 import Outcome
from tests.payments import model
from tests.payments.acts import DAY, Acts
from tests.payments.chain import Chain
from tests.payments.channels import Channels
from tests.payments.shop import Shop
from tests.payments.stories import ChannelStory, make_up


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
    with _quiet(), _open(Shop(acts, url)) as shop:
        for number, story in enumerate(make_up(count, random.Random(seed)), start=1):
            trial.tally[story.act] += 1
            if isinstance(story, ChannelStory):
                trial.payments += channels.play(story)
                if chain.mine():
                    trial.disagreements.append(f"chain: a transaction failed, in {story}")
            else:
                trial.tally[story.flaw] += 1
                deal = acts.agree(story)
                _trade(trial, shop, deal)
                trial.deals.append(deal)
                trial.payments += deal.payments
            show(number)
        chain.rpc("evm_increaseTime", DAY)
        chain.rpc("evm_mine")
        for deal in trial.deals:
            _look_up(trial, shop, deal)
    for can_trace in (True, False):
        _index(trial, chain, url, database, channels.returns, can_trace=can_trace)
    return trial


def _trade(trial, shop, deal):
    """Buy, verify the answer, and try to buy once more with the same authorization."""
    story = deal.story
    reply, expected = shop.send(deal, deal.payload), model.answer(story)
    is_paid = reply.status == 200
    reason = expected.reason if reply.reason.endswith(expected.reason) else None
    trial.require("server", story, (is_paid, reply.reason, reply.has_run), replace_reason(expected, reply, reason))
    if is_paid and expected.is_paid:
        trial.require("client", story, _verdict(reply.verification), model.verdict(story))
    if story.act == "charges nothing and then all" and is_paid:
        shop.acts.happen(deal)
    if deal.second_payload is not None:
        token = None
        if story.act == "sends it for another token":
            token = "taxed" if story.token == "dollar" else "dollar"
        reply = shop.send(deal, deal.second_payload, token)
        second = model.second_answer(story, can_look_up=True)
        trial.require("second message", story, (reply.status, reply.reason, reply.has_run), (402, second.reason, False))


def replace_reason(expected, reply, reason):
    """Return what a reply should be, with its own reason if that ends with the expected one."""
    return expected.is_paid, reply.reason if reason is not None else expected.reason, expected.has_run


def _verdict(verification):
    """Return a verification in the words of the model."""
    codes = {str(check.name): check.code for check in verification.checks if check.outcome is Outcome.FAILED}
    unchecked = {check.code for check in verification.checks if check.outcome is Outcome.UNCHECKED}
    paid = verification.payment
    if unchecked == {"nothing_paid"} and not codes:
        return model.Verdict({}, is_delivery=True)
    amount, ceiling = (None, None) if paid is None else (paid.amount, paid.ceiling)
    return model.Verdict(codes, amount, ceiling, has_remark=bool(verification.remarks))


def _look_up(trial, shop, deal):
    """Ask the chain what became of what a buyer signed."""
    if deal.authorization is None:
        return
    found = shop.verifier.find_settlement({"accepted": deal.accepted, "payload": deal.payload}, seconds=0)
    expected = model.settlement(deal)
    is_right = (found.is_paid, found.is_expired) == expected[:2] and found.transaction in {None, expected[2]}
    if not is_right:
        trial.require("look-up", deal.story, found, expected)


def _index(trial, chain, url, database, returns, *, can_trace):
    """Index the chain, and compare its payments and returns."""
    engine = open_database(f"{database}.{can_trace}")
    terms = PaymentTerms({chain.tokens[name]: 6 for name in model.LISTED}, traces=can_trace)
    deployment = replace(chain.deployment, first_block=1)
    settings = IndexSettings(
        (ChainSettings((url,), (deployment,), payments=terms),), files=FileSettings(workers=0), analyses=False
    )
    with _quiet():
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)
    agents = {wallet: agent for wallet, agent in zip(chain.wallets, chain.agents, strict=False)}
    counted = model.counted(trial.payments, chain.tokens, agents, can_trace=can_trace)
    expected = Counter(
        (
            entry.transaction,
            entry.kind,
            entry.payer,
            entry.payee,
            entry.token,
            entry.amount,
            entry.ceiling,
            entry.nonce,
            agents[entry.payee],
        )
        for entry in counted
    )
    with engine.connect() as connection:
        rows = connection.execute(select(payment)).all()
        back = connection.execute(select(payment_return)).all()
    found = Counter(
        (
            "0x" + bytes(row.transaction_hash).hex(),
            str(row.kind),
            row.payer,
            row.payee,
            row.token,
            int(row.amount),
            None if row.ceiling is None else int(row.ceiling),
            int.from_bytes(row.nonce),
            int(row.agent_id),
        )
        for row in rows
    )
    stories = {entry.transaction: deal.story for deal in trial.deals for entry in deal.payments}
    name = f"index {'with' if can_trace else 'without'} traces"
    for row in expected - found:
        trial.require(name, stories.get(row[0]), None, row)
    for row in found - expected:
        trial.require(name, stories.get(row[0]), row, None)
    trial.require(
        f"returns of the {name}",
        None,
        sorted(("0x" + bytes(row.transaction_hash).hex(), row.payee, row.receiver, int(row.micros)) for row in back),
        sorted((entry.transaction, entry.payer, entry.payee, entry.amount) for entry in returns),
    )
    trial.tally[name] = len(rows)
    engine.dispose()


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
