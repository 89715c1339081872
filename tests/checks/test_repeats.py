"""An answer is given again after new blocks, a new analysis, and payments that the index read late."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import OperationalError

from bilateral.api.stored_buyers import stored_buyers
from bilateral.checks import FindingsNotHeldError, PaymentsNotHeldError, Policy, stored_findings
from bilateral.core.payments import PaymentKind
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.payments.tables import late_payment
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.payments.transfers import TokenTransfer
from bilateral.index.payments.worker import PaymentStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.standing import analysis as run
from bilateral.index.standing import results as storage
from bilateral.index.standing import tables as analysis
from bilateral.index.standing.analysis import analyse
from bilateral.index.standing.tables import AnalysisKey
from tests.checks.ledger import CHAIN_ID, IDENTITY, START, Ledger, account, codes, feedback, registered, transferred
from tests.checks.test_servers import data_uri, naming

OWNER, SELLER, BUYER, TOKEN = (account(0xA0 + number) for number in range(4))
KEY = AnalysisKey(CHAIN_ID, IDENTITY)
TERMS = PaymentTerms({TOKEN: 6})
CHOOSY = Policy(minimum_buyer_score=Decimal(100))


class Payments:
    """The payments of a ledger, which the index learns when a test says so."""

    def __init__(self, ledger, terms=TERMS):
        self.ledger, self.store = ledger, PaymentStore(ledger.engine, CHAIN_ID, terms)

    def learn(self, *blocks):
        """Learn all payments up to the index: one of two dollars in each of some blocks."""
        while (due := self.store.next_range()) is not None:
            self.store.accounts(due)
            self.store.append(due, [self._paid(block) for block in blocks if due.first <= block <= due.last], [])

    def _paid(self, block):
        with self.ledger.engine.connect() as connection:
            table = schema.block
            known = select(table.c.block_hash).where(table.c.block_number == block)
            hash_ = connection.execute(known).scalar_one_or_none() or bytes(16) + block.to_bytes(16)
        place = (block, 50, hash_, START + block, block.to_bytes(32))
        return TokenTransfer(*place, TOKEN, BUYER, SELLER, 2_000_000, block.to_bytes(32), PaymentKind.EIP3009)


def begun(ledger):
    ledger.block(registered(1, SELLER), registered(2, OWNER))
    ledger.block(feedback(1, BUYER, 90))
    return ledger


@pytest.fixture
def story(ledger):
    return begun(ledger)


@pytest.fixture
def any_story(any_ledger):
    return begun(any_ledger)


def ask(ledger, **options):
    """Check the buyer's account by all that the index knows of it."""
    return ledger.client(BUYER, policy=CHOOSY, findings=stored_findings, buyers=stored_buyers, **options)


def analyse_with_finding(ledger, name):
    """Analyse, and add a finding by the buyer to what is stored."""
    analyse(ledger.engine, KEY)
    claim = {"detector": "links", "q_value": 0.0, "strength": 9.0, "statistic": "", "sentence": f"{name}."}
    with ledger.engine.begin() as connection:
        connection.execute(insert(analysis.finding), [KEY.columns | {"finding_id": name} | claim])
        member = {"finding_id": name, "part": "actor", "account": BUYER}
        connection.execute(insert(analysis.finding_member), [KEY.columns | member])


def test_answer_before_any_analysis_is_given_again_after_one(any_story):
    before = ask(any_story)
    any_story.block()
    analyse_with_finding(any_story, "links-1")
    now = ask(any_story)
    assert ("finding" in codes(before), "finding" in codes(now), now.analysis) == (False, True, 1)
    assert ask(any_story, at_block=before.block) == before
    assert ask(any_story, at_block=now.block) == now


def test_answer_by_an_analysis_that_was_replaced_is_refused(story):
    analyse_with_finding(story, "links-1")
    before = ask(story)
    story.block()
    assert ask(story, at_block=before.block) == before
    analyse_with_finding(story, "links-2")
    with pytest.raises(FindingsNotHeldError, match=r"block 2 were replaced by an analysis of block 3"):
        ask(story, at_block=before.block)
    assert [reason.sentence for reason in ask(story).reasons if reason.code == "finding"] == ["links-2."]


def test_analysis_of_the_same_block_is_told_apart_by_its_number(story):
    before = ask(story)
    analyse_with_finding(story, "links-1")
    assert ask(story, at_block=before.block, analysis=before.analysis) == before
    first = ask(story)
    analyse_with_finding(story, "links-2")
    with pytest.raises(FindingsNotHeldError):
        ask(story, at_block=first.block, analysis=first.analysis)


def test_payment_that_was_learned_late_does_not_change_an_earlier_answer(any_story):
    payments = Payments(any_story)
    payments.learn(1)
    any_story.block()
    before = ask(any_story)
    any_story.block()
    payments.learn(3)
    now = ask(any_story)
    assert [entry.figures["buyer"]["payments"] for entry in (before, now)] == [1, 2]
    assert ask(any_story, at_block=before.block) == before
    assert ask(any_story, at_block=now.block) == now
    assert (before.payments, now.payments) == (1, 3)


def test_payment_of_the_same_block_is_told_apart_by_its_number(story):
    payments = Payments(story)
    payments.learn(1)
    story.block()
    before = ask(story)
    payments.learn(3)
    assert ask(story).figures["buyer"]["payments"] == 2
    assert ask(story, at_block=before.block, payments=before.payments) == before


def test_answers_from_before_payments_were_read_anew_are_refused(story):
    Payments(story).learn(1)
    before = ask(story)
    story.block()
    Payments(story, PaymentTerms({TOKEN: 5})).learn(1)
    assert ask(story).figures["buyer"]["payments"] == 1
    with pytest.raises(
        PaymentsNotHeldError, match="indexed at block 2 are no longer available, because all payments were"
    ):
        ask(story, at_block=before.block)


def test_reorganisation_takes_the_notes_of_its_blocks_out(story):
    payments = Payments(story)
    story.block()
    story.block()
    payments.learn(3, 4)
    story.roll_back(3)
    with story.engine.connect() as connection:
        assert connection.execute(select(late_payment)).all() == [(CHAIN_ID, 3, 4)]
    story.block()
    assert ask(story).figures["buyer"]["payments"] == 1


def test_reorganisation_leaves_the_answer_before_a_late_payment(any_story):
    payments = Payments(any_story)
    payments.learn(1)
    any_story.block()
    before = ask(any_story)
    any_story.block()
    payments.learn(3)
    any_story.roll_back(3)
    assert ask(any_story, at_block=3, history=bytes.fromhex(before.history[2:])) == before
    any_story.block()
    assert ask(any_story, at_block=3, history=bytes.fromhex(before.history[2:])) == before
    assert ask(any_story).figures["buyer"]["payments"] == 2


def test_reorganisation_leaves_the_answer_before_an_analysis(any_story):
    before = ask(any_story)
    any_story.block()
    analyse_with_finding(any_story, "links-1")
    any_story.roll_back(2)
    assert ask(any_story, at_block=2, history=bytes.fromhex(before.history[2:])) == before
    any_story.block()
    assert ask(any_story, at_block=2, history=bytes.fromhex(before.history[2:])) == before
    assert "finding" in codes(ask(any_story))


def test_reorganisation_leaves_the_answer_before_a_file_was_seen(ledger):
    ledger.block(registered(1, SELLER, data_uri(registrations=naming(1))))
    before = ledger.server(1)
    ledger.block()
    ledger.settle()
    now = ledger.server(1)
    assert before.files != now.files
    ledger.roll_back(1)
    assert ledger.server(1, at_block=1, history=bytes.fromhex(before.history[2:])) == before
    ledger.block()
    assert ledger.server(1).files == now.files


@pytest.fixture
def shared_story(fresh_postgres, loader):
    """A story on PostgreSQL, where blocks are stored while an analysis is."""
    engine = open_database(fresh_postgres)
    yield begun(Ledger(engine, ChainStore(engine, CHAIN_ID, PROJECTIONS), loader))
    engine.dispose()


@pytest.fixture
def meanwhile(monkeypatch):
    """Make something happen once, while the results of an analysis are inserted."""
    insert_rows = storage._insert

    def plan(happen):
        def insert_and_happen(connection, *arguments):
            insert_rows(connection, *arguments)
            if not happened:
                happened.append(True)
                happen(connection)

        happened = []
        monkeypatch.setattr(storage, "_insert", insert_and_happen)

    return plan


def test_answer_while_an_analysis_is_stored_is_given_again_after_it(shared_story, meanwhile):
    def ask_and_go_on(_):
        shared_story.block()
        blocks.append(ask(shared_story))
        shared_story.block()

    blocks = []
    meanwhile(ask_and_go_on)
    analyse_with_finding(shared_story, "links-1")
    assert ask(shared_story, at_block=3) == blocks[0]
    assert "finding" in codes(ask(shared_story))


def test_no_block_is_stored_between_the_note_of_an_analysis_and_its_end(shared_story, monkeypatch):
    def require_lock(*arguments):
        calls.append(is_still_indexed(*arguments))
        if len(calls) == 2:
            with shared_story.engine.connect() as connection, pytest.raises(OperationalError, match="obtain lock"):
                connection.execute(select(schema.chain).with_for_update(nowait=True))
        return calls[-1]

    calls, is_still_indexed = [], run._is_still_indexed
    monkeypatch.setattr(run, "_is_still_indexed", require_lock)
    analyse(shared_story.engine, KEY)
    assert calls == [True, True]


def test_reorganisation_while_an_analysis_is_stored_makes_another_one(shared_story, meanwhile):
    meanwhile(lambda _: shared_story.roll_back(1))
    assert analyse(shared_story.engine, KEY).block == 1


def test_analysis_that_postgresql_undoes_for_a_deadlock_is_tried_again(shared_story, meanwhile):
    raised = "DO $$ BEGIN RAISE EXCEPTION 'of a test' USING ERRCODE = 'deadlock_detected'; END $$"
    meanwhile(lambda connection: connection.exec_driver_sql(raised))
    assert analyse(shared_story.engine, KEY).block == 2


def test_low_score_of_a_buyer_names_its_payments(story):
    Payments(story).learn(1, 2)
    (reason,) = [reason for reason in ask(story).reasons if reason.code == "low_buyer_score"]
    assert [(entry.event, entry.registry, entry.block, entry.transaction) for entry in reason.evidence] == [
        ("Transfer", TOKEN, block, "0x" + block.to_bytes(32).hex()) for block in (2, 1)
    ]


def test_shared_account_names_the_events_that_made_it_one_of_either_side(story):
    story.block(transferred(1, SELLER, BUYER))
    story.block(transferred(2, OWNER, SELLER))
    (reason,) = [reason for reason in story.client(1, for_server=2).reasons if reason.code == "related"]
    assert f"the account {SELLER} in common" in reason.sentence
    assert [(entry.event, entry.block) for entry in reason.evidence] == [("Transfer", 4), ("Transfer", 1)]
