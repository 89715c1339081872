"""Payments of the index as input of the analysis: money that comes back is found, and claims are matched fairly."""

from __future__ import annotations

import json
import threading
from base64 import b64encode

import pytest
from eth_utils.crypto import keccak
from sqlalchemy import insert, select, update

from bilateral.core.contracts import Registry
from bilateral.core.payments import PaymentKind
from bilateral.core.payments.contracts import EXACT_PROXY, NONCE_INVALIDATED, PERMIT2
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import snapshot
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.tables import channel, channel_fund, payment, payment_return
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.standing import tables as schema
from bilateral.index.standing.analysis import Analyst, analyse
from bilateral.index.standing.inputs import read_tables
from bilateral.index.standing.proofs import ClaimedTransactions, Proofs, Senders
from simulation.events import Log, encoded
from tests.index.analysis.conftest import DEPLOYMENT, KEY
from tests.index.payments.world import TOKEN, Payments, account, transfer, word

pytestmark = pytest.mark.one_engine

HONEST = 160
WASHERS = [account(f"washer {number}") for number in range(6)]
CLIENTS = [account(f"buyer {number}") for number in range(HONEST)]
DOLLAR = 10**6


def feedback(agent, client, value, file=None):
    """Return the log of a client's first feedback."""
    uri = b"" if file is None else b"data:application/json;base64," + b64encode(json.dumps(file).encode())
    tag = keccak(text="starred"), b"starred", b"", b"", uri, bytes(32)
    return encoded(Registry.BIDIRECTIONAL, "NewFeedback", agent, client, 1, value, 0, *tag)


def owner(agent):
    return account(f"seller {agent}")


@pytest.fixture
def story(emitter_code):
    """Tell how buyers pay four agents, and how the fifth gives its buyers their money back."""

    def tell(chain):
        world = Payments(chain, emitter_code)
        for agent in range(1, 6):
            world.mine(world.register(agent, owner(agent)))
        for start in range(0, HONEST, 20):
            buyers = list(enumerate(CLIENTS))[start : start + 20]
            world.mine(*(world.pay(value, owner(n % 4 + 1), DOLLAR + 7_919 * n) for n, value in buyers))
            world.mine(*(feedback(n % 4 + 1, value, 70 + n % 20) for n, value in buyers))
        world.mine(*(world.pay(washer, owner(5), DOLLAR + n) for n, washer in enumerate(WASHERS)))
        world.mine(*(transfer(owner(5), washer, DOLLAR + n) for n, washer in enumerate(WASHERS)))
        world.mine(*(feedback(5, washer, 100) for washer in WASHERS))
        return world

    return tell


@pytest.fixture
def catch_up(engine, event_chain):
    """Index the chain with its payments to its head."""
    chain = ChainSettings((event_chain.url,), (DEPLOYMENT,), payments=PaymentTerms({TOKEN: 6}))

    def run(workers=0):
        settings = IndexSettings((chain,), files=FileSettings(workers=workers), analyses=False)
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)

    return run


@pytest.fixture
def paid(engine, event_chain, story, catch_up):
    """The indexed story."""
    story(event_chain)
    catch_up()
    return engine


def test_money_that_comes_back_is_found_with_its_payments(paid):
    with snapshot(paid) as connection:
        tables = read_tables(connection, *KEY.columns.values())
        rows = {(row.block_number, row.log_index) for row in connection.execute(select(payment))}
        returned = connection.execute(select(payment_return)).all()
    assert tables.tables.payments.num_rows == len(rows) == HONEST + len(WASHERS)
    assert {place[1:3] for place in tables.places["payments"]} == rows
    assert sum(tables.tables.payments["amount"].to_pylist()[-6:]) == pytest.approx(6.000015)
    assert tables.tables.transfers["funds"].to_pylist() == [False] * len(returned) == [False] * len(WASHERS)

    analyse(paid, KEY)
    with snapshot(paid) as connection:
        washed = connection.execute(select(schema.finding).where(schema.finding.c.detector == "wash payments")).one()
        of_finding = schema.finding_row.c.finding_id == washed.finding_id
        rested = connection.execute(select(schema.finding_row).where(of_finding)).all()
        members = connection.execute(select(schema.finding_member).where(schema.finding_member.c.part == "actor"))
        assert {member.account for member in members if member.finding_id == washed.finding_id} == set(WASHERS)
        assert {(row.block_number, row.log_index) for row in rested if row.table_name == "payment"} <= rows
        assert sum(entry.table_name == "payment" for entry in rested) == len(WASHERS)
        table = schema.suspicion
        suspects = connection.execute(select(table.c.account, table.c.parts)).all()
    assert {suspect.account for suspect in suspects if json.loads(suspect.parts).get("wash_payments")} == {
        *WASHERS,
        owner(5),
    }


def test_a_purchase_by_a_seller_is_a_payment_and_no_transfer(engine, event_chain, emitter_code, catch_up):
    world = Payments(event_chain, emitter_code)
    for agent in (1, 2):
        world.mine(world.register(agent, owner(agent)))
    world.mine(world.pay(CLIENTS[0], owner(1), DOLLAR), world.pay(owner(1), owner(2), DOLLAR))
    world.mine(transfer(owner(1), CLIENTS[0], DOLLAR // 2))
    catch_up()
    with snapshot(engine) as connection:
        tables = read_tables(connection, *KEY.columns.values()).tables
    assert tables.payments["payer"].to_pylist() == [CLIENTS[0], owner(1)]
    assert tables.transfers["dst"].to_pylist() == [CLIENTS[0]]


def read(engine):
    with snapshot(engine) as connection:
        return read_tables(connection, *KEY.columns.values()).tables


def test_no_kind_and_no_ceiling_of_a_payment_reaches_the_analysis(paid):
    before = read(paid)
    kinds = list(PaymentKind)
    with paid.begin() as connection:
        for place, row in enumerate(connection.execute(select(payment)).all()):
            values = {"kind": kinds[place % len(kinds)], "ceiling": 2**255 if place % 2 else None}
            at = payment.c.block_number == row.block_number, payment.c.log_index == row.log_index
            connection.execute(update(payment).where(*at).values(values))
    assert read(paid) == before


def test_a_channel_in_the_name_of_somebody_pays_nothing_by_itself(paid):
    before = read(paid)
    victim, nothing = account("victim"), bytes(32)
    place = {"chain_id": KEY.chain_id, "block_number": 1, "log_index": 999}
    opened = {**place, "block_hash": nothing, "block_time": 0, "transaction_hash": nothing, "token": TOKEN}
    with paid.begin() as connection:
        channel_of = {"channel_id": nothing, "payer": victim, "receiver": owner(1)}
        connection.execute(insert(channel), {**opened, **channel_of})
        fund = {"channel_id": nothing, "funder": account("attacker"), "remaining": 10**12}
        connection.execute(insert(channel_fund), {**place, **fund})
    assert read(paid) == before
    assert victim not in {
        text for table in vars(read(paid)).values() for row in table.to_pylist() for text in row.values()
    }


def test_transfers_without_a_proof_and_cancelled_payments_are_no_purchases(engine, event_chain, emitter_code, catch_up):
    world = Payments(event_chain, emitter_code)
    event_chain.rpc("anvil_setCode", PERMIT2, emitter_code)
    world.mine(world.register(1, owner(1)))
    cancelled = Log(PERMIT2, (NONCE_INVALIDATED, word(CLIENTS[0])), bytes(31) + b"\1" + bytes(31) + b"\1")
    settled = Log(EXACT_PROXY, (keccak(text="Settled()"),), b"")  # beside a plain transfer, in no call of the proxy
    event_chain.rpc("anvil_setCode", EXACT_PROXY, emitter_code)
    world.mine(cancelled)
    world.mine(transfer(CLIENTS[0], owner(1), DOLLAR), settled)
    world.mine(feedback(1, CLIENTS[0], 0))
    catch_up()
    tables = read(engine)
    assert (tables.payments.num_rows, tables.transfers.num_rows) == (0, 0)
    assert tables.feedback["payment_tx"].to_pylist() == [None]


def stored(engine):
    """Return all stored results, without when and by which run they were made."""
    with snapshot(engine) as connection:
        made = connection.execute(select(schema.analysis)).mappings().one()
        rows = {
            table.name: connection.execute(select(table).order_by(*table.primary_key)).all()
            for table in schema.RESULT_TABLES
        }
    noted = ("made_at", "run", "seen_block", "first_run", "first_seen_block")
    return {name: value for name, value in made.items() if name not in noted}, rows


def test_an_analysis_after_new_blocks_equals_a_full_run(engine, event_chain, story, catch_up):
    world = story(event_chain)
    catch_up()
    analyst = Analyst(engine, KEY)
    analyst.analyse()
    for logs in ([], [world.pay(CLIENTS[0], owner(1), DOLLAR)], [feedback(2, CLIENTS[0], 90)]):
        world.mine(*logs)
        catch_up()
        analyst.analyse()
        renewed = stored(engine)
        analyse(engine, KEY)
        assert stored(engine) == renewed


def suspicions(engine):
    """Return the stored suspicion of each account."""
    with snapshot(engine) as connection:
        return dict(connection.execute(select(schema.suspicion.c.account, schema.suspicion.c.suspicion)).all())


def test_the_ranking_of_an_account_follows_what_its_neighbours_do(engine, event_chain, story, catch_up):
    world = story(event_chain)
    catch_up()
    analyst = Analyst(engine, KEY)
    analyst.analyse()
    before = suspicions(engine)
    world.mine(feedback(2, CLIENTS[0], 0))
    catch_up()
    analyst.analyse()
    after = suspicions(engine)
    beside = CLIENTS[1::4]  # those who judge agent 2, and did nothing since
    assert all(0 < before[client] < 2 for client in beside)
    assert any(before[client] != after[client] for client in beside)
    analyse(engine, KEY)
    assert suspicions(engine) == after


def payments(*rows):
    """Return rows of payments: name, payer, payee, agent."""
    return [(f"0xab:{log}", payer, payee, agent, 1.0, 0.0) for log, (payer, payee, agent) in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "proof"),
    [
        ([], None),
        ([("client", "wallet", 1)], "0xab:0"),
        ([("other", "wallet", 1), ("client", "wallet", 1)], "0xab:1"),
        ([("stranger", "wallet", 1)], "0xab:0"),
        ([("client's wallet", "wallet", 1)], None),
        ([("client", "wallet", 2)], None),
        ([("client", "elsewhere", 3)], "0xab:0"),
    ],
    ids=["unknown", "own", "own of several", "foreign", "own second account", "shared wallet", "other agent"],
)
def test_a_claimed_proof_is_matched_with_the_payment_and_doubts_count_for_the_client(rows, proof):
    """The index has every payment of the transaction."""
    accounts = {1: {"wallet", "owner"}, 2: {"wallet"}, 3: {"elsewhere"}, 4: {"client", "client's wallet"}}
    claimed = ClaimedTransactions()
    claimed.senders_in = lambda _: Senders("facilitator", tuple(payer for payer, _, _ in rows))
    proofs = Proofs([(7, 2, "0xAB")], payments(*rows), accounts, claimed)
    assert proofs.of(7, 2, "client", 1) == proof
    assert proofs.of(7, 3, "client", 1) is None


@pytest.mark.parametrize(
    "senders",
    [
        None,
        Senders("facilitator", None),
        Senders("facilitator", ("stranger", "client")),
        Senders("facilitator", ("stranger", "client's wallet")),
        Senders("client", ("stranger",)),
    ],
    ids=["not read", "not readable", "another token", "another token of its wallet", "coins"],
)
def test_a_proof_is_foreign_only_if_every_transfer_of_its_transaction_can_be_read(senders):
    claimed = ClaimedTransactions()
    claimed.senders_in = lambda _: senders
    accounts = {1: {"wallet"}, 4: {"client", "client's wallet"}}
    proofs = Proofs([(7, 2, "0xAB")], payments(("stranger", "wallet", 1)), accounts, claimed)
    assert proofs.of(7, 2, "client", 1) is None
