"""A payment is the transfer of its own authorization, whichever of both the token logs first."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from eth_utils.crypto import keccak

from bilateral.core.events.decoder import paired_nonces, unsure_groups
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PaymentKind, SignedPayment, authorization_identity
from bilateral.core.payments.contracts import AUTHORIZATION_USED, TRANSFER
from bilateral.core.payments.settling import address_topic
from bilateral.index.payments.transfers import TokenTransfer, with_nonces
from bilateral.node.running import StepRunner
from bilateral.node.transport import Transport
from bilateral.x402.proof.payments import PaymentProblemError, find_payment, signed_payment
from tests.sdk.client.helpers import abi_of, deploy, transact

PAYER, PAYEE, OTHER = (checksummed("0x" + keccak(text=name)[-20:].hex()) for name in ("payer", "payee", "other"))
A, B = (keccak(text=name) for name in "AB")


def transfer(amount, receiver=PAYEE, sender=PAYER):
    return [TRANSFER, address_topic(sender), address_topic(receiver)], amount.to_bytes(32)


def used(nonce, payer=PAYER):
    return [AUTHORIZATION_USED, address_topic(payer), nonce], b""


@pytest.fixture(scope="module")
def emitter(web3, project):
    """A token that logs whatever a test wants."""
    return web3.eth.contract(address=deploy(web3, project.MockLogEmitter), abi=abi_of(project.MockLogEmitter))


@pytest.fixture
def emitted(web3, emitter, stranger):
    """Emits logs in one transaction, and returns its receipt."""
    return lambda *logs: transact(web3, emitter.functions.emitLogs(list(logs)), stranger)


@pytest.fixture
def paid(rpc, emitter):
    """Finds a payment in a receipt; its amount, and the place of its transfer among the logs."""
    transport = Transport(rpc, 30)

    def find(receipt, nonce, amount):
        transaction = "0x" + bytes(receipt["transactionHash"]).hex()
        signed = SignedPayment(PaymentKind.EIP3009, emitter.address, PAYER, PAYEE, amount, nonce, 0, 2**40)
        payment = StepRunner(transport).run(find_payment(signed, transaction, 1))
        return payment.amount, payment.log_index - receipt["logs"][0]["logIndex"]

    yield find
    transport.close()


ORDERS = {
    "use first": ([used(A), transfer(10), used(B), transfer(1000)], 1, 3),
    "transfer first": ([transfer(10), used(A), transfer(1000), used(B)], 0, 2),
    "use first, other transfers between": (
        [used(A), transfer(10), transfer(5, sender=OTHER), transfer(7, OTHER), used(B), transfer(1000)],
        1,
        5,
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_payment_is_the_transfer_of_its_own_authorization(emitted, paid, order):
    logs, first, second = ORDERS[order]
    receipt = emitted(*logs)
    assert (paid(receipt, A, 10), paid(receipt, B, 1000)) == ((10, first), (1000, second))


@pytest.mark.parametrize("order", ORDERS)
def test_larger_transfer_of_another_authorization_proves_nothing(emitted, paid, order):
    receipt = emitted(*ORDERS[order][0])
    with pytest.raises(PaymentProblemError, match="the price is 11"):
        paid(receipt, A, 11)
    assert paid(receipt, B, 1000)[0] == 1000


def test_transfer_to_another_payee_is_not_the_payment(emitted, paid):
    receipt = emitted(transfer(1000, OTHER), used(A), transfer(1000), used(B))
    with pytest.raises(PaymentProblemError, match="does not transfer"):
        paid(receipt, A, 10)
    assert paid(receipt, B, 10) == (1000, 2)


def test_authorization_without_a_transfer_beside_it_proves_nothing(emitted, paid):
    receipt = emitted(used(A), used(A, OTHER), transfer(10))
    with pytest.raises(PaymentProblemError, match="does not transfer"):
        paid(receipt, A, 10)


def test_plain_transfer_before_an_authorization_and_its_transfer_takes_neither(emitted, paid):
    receipt = emitted(transfer(1000), used(A), transfer(10))
    assert paid(receipt, A, 10) == (10, 2)
    with pytest.raises(PaymentProblemError, match="the price is 11") as raised:
        paid(receipt, A, 11)
    assert (raised.value.code, raised.value.is_final) == ("paid_less", True)


@pytest.mark.parametrize("text", ["0x01", "01", "0x" + "ab" * 32, "0x0a 0b"])
def test_nonce_is_the_one_that_reservations_have(text):
    signed = {"from": PAYER, "to": PAYEE, "nonce": text, "value": "10", "validAfter": "0", "validBefore": "99"}
    accepted = {"scheme": "exact", "asset": OTHER, "payTo": PAYEE, "amount": "10"}
    identity = authorization_identity("eip155:1", OTHER, {"authorization": signed})
    nonce = signed_payment(accepted, {"authorization": signed}).nonce
    assert (len(nonce), nonce.hex()) == (32, identity[3])


PAIRS = {
    "use first": ([1, 3], {0: "A", 2: "B"}, {1: "A", 3: "B"}),
    "transfer first": ([0, 2], {1: "A", 3: "B"}, {0: "A", 2: "B"}),
    "plain transfer before": ([0, 2], {1: "A"}, {2: "A"}),
    "plain transfer after": ([1, 2], {0: "A"}, {1: "A"}),
    "too far": ([3], {0: "A", 1: "B"}, {}),
    "no authorization": ([0, 1], {}, {}),
    "no transfer": ([], {0: "A"}, {}),
}


@pytest.mark.parametrize("case", PAIRS)
def test_transfers_are_paired_with_their_neighbours(case):
    transfers, used_at, expected = PAIRS[case]
    paired = paired_nonces(
        [("", entry) for entry in transfers], {("", at): nonce.encode() for at, nonce in used_at.items()}
    )
    assert paired == {("", at): nonce.encode() for at, nonce in expected.items()}


def test_known_transfers_of_a_sure_group_are_paired_as_among_all():
    """Try every row of up to seven logs, and every choice of the transfers that are known."""
    sure = 0
    for kinds in (entry for length in range(1, 8) for entry in product(("use", "transfer", "other"), repeat=length)):
        uses = {("", at): b"%d" % at for at, kind in enumerate(kinds) if kind == "use"}
        places = [("", at) for at, kind in enumerate(kinds) if kind == "transfer"]
        all_pairs = paired_nonces(places, uses)
        for known in (member for size in range(len(places)) for member in combinations(places, size)):
            if not unsure_groups(known, uses):
                sure += 1
                assert paired_nonces(known, uses) == {place: all_pairs[place] for place in known if place in all_pairs}
    assert sure > 1000


def test_authorization_of_another_group_belongs_to_no_transfer_here():
    assert paired_nonces([("here", 1)], {("there", 0): A, ("there", 2): B}) == {}


@pytest.mark.parametrize("case", PAIRS)
def test_index_pairs_them_alike(case):
    places, used_at, expected = PAIRS[case]
    transfers = [TokenTransfer(1, at, b"", 0, b"tx", "token", PAYER, PAYEE, 10) for at in places]
    uses = {((1, b"tx", "token", PAYER), at): nonce.encode() for at, nonce in used_at.items()}
    nonces = {nonce.log_index: nonce.nonce for nonce in with_nonces(transfers, uses)}
    assert nonces == {at: expected[at].encode() if at in expected else None for at in places}


@pytest.mark.parametrize("other", [(b"other", "token", PAYER), (b"tx", "other", PAYER), (b"tx", "token", OTHER)])
@pytest.mark.parametrize("at", [0, 2])
def test_authorization_of_another_transaction_token_or_account_is_of_no_transfer_here(other, at):
    transfers = [TokenTransfer(1, 1, b"", 0, b"tx", "token", PAYER, PAYEE, 10)]
    assert with_nonces(transfers, {((1, *other), at): A}) == transfers
    assert with_nonces(transfers, {((2, b"tx", "token", PAYER), at): A}) == transfers
