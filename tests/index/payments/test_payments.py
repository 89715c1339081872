"""The index has exactly the payments of the chain, whatever the chain does."""

from __future__ import annotations

import json
import random
import threading

import pytest
from sqlalchemy import delete, select, update

from bilateral.buyers.metrics import add_ties, read_dealings
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.operating.settings import ChainSettings, read_settings
from bilateral.index.operating.worker import Worker
from bilateral.index.payments.queries import payment_progress
from bilateral.index.payments.tables import agent_account, payment, payment_cursor, payment_return
from bilateral.index.payments.terms import PaymentTerms
from simulation.events import encoded
from tests.index.payments.conftest import TERMS
from tests.index.payments.world import DEPLOYMENT, OTHER_TOKEN, TOKEN, account, stored, transfer, used

ALICE, BOB, CAROL = account("alice"), account("bob"), account("carol")
SELLER, NEW_WALLET = account("seller"), account("new wallet")


def kinships(engine):
    with engine.connect() as connection:
        query = select(payment.c.payer, payment.c.kinship).order_by(payment.c.block_number, payment.c.log_index)
        return [tuple(row) for row in connection.execute(query)]


def test_settled_payments_to_an_agent_are_stored(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER))
    block = world.mine(world.pay(ALICE, SELLER, 50_000), world.pay(BOB, SELLER, 7))
    catch_up_payments()
    assert stored(engine) == [(block, 1, ALICE, SELLER, 50_000, 1), (block, 3, BOB, SELLER, 7, 1)]


def test_a_payment_goes_to_the_wallet_at_its_place_of_the_chain(world, engine, catch_up_payments):
    world.mine(world.pay(ALICE, SELLER, 1))  # before the agent exists
    world.mine(world.register(1, SELLER), world.pay(ALICE, SELLER, 2))
    world.mine(
        world.pay(ALICE, SELLER, 3), world.pay(ALICE, NEW_WALLET, 4), world.set_wallet(1, NEW_WALLET),
        world.pay(ALICE, SELLER, 5), world.pay(ALICE, NEW_WALLET, 6),
    )  # fmt: skip
    world.mine(world.set_wallet(1, None), world.pay(ALICE, NEW_WALLET, 7))
    catch_up_payments()
    assert [entry[4] for entry in stored(engine)] == [2, 3, 6]
    assert stored(engine) == world.expected()


@pytest.mark.one_engine
@pytest.mark.parametrize(
    "logs",
    [
        pytest.param([transfer(ALICE, SELLER, 9)], id="no authorization"),
        pytest.param([used(ALICE, bytes(32)), transfer(ALICE, SELLER, 0)], id="nothing"),
        pytest.param([used(ALICE, bytes(32)), transfer(ALICE, BOB, 5)], id="to a stranger"),
        pytest.param([used(BOB, bytes(32)), transfer(ALICE, SELLER, 5)], id="authorized by another account"),
        pytest.param(
            [used(ALICE, bytes(32)), transfer(ALICE, BOB, 5), transfer(ALICE, SELLER, 5)], id="authorized elsewhere"
        ),
        pytest.param(
            [used(ALICE, bytes(32), OTHER_TOKEN), transfer(ALICE, SELLER, 5)], id="authorized in another token"
        ),
        pytest.param(
            [transfer(ALICE, SELLER, 5), used(ALICE, bytes(32)), transfer(ALICE, BOB, 5)],
            id="authorized for a stranger",
        ),
        pytest.param(
            [used(ALICE, bytes(32), OTHER_TOKEN), transfer(ALICE, SELLER, 5, OTHER_TOKEN)], id="token not allowed"
        ),
    ],
)
def test_other_transfers_do_not_count(world, engine, catch_up_payments, logs):
    world.mine(world.register(1, SELLER))
    world.mine(logs)
    catch_up_payments()
    assert stored(engine) == []


def test_plain_transfers_count_if_the_operator_wants_it(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER))
    world.mine(transfer(ALICE, SELLER, 9))
    catch_up_payments(PaymentTerms({TOKEN: 6}, counts_plain=True))
    assert [entry[4] for entry in stored(engine)] == [9]


def test_payments_of_an_agent_to_itself_say_why_they_do_not_count(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER), world.set_wallet(1, NEW_WALLET))
    world.mine(world.pay(SELLER, NEW_WALLET, 1), world.pay(NEW_WALLET, NEW_WALLET, 1), world.pay(CAROL, NEW_WALLET, 1))
    world.mine(encoded(Registry.IDENTITY, "ApprovalForAll", CAROL, SELLER, True), world.pay(CAROL, NEW_WALLET, 1))
    world.mine(encoded(Registry.IDENTITY, "ApprovalForAll", CAROL, SELLER, False), world.pay(CAROL, NEW_WALLET, 1))
    catch_up_payments()
    expected = [(SELLER, "owner"), (NEW_WALLET, "wallet"), (CAROL, None), (CAROL, "operator"), (CAROL, None)]
    assert kinships(engine) == expected


def test_seller_cannot_brand_a_buyer_as_its_operator(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER))
    world.mine(encoded(Registry.IDENTITY, "ApprovalForAll", SELLER, CAROL, True), world.pay(CAROL, SELLER, 1))
    catch_up_payments()
    assert kinships(engine) == [(CAROL, None)]


def test_money_that_the_owner_returns_is_stored_from_its_first_block_on(world, engine, catch_up_payments):
    world.mine(transfer(SELLER, ALICE, 1))  # nobody's owner yet
    world.mine(world.register(1, SELLER), world.set_wallet(1, NEW_WALLET), world.pay(ALICE, NEW_WALLET, 900))
    world.mine(transfer(SELLER, ALICE, 800), transfer(NEW_WALLET, ALICE, 50), transfer(BOB, ALICE, 5))
    catch_up_payments()
    with engine.connect() as connection:
        table = payment_return.c
        rows = connection.execute(select(table.payee, table.receiver, table.micros).order_by(table.micros))
        assert [tuple(row) for row in rows] == [(NEW_WALLET, ALICE, 50), (SELLER, ALICE, 800)]
        dealings = read_dealings(connection, 31337, ALICE)
        add_ties(connection, 31337, ALICE, dealings)
    assert [dealing.returned for dealing in dealings.values()] == [850]


def test_money_that_an_owner_of_two_agents_returns_counts_once(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER), world.register(2, SELLER), world.set_wallet(2, NEW_WALLET))
    world.mine(world.pay(ALICE, SELLER, 300), world.pay(ALICE, NEW_WALLET, 100), transfer(SELLER, ALICE, 41))
    catch_up_payments()
    with engine.connect() as connection:
        dealings = read_dealings(connection, 31337, ALICE)
        add_ties(connection, 31337, ALICE, dealings)
    assert sorted(dealing.returned for dealing in dealings.values()) == [10, 30]  # rounded in the buyer's favour


def test_payments_that_were_stored_without_returns_of_owners_are_read_anew(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER), world.set_wallet(1, NEW_WALLET), world.pay(ALICE, NEW_WALLET, 900))
    world.mine(transfer(SELLER, ALICE, 800))
    catch_up_payments()
    with engine.begin() as connection:
        connection.execute(delete(payment_return))
        former = json.dumps({"plain": False, "tokens": {TOKEN: 6}})
        connection.execute(update(payment_cursor).values(terms=former))
    catch_up_payments()
    with engine.connect() as connection:
        assert list(connection.execute(select(payment_return.c.micros)).scalars()) == [800]


def test_money_that_comes_back_is_stored(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER))
    world.mine(world.pay(ALICE, SELLER, 900), transfer(SELLER, ALICE, 800), transfer(BOB, ALICE, 5))
    catch_up_payments()
    with engine.connect() as connection:
        rows = connection.execute(select(payment_return.c.payee, payment_return.c.receiver, payment_return.c.micros))
        assert [tuple(row) for row in rows] == [(SELLER, ALICE, 800)]


def test_a_payment_counts_from_its_last_confirmation(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER))
    terms = PaymentTerms({TOKEN: 6}, confirmations=3)
    world.mine(world.pay(ALICE, SELLER, 900))
    world.mine()
    catch_up_payments(terms)
    assert stored(engine) == []
    world.mine()
    catch_up_payments(terms)
    assert len(stored(engine)) == 1


@pytest.mark.parametrize("depth", [1, 3, 140])
def test_a_reorganisation_withdraws_payments(world, event_chain, engine, catch_up_payments, depth):
    world.mine(world.register(1, SELLER), world.pay(ALICE, SELLER, 1))
    for amount in range(2, min(depth, 3) + 2):
        world.mine(world.set_wallet(1, NEW_WALLET), world.pay(ALICE, NEW_WALLET, amount))
    if depth > 3:  # deeper than the index knows every hash
        event_chain.rpc("anvil_mine", hex(depth - 3))
    catch_up_payments()
    assert len(stored(engine)) == min(depth, 3) + 1
    event_chain.rpc("anvil_rollback", depth)
    world.mine(world.pay(BOB, SELLER, 77))
    event_chain.rpc("anvil_mine", hex(depth))
    catch_up_payments()
    assert stored(engine) == world.expected()
    assert (BOB, SELLER, 77, 1) in [entry[2:] for entry in stored(engine)]


def test_the_payments_of_a_random_chain_are_exact_after_many_reorganisations(
    world, event_chain, engine, catch_up_payments
):
    chance = random.Random(4)  # noqa: S311  # the same chain each time
    people = [account(f"person {number}") for number in range(6)]
    agents = 0
    for _ in range(8):
        for _ in range(12):
            logs = []
            for _ in range(chance.randint(0, 4)):
                wanted = chance.random()
                if wanted < 0.15 or not agents:
                    agents += 1
                    logs.append(world.register(agents, chance.choice(people)))
                elif wanted < 0.3:
                    logs.append(world.set_wallet(chance.randint(1, agents), chance.choice([*people, None])))
                else:
                    logs.append(world.pay(*chance.choices(people, k=2), chance.randint(0, 99)))
            world.mine(*logs)
        catch_up_payments()
        assert stored(engine) == world.expected()
        event_chain.rpc("anvil_rollback", chance.randint(1, 10))
        agents += 10  # ids that were rolled back are not given again
    world.mine()
    catch_up_payments()
    assert stored(engine) == world.expected()
    assert len(stored(engine)) > 20


def test_other_terms_read_payments_anew(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER))
    world.mine(world.pay(ALICE, SELLER, 10**12, OTHER_TOKEN), world.pay(ALICE, SELLER, 2))
    catch_up_payments()
    assert [entry[4] for entry in stored(engine)] == [2]
    catch_up_payments(PaymentTerms({TOKEN: 6, OTHER_TOKEN: 18}))
    assert [entry[4] for entry in stored(engine)] == [10**12, 2]
    with engine.connect() as connection:
        assert list(connection.execute(select(payment.c.micros)).scalars()) == [1, 2]
        assert connection.execute(select(payment_cursor.c.block_number)).scalar_one() == 2


def test_monitors_know_of_payments_before_the_first_one_is_learned(world, engine, event_chain):
    world.mine(world.register(1, SELLER), world.pay(ALICE, SELLER, 2))
    for confirmations in (3, 1):
        terms = PaymentTerms({TOKEN: 6}, confirmations=confirmations)
        chain = ChainSettings((event_chain.url,), (DEPLOYMENT,), payments=terms)
        Worker(engine, chain, stop=threading.Event())
        with engine.connect() as connection:
            (row,) = connection.execute(select(payment_cursor.c.block_number, payment_cursor.c.confirmations)).all()
            assert tuple(row) == (0, confirmations)


def test_payments_are_behind_by_the_blocks_with_enough_confirmations(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER), world.pay(ALICE, SELLER, 2))
    for _ in range(5):
        world.mine()
    catch_up_payments(PaymentTerms({TOKEN: 6}, confirmations=3))
    with engine.begin() as connection:
        (progress,) = payment_progress(connection)
        assert (progress.block, progress.lag) == (4, 0)
        connection.execute(update(payment_cursor).values(block_number=1))
        assert payment_progress(connection)[0].lag == 3


def test_nothing_is_read_twice(world, engine, catch_up_payments):
    world.mine(world.register(1, SELLER), world.pay(ALICE, SELLER, 2))
    catch_up_payments()
    catch_up_payments()
    assert len(stored(engine)) == 1
    with engine.connect() as connection:
        assert len(connection.execute(select(agent_account)).all()) == 1


def test_many_wallets_are_asked_for_in_parts(world, engine, catch_up_payments, monkeypatch):
    monkeypatch.setattr("bilateral.index.payments.transfers._ACCOUNTS", 3)
    sellers = [account(f"seller {number}") for number in range(10)]
    world.mine([log for agent, owner in enumerate(sellers, start=1) for log in world.register(agent, owner)])
    world.mine(*[world.pay(ALICE, seller, 5) for seller in sellers], world.pay(sellers[0], sellers[9], 6))
    catch_up_payments(TERMS)
    assert stored(engine) == world.expected()
    assert len(stored(engine)) == 11


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"tokens": {}}, "tokens is empty"),
        ({"tokens": {"0x12": 6}}, "address is invalid"),
        ({"tokens": {TOKEN: 19}}, "out of range 0..18"),
        ({"tokens": {TOKEN: 6}, "confirmations": 0}, "out of range 1..64"),
        ({"tokens": {TOKEN: 6}, "confirmations": 65}, "out of range 1..64"),
    ],
    ids=["no token", "address", "decimals", "no confirmation", "confirmations"],
)
def test_terms_that_cannot_work_are_refused(values, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        PaymentTerms(**values)


def test_a_file_names_the_terms(tmp_path):
    path = tmp_path / "index.toml"
    path.write_text(
        f'[[chain]]\nrpc_urls = ["http://node"]\n[chain.payments]\ntokens = {{"{TOKEN}" = 6}}\nconfirmations = 5\n'
    )
    assert read_settings(path).chains[0].payments == PaymentTerms({TOKEN: 6}, confirmations=5)
