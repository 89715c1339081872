"""Payments by Permit2 count by the calldata of their transactions, and by nothing that anybody can make look alike."""

from __future__ import annotations

import pytest
from eth_account import Account
from sqlalchemy import select, update

from bilateral.buyers.acceptance import BuyerMessages
from bilateral.buyers.metrics import read_dealings
from bilateral.buyers.policies import BuyerSettings
from bilateral.buyers.requests import ReviewBody
from bilateral.core.payments.contracts import EXACT_PROXY, UPTO_PROXY
from bilateral.index.payments.tables import payment, payment_cursor
from bilateral.index.payments.terms import PaymentTerms
from tests.index.payments.test_messages import BUYER, CHAIN, review_of, signed
from tests.index.payments.world import IDENTITY, SELLER, account
from tests.index.proxy import Proxy, refusal
from tests.permit2 import TOKEN, logs_of

TERMS = PaymentTerms({TOKEN: 6})
TRACED = PaymentTerms({TOKEN: 6}, traces=True)
PLAIN = PaymentTerms({TOKEN: 6}, counts_plain=True)


def kinds(engine):
    """Return (kind, payer, amount, ceiling) of each stored payment, in the order of the chain."""
    table = payment.c
    with engine.connect() as connection:
        query = select(table.kind, table.payer, table.amount, table.ceiling)
        rows = connection.execute(query.order_by(table.block_number, table.log_index)).all()
    return [
        (kind, payer, int(amount), None if ceiling is None else int(ceiling)) for kind, payer, amount, ceiling in rows
    ]


def authorized(chain, payer, payee, amount, nonce=bytes(32)):
    """Return (token, calldata) of a payment that the token itself settles (EIP-3009)."""
    domain = {"name": "Test Dollar", "version": "2", "chainId": chain.chain_id, "verifyingContract": chain.token}
    fields = [("from", "address"), ("to", "address"), ("value", "uint256"), ("validAfter", "uint256")]
    fields += [("validBefore", "uint256"), ("nonce", "bytes32")]
    values = (payer.address, payee, amount, 0, 2**40, nonce)
    signed_message = payer.sign_typed_data(
        domain,
        {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in fields]},
        dict(zip((name for name, _ in fields), values, strict=True)),
    )
    return chain.token, chain.code(
        "MockPaymentToken", "transferWithAuthorization", *values, bytes(signed_message.signature)
    )


def test_payments_of_both_proxies_are_stored_with_nonce_and_ceiling(market, engine, catch_up_payments):
    buyer = market.buyer()
    exact = market.exact(buyer, SELLER.address, 1000)
    metered = market.upto(buyer, SELLER.address, 5000)
    market.settle(exact, suffix=b"builder code")
    market.settle(metered, amount=1234)
    catch_up_payments(TERMS)
    assert kinds(engine) == [
        ("permit2-exact", buyer.address, 1000, None),
        ("permit2-upto", buyer.address, 1234, 5000),
    ]
    nonces = [int(payload["permit2Authorization"]["nonce"]).to_bytes(32) for payload in (exact, metered)]
    with engine.connect() as connection:
        query = select(payment.c.nonce, payment.c.position).order_by(payment.c.block_number)
        assert [(bytes(nonce), position) for nonce, position in connection.execute(query)] == [
            (nonces[0], 1 << 20),
            (nonces[1], 1 << 20),
        ]


@pytest.mark.one_engine
def test_settlement_with_a_permit_of_the_token_counts(market, engine, catch_up_payments):
    buyer = Account.create()
    market.fund(buyer.address)
    payload = market.exact(buyer, SELLER.address, 600)
    market.settle(payload, permit=market.token_permit(buyer, 600))
    catch_up_payments(TERMS)
    assert kinds(engine) == [("permit2-exact", buyer.address, 600, None)]


@pytest.mark.one_engine
def test_metered_payment_of_one_unit_counts(market, engine, catch_up_payments):
    buyer = market.buyer()
    market.settle(market.upto(buyer, SELLER.address, 5000), amount=1)
    catch_up_payments(TERMS)
    assert kinds(engine) == [("permit2-upto", buyer.address, 1, 5000)]


def pay_plainly(chain, buyer):
    chain.send(chain.token, chain.code("MockPaymentToken", "transfer", SELLER.address, 1000), buyer)


def call_a_look_alike(chain, buyer):
    imitation = chain.put("0x" + "e1" * 20, "MockExactProxy")
    payload = chain.exact(buyer, SELLER.address, 1000, spender=imitation)
    chain.send(imitation, chain.call(payload)[1])


def settle_another_token(chain, buyer):
    """Let a real proxy settle in a token that moves the listed one of a victim who signed nothing."""
    attacker = Account.create()
    token = chain.put("0x" + "e2" * 20, "TokenMovesAnotherToken")
    chain.approve(buyer, token)
    chain.send(token, chain.code("TokenMovesAnotherToken", "aim", chain.token, buyer.address))
    receipt = chain.settle(chain.exact(attacker, SELLER.address, 1000, token=token))
    assert receipt["status"] == "0x1"


def settle_for_another_seller(chain, buyer):
    chain.settle(chain.exact(buyer, account("stranger"), 1000))


def settle_through_a_contract(chain, buyer):
    chain.multicall(chain.call(chain.exact(buyer, SELLER.address, 1000)))


@pytest.mark.one_engine
@pytest.mark.parametrize(
    "act",
    [pay_plainly, call_a_look_alike, settle_another_token, settle_for_another_seller, settle_through_a_contract],
)
def test_transfer_without_a_proven_settlement_does_not_count(market, engine, catch_up_payments, act):
    act(market, market.buyer())
    catch_up_payments(TERMS)
    assert kinds(engine) == []


@pytest.mark.one_engine
def test_traces_prove_payments_that_a_contract_settled_for_several_buyers(market, engine, catch_up_payments):
    first, second = market.buyer(), market.buyer()
    calls = [market.call(market.exact(buyer, SELLER.address, amount)) for buyer, amount in ((first, 10), (second, 20))]
    failed = market.call(market.exact(first, SELLER.address, 10**12))
    market.multicall(calls[0], failed, calls[1], may_fail=True)
    catch_up_payments(TRACED)
    assert [(kind, payer, amount) for kind, payer, amount, _ in kinds(engine)] == [
        ("permit2-exact", first.address, 10),
        ("permit2-exact", second.address, 20),
    ]


@pytest.mark.one_engine
def test_transaction_that_no_node_can_trace_holds_up_nothing(market, engine, catch_up_payments):
    buyer = market.buyer()
    settle_through_a_contract(market, buyer)
    market.settle(market.exact(buyer, SELLER.address, 7))
    with Proxy(market.url) as proxy:
        proxy.own["debug_traceTransaction"] = lambda _: refusal("execution timeout")
        catch_up_payments(TRACED, proxy.url)
        assert sum(method == "debug_traceTransaction" for method, _ in proxy.calls) == 3
    assert kinds(engine) == [("permit2-exact", buyer.address, 7, None)]


@pytest.mark.one_engine
def test_only_transactions_with_a_settlement_and_a_transfer_to_an_agent_are_read(market, engine, catch_up_payments):
    buyer = market.buyer()
    for act in (pay_plainly, settle_for_another_seller):
        act(market, buyer)
    paid = [market.settle(market.exact(buyer, SELLER.address, amount))["transactionHash"] for amount in (5, 6)]
    with Proxy(market.url) as proxy:
        catch_up_payments(TERMS, proxy.url)
        of_proxies = [
            parameters[0]
            for method, parameters in proxy.calls
            if method == "eth_getLogs" and EXACT_PROXY in parameters[0]["address"]
        ]
        read = [tuple(parameters) for method, parameters in proxy.calls if "ByBlockHashAndIndex" in method]
    assert [entry["address"] for entry in of_proxies] == [[EXACT_PROXY, UPTO_PROXY]]
    blocks = [market.rpc("eth_getTransactionByHash", hash_) for hash_ in paid]
    assert read == [(block["blockHash"], block["transactionIndex"]) for block in blocks]


@pytest.mark.one_engine
@pytest.mark.parametrize(("decimals", "requests"), [(9, 1), (10, 0)])
def test_transfer_below_a_millionth_of_a_dollar_is_not_looked_up(market, engine, catch_up_payments, decimals, requests):
    market.settle(market.exact(market.buyer(), SELLER.address, 1000))
    with Proxy(market.url) as proxy:
        catch_up_payments(PaymentTerms({TOKEN: decimals}), proxy.url)
        assert sum("ByBlockHashAndIndex" in method for method, _ in proxy.calls) == requests
    assert len(kinds(engine)) == requests


@pytest.mark.one_engine
@pytest.mark.parametrize("falsify", [lambda entry: entry | {"input": entry["input"][:-2] + "00"}, lambda _: None])
def test_endpoint_whose_transaction_is_not_that_of_its_hash_is_benched(market, engine, catch_up_payments, falsify):
    buyer = market.buyer()
    market.settle(market.exact(buyer, SELLER.address, 5), suffix=b"\1")
    with Proxy(market.url) as proxy:
        lies = []

        def rule(_, entry):
            lies.append(entry)
            return falsify(entry) if len(lies) < 3 else entry

        proxy.rules["eth_getTransactionByBlockHashAndIndex"] = rule
        catch_up_payments(TERMS, proxy.url)
    assert len(lies) == 3
    assert kinds(engine) == [("permit2-exact", buyer.address, 5, None)]


@pytest.mark.one_engine
def test_transaction_of_an_unknown_type_proves_nothing_and_accuses_nobody(market, engine, catch_up_payments):
    market.settle(market.exact(market.buyer(), SELLER.address, 5))
    with Proxy(market.url) as proxy:
        proxy.rules["eth_getTransactionByBlockHashAndIndex"] = lambda _, entry: entry | {"type": "0x7e"}
        catch_up_payments(TERMS, proxy.url)
    assert kinds(engine) == []


def test_a_reorganisation_withdraws_payments_by_permit2(market, event_chain, engine, catch_up_payments):
    buyer = market.buyer()
    market.settle(market.exact(buyer, SELLER.address, 5))
    market.settle(market.exact(buyer, SELLER.address, 6))
    catch_up_payments(TERMS)
    event_chain.rpc("anvil_rollback", 1)
    market.settle(market.exact(buyer, SELLER.address, 7))
    catch_up_payments(TERMS)
    assert [amount for _, _, amount, _ in kinds(engine)] == [5, 7]


def review_the_payment(engine, transaction, log_index):
    proof = {"txHash": transaction, "logIndex": log_index, "chainId": CHAIN}
    proof |= {"fromAddress": BUYER.address, "toAddress": SELLER.address}
    BuyerMessages(engine, BuyerSettings()).take_review(signed(ReviewBody, review_of(proof, 70), BUYER))


@pytest.mark.parametrize("before", [TERMS, PLAIN], ids=["authorized", "plain"])
def test_messages_stay_with_their_payment_when_kinds_are_added(market, engine, catch_up_payments, before):
    """A transaction has a payment by Permit2, and after it one by the token, which alone counted before."""
    market.fund(BUYER.address)
    market.approve(BUYER)
    exact = market.call(market.exact(BUYER, SELLER.address, 30))
    receipt = market.multicall(exact, authorized(market, BUYER, SELLER.address, 40))
    catch_up_payments(before)
    transfers = [log.log_index for log in logs_of(receipt) if int.from_bytes(log.data) == 40]
    review_the_payment(engine, receipt["transactionHash"], transfers[0])
    with engine.begin() as connection:
        (position,) = connection.execute(select(payment.c.position).where(payment.c.kind == "eip3009")).scalars()
        connection.execute(update(payment_cursor).values(terms='{"plain": false, "tokens": {}}'))  # an older version's
    catch_up_payments(PaymentTerms({TOKEN: 6}, traces=True, counts_plain=before.counts_plain))
    assert [(kind, amount) for kind, _, amount, _ in kinds(engine)] == [("permit2-exact", 30), ("eip3009", 40)]
    with engine.connect() as connection:
        assert connection.execute(select(payment.c.position).where(payment.c.kind == "eip3009")).scalars().all() == [
            position
        ]
        assert position == int(before.counts_plain)
        assert read_dealings(connection, CHAIN, BUYER.address)[IDENTITY, 1].reviews == [70]
