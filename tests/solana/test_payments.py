"""A payment is found by its transaction: the chain's outcome counts, and the message that the client signed."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.errors.solana import SolanaPaymentError
from bilateral.core.identifiers import TransactionRef
from bilateral.solana.addresses import MAINNET
from bilateral.solana.payments import ExpectedPayment
from bilateral.solana.transactions import SignedTransaction
from bilateral.x402 import CheckName, Outcome, Verifier
from simulation.solana import instructions as ix
from simulation.solana.world import TOKEN_KEY
from tests.solana.conftest import PRICE
from tests.solana.paying import buy, emptying
from tests.x402.examples import changed

FAILED, UNCHECKED = Outcome.FAILED, Outcome.UNCHECKED


@pytest.fixture
def entry(node, bought):
    """The transaction as the node keeps it."""
    return node.history[bought.settlement["transaction"]]


@pytest.fixture
def checked(verifier):
    """Returns outcome, code and problem of the check of a payment."""

    def check(paid, name=CheckName.PAYMENT):
        made = verifier.verify(paid).check(name)
        return made.outcome, made.code, made.problem

    return check


@pytest.fixture
def answer(node):
    """Changes the node's answer for a transaction."""

    def change(*path, value):
        node.instead["getTransaction"] = lambda honest: changed(honest, list(path), value)

    return change


def test_s23_unknown_transaction_does_not_pay(checked, bought, node):
    node.instead["getTransaction"] = lambda _: None
    outcome, code, problem = checked(bought)
    assert (outcome, code) == (FAILED, "payment_not_found")
    assert bought.settlement["transaction"] in problem


def test_s23_transaction_that_the_node_does_not_know_yet_is_waited_for(reader, bought, node):
    answers = iter([None])
    node.instead["getTransaction"] = lambda honest: next(answers, honest)
    with Verifier({}, readers=[reader]) as patient:
        assert patient.verify(bought).is_verified


def test_s23_transaction_that_failed_does_not_pay_whatever_the_facilitator_says(
    checked, shop, node, world, asset, buyer, rpc
):
    """The buyer empties its account between verification and settlement. The SDK's facilitator reports success."""
    with emptying(node, world, asset, buyer):
        paid = buy(shop[0], buyer, rpc)
    assert paid.settlement["success"] is True
    assert node.history[paid.settlement["transaction"]]["meta"]["err"] == {"InstructionError": [2, {"Custom": 1}]}
    outcome, code, problem = checked(paid)
    assert (outcome, code) == (FAILED, "payment_not_found")
    assert "the transaction failed" in problem


def test_s24_another_transaction_is_another_payment(checked, bought, shop, buyer, rpc, node):
    """The server names an earlier payment of the same client, of the same amount."""
    other = buy(shop[0], buyer, rpc)
    borrowed = replace(bought, payment=other.payment)
    outcome, code, problem = checked(borrowed)
    assert (outcome, code) == (FAILED, "payment_mismatch")
    assert "differs from the client's signed transaction" in problem


def test_s24_answer_with_another_signature_is_another_payment(checked, bought, shop, buyer, rpc, node):
    other = buy(shop[0], buyer, rpc)
    node.instead["getTransaction"] = lambda _: node.history[other.settlement["transaction"]]
    outcome, code, problem = checked(bought)
    assert (outcome, code) == (FAILED, "payment_mismatch")
    assert f"instead of {bought.settlement['transaction']}" in problem


class Signing:
    """Makes payments by hand: a transfer and further instructions, signed by the buyer."""

    def __init__(self, asset, seller):
        self.asset, self.seller, self.buyer, self.fee_payer = asset, seller, Keypair(), Keypair().pubkey()
        self.blockhash = Hash.new_unique()
        self.source = ix.associated(self.buyer.pubkey(), asset, TOKEN_KEY)
        self.destination = ix.associated(seller, asset, TOKEN_KEY)
        self.terms = {"asset": str(asset), "payTo": str(seller), "amount": str(PRICE)}

    def transfer(self, amount=PRICE, destination=None, asset=None):
        target = destination or self.destination
        return ix.transfer_checked(self.source, asset or self.asset, target, self.buyer.pubkey(), amount, 6, TOKEN_KEY)

    def transaction(self, *instructions, legacy=False, tables=()):
        message = (
            Message.new_with_blockhash(instructions, self.fee_payer, self.blockhash)
            if legacy
            else MessageV0.try_compile(self.fee_payer, list(instructions), list(tables), self.blockhash)
        )
        content = bytes(message) if legacy else b"\x80" + bytes(message)
        signatures = [Signature.default(), self.buyer.sign_message(content)]
        count = message.header.num_required_signatures
        return bytes(VersionedTransaction.populate(message, signatures[:count]))

    def payload(self, *instructions, **options):
        return {"transaction": base64.b64encode(self.transaction(*instructions, **options)).decode()}

    def expected(self, payload, **terms):
        return ExpectedPayment.of(self.terms | terms, payload)

    def mismatch(self, payload, **terms):
        with pytest.raises(SolanaPaymentError) as refused:
            self.expected(payload, **terms)
        assert refused.value.code == "payment_mismatch"
        return str(refused.value)


@pytest.fixture
def signing():
    return Signing(Keypair().pubkey(), Keypair().pubkey())


@pytest.mark.parametrize("legacy", [True, False])
def test_s25_one_transfer_of_the_amount_to_the_payee_is_the_payment(signing, legacy):
    expected = signing.expected(signing.payload(signing.transfer(), legacy=legacy))
    transfer = expected.signed.transfer
    assert (transfer.authority, transfer.amount, transfer.index) == (str(signing.buyer.pubkey()), PRICE, 0)
    assert signing.expected(signing.payload(signing.transfer(PRICE + 1))).amount == PRICE


def test_s25_smaller_amount_other_token_and_other_account_are_other_payments(signing):
    assert "transfers 999, not the agreed 1000" in signing.mismatch(signing.payload(signing.transfer(PRICE - 1)))
    other = Keypair().pubkey()
    assert f"transfers {other}" in signing.mismatch(signing.payload(signing.transfer(asset=other)))
    assert "not an account of" in signing.mismatch(signing.payload(signing.transfer(destination=other)))
    assert "not an account of" in signing.mismatch(signing.payload(signing.transfer(destination=signing.seller)))


def test_s25_transfer_that_does_not_name_its_token_does_not_count(signing):
    plain = ix.transfer(signing.source, signing.destination, signing.buyer.pubkey(), PRICE, TOKEN_KEY)
    assert "not a TransferChecked instruction" in signing.mismatch(signing.payload(plain))
    assert "has 0 transfers" in signing.mismatch(
        signing.payload(ix.update_authority(signing.asset, signing.buyer.pubkey(), signing.seller))
    )


def test_s25_payer_that_does_not_sign_pays_nothing(signing):
    keys = signing.transfer().accounts
    unsigned = ix.Instruction(
        TOKEN_KEY, signing.transfer().data, [*keys[:3], ix.AccountMeta(keys[3].pubkey, False, False)]
    )
    assert "did not sign" in signing.mismatch(signing.payload(unsigned))


@pytest.mark.parametrize(
    "terms",
    [
        {"amount": "0"},
        {"amount": "-1"},
        {"amount": 1000},
        {"amount": "1e3"},
        {"amount": "٣"},
        {"asset": "0x12"},
        {"payTo": ""},
    ],
)
def test_s25_malformed_terms_are_named(signing, terms):
    assert "malformed" in signing.mismatch(signing.payload(signing.transfer()), **terms)


def test_s26_amount_that_a_transfer_fee_eats_is_too_little(checked, sell, agent, owner, world, rpc):
    """5 percent of a token with a transfer fee do not arrive, and the facilitator settles all the same."""
    token, buyer = world.asset(ix.TOKEN_2022_KEY, fee=500), Keypair()
    world.give(token, buyer.pubkey(), 10**6, ix.TOKEN_2022_KEY)
    world.give(token, owner.pubkey(), 0, ix.TOKEN_2022_KEY)
    with sell(agent, str(owner.pubkey()), token=token) as (url, _):
        paid = buy(url, buyer, rpc)
    outcome, code, problem = checked(paid)
    assert (outcome, code) == (FAILED, "payment_mismatch")
    assert f"950 arrived at {owner.pubkey()}, not the agreed 1000" in problem


def test_s26_token_of_token_2022_without_a_fee_arrives_whole(verifier, sell, agent, owner, world, rpc):
    token, buyer = world.asset(ix.TOKEN_2022_KEY), Keypair()
    world.give(token, buyer.pubkey(), 10**6, ix.TOKEN_2022_KEY)
    world.give(token, owner.pubkey(), 0, ix.TOKEN_2022_KEY)
    with sell(agent, str(owner.pubkey()), token=token) as (url, _):
        assert verifier.verify(buy(url, buyer, rpc)).is_verified


def test_s26_credited_account_belongs_to_the_payee(checked, bought, entry, stranger, answer):
    place = entry["meta"]["postTokenBalances"].index(
        next(
            post_token_balance
            for post_token_balance in entry["meta"]["postTokenBalances"]
            if post_token_balance["owner"] == bought.accepted["payTo"]
        )
    )
    answer("meta", "postTokenBalances", place, "owner", value=str(stranger.pubkey()))
    outcome, code, problem = checked(bought)
    assert (outcome, code) == (FAILED, "payment_mismatch")
    assert f"belongs to {stranger.pubkey()}" in problem


def test_s27_payment_has_payer_slot_place_and_time(verifier, bought, seller, entry, node):
    payment = verifier.verify(bought).payment
    payer = next(
        pre_token_balance["owner"]
        for pre_token_balance in entry["meta"]["preTokenBalances"]
        if pre_token_balance["owner"] != str(seller.pubkey())
    )
    assert (payment.payer, payment.payee) == (payer, str(seller.pubkey()))
    assert (payment.block, payment.log_index, payment.amount) == (entry["slot"], 2, PRICE)
    assert payment.time.timestamp() == node.time_of(entry["slot"])


@pytest.mark.parametrize("path", [["blockTime"], ["meta"], ["meta", "preTokenBalances"]])
def test_s27_node_that_leaves_something_out_cannot_check(checked, bought, answer, path):
    answer(*path, value=None)
    assert checked(bought)[:2] == (UNCHECKED, "cannot_check")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["slot"], "7"),
        (["slot"], -1),
        (["blockTime"], 10**30),
        (["transaction"], "AQ=="),
        (["transaction"], ["AQ==", "base64"]),
        (["transaction"], ["?", "base64"]),
        (["meta", "postTokenBalances"], 7),
        (["meta", "postTokenBalances", 0], 7),
        (["meta", "postTokenBalances"], [{"accountIndex": place, "uiTokenAmount": None} for place in range(8)]),
        (["meta", "postTokenBalances"], [{"accountIndex": at, "uiTokenAmount": {"amount": "1e3"}} for at in range(8)]),
    ],
)
def test_s27_malformed_answer_proves_nothing(verifier, bought, answer, path, value):
    answer(*path, value=value)
    assert not verifier.verify(bought).is_verified


def test_s34_task_is_the_chain_and_the_first_signature(verifier, bought):
    transaction = bought.settlement["transaction"]
    task = TransactionRef.parse(verifier.verify(bought).interaction.task_ref)
    assert (str(task.chain), task.transaction) == (MAINNET, transaction)
    with pytest.raises(MalformedIdentifierError, match="64 bytes"):
        TransactionRef.parse(f"{MAINNET}:{transaction[:-2]}")


def test_s28_several_confirmations_are_a_finalized_payment(bought, reader, node):
    with Verifier({}, readers=[reader], confirmations=2, receipt_seconds=0) as patient:
        assert patient.verify(bought).is_verified
        node.final_lag = 1000
        reason = patient.verify(bought).check(CheckName.PAYMENT)
        assert (reason.outcome, reason.code) == (FAILED, "payment_unconfirmed")
        node.instead["getTransaction"] = lambda _: None
        assert patient.verify(bought).check(CheckName.PAYMENT).code == "payment_not_found"


def lookup_table(signing):
    """A table that holds the account to be credited."""
    return AddressLookupTableAccount(key=Pubkey.new_unique(), addresses=[signing.destination])


@pytest.mark.parametrize(
    "text",
    [None, 7, "", "?", "AQ", "AQ==\n", "AQ==", "A" * 5000, base64.b64encode(bytes(1233)).decode()],
)
def test_s29_malformed_payload_is_named(signing, text):
    assert "a transaction" in signing.mismatch({"transaction": text})


def test_s29_transaction_has_exactly_one_transfer_and_no_lookup_tables(signing):
    assert "lookup tables" in signing.mismatch(signing.payload(signing.transfer(), tables=[lookup_table(signing)]))
    twice = signing.payload(signing.transfer(), signing.transfer(destination=Keypair().pubkey()))
    assert "has 2 transfers" in signing.mismatch(twice)


def test_s29_transaction_of_another_version_or_with_bytes_behind_it_is_refused(signing):
    content = signing.transaction(signing.transfer())
    start = 1 + 2 * 64
    versioned = content[:start] + b"\x81" + content[start + 1 :]
    for other, reason in ((versioned, "version 1 is unknown"), (content + b"\0", "1 extra bytes follow the end")):
        assert reason in signing.mismatch({"transaction": base64.b64encode(other).decode()})
    with pytest.raises(ValueError, match="exceed the limit of 1232"):
        SignedTransaction.of(bytes(1233))
    assert SignedTransaction.of(content).id == "1" * 64


def test_s29_transaction_whose_numbers_disagree_is_refused(signing):
    content = bytearray(signing.transaction(signing.transfer()))
    content[1 + 2 * 64 + 1] = 3  # signers
    assert "3 signers, 2 signatures" in signing.mismatch({"transaction": base64.b64encode(bytes(content)).decode()})
