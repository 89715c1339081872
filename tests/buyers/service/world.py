"""Buyers and sellers whose payments a token logs, and the messages that they sign."""

from __future__ import annotations

import threading
import time
from functools import partial

from eth_account import Account
from eth_utils.crypto import keccak
from sqlalchemy import create_engine, select

from bilateral.buyers.messages import content_hash
from bilateral.buyers.requests import EnrichmentBody
from bilateral.core.contracts import Registry
from bilateral.core.signatures import Domain
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.tables import payment
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.reading.registries import AgentKey
from simulation.events import encoded
from tests.index.analysis.conftest import DEPLOYMENT
from tests.index.payments.world import IDENTITY, OTHER_TOKEN, TOKEN, Payments, transfer

CHAIN = 31337
DOLLAR = 1_000_000
DAY = 86_400
SELLER, OTHER_SELLER, WASH_SELLER, SAMPLE, ALICE, BOB, CAROL, WASHER, STRANGER, OPERATOR = (
    Account.from_key(keccak(text=name))
    for name in (
        *("seller", "other seller", "wash seller", "sample", "alice", "bob", "carol", "washer", "stranger"),
        "operator",
    )
)
SELLER_ID = f"eip155:{CHAIN}:{IDENTITY}#1"
OTHER_ID = f"eip155:{CHAIN}:{IDENTITY}#2"
WASH_ID = f"eip155:{CHAIN}:{IDENTITY}#3"
SISTER_ID = f"eip155:{CHAIN}:{IDENTITY}#4"
"""An agent with the wallet of the seller. Payments to the wallet count for the seller, whose id is lower."""


def key_of(global_id):
    """Return an agent's key."""
    return AgentKey(CHAIN, IDENTITY, int(global_id.rpartition("#")[2]), ())


class Market:
    """The chain of the tests.

    Args:
        chain: An `EventChain` without blocks.
        code: The runtime code of `MockLogEmitter`.
    """

    def __init__(self, chain, code):
        self.chain = chain
        self.payments = Payments(chain, code)
        self.now = int(time.time()) - 53 * DAY - 3_600
        self.unlisted = self.plain = self.apart = self.nobody = ""
        self._feedback = 0

    def mine(self, *logs, after=60):
        """Mine a block some seconds later."""
        self.now += after
        self.chain.rpc("evm_setNextBlockTimestamp", self.now)
        return self.payments.mine(*logs)

    def sent(self, *logs):
        """Mine one transaction with logs, and return its hash."""
        block = self.mine(*logs)
        (transaction,) = self.chain.rpc("eth_getBlockByNumber", hex(block), False)["transactions"]
        return transaction

    def pay(self, buyer, seller, dollars):
        """Return the logs of a payment."""
        return self.payments.pay(buyer.address, seller.address, int(dollars * DOLLAR))

    def review(self, buyer, agent, score):
        """Return the log of a review on chain."""
        self._feedback += 1
        hashed = keccak(text="starred")
        values = agent, buyer.address, self._feedback, score, 0, hashed, b"starred", b"", b"", b"", bytes(32)
        return encoded(Registry.BIDIRECTIONAL, "NewFeedback", *values)

    def tell(self):
        """Register agents, and let buyers pay them."""
        register = self.payments.register
        self.mine(register(1, SELLER.address), register(2, OTHER_SELLER.address), register(3, WASH_SELLER.address))
        self.mine(self.pay(SAMPLE, SELLER, 4.5))
        for _ in range(46):
            self.mine(self.pay(SAMPLE, SELLER, 5))
        self.mine([self.review(SAMPLE, 1, 70 + 5 * (number % 2)) for number in range(32)])
        for _ in range(4):
            self.mine(self.pay(ALICE, SELLER, 5))
        self.mine(self.pay(ALICE, OTHER_SELLER, 1))
        self.mine(self.pay(BOB, SELLER, 1), self.pay(BOB, SELLER, 2))  # one transaction
        self.mine(self.payments.pay(SELLER.address, SELLER.address, 7))
        for _ in range(50):
            back = transfer(WASH_SELLER.address, WASHER.address, 10 * DOLLAR)
            self.mine(self.pay(WASHER, WASH_SELLER, 10), back)
        self.mine([self.review(WASHER, 3, 65) for _ in range(20)])
        self.mine(register(4, SELLER.address))
        approve = partial(encoded, Registry.IDENTITY, "ApprovalForAll", OTHER_SELLER.address)
        self.mine(approve(OPERATOR.address, True), approve(BOB.address, True), approve(BOB.address, False))
        for _ in range(3):
            self.mine(self.pay(CAROL, SELLER, 1))
        self.mine(self.review(CAROL, 4, 80))
        unlisted = self.payments.pay(CAROL.address, SELLER.address, 5 * DOLLAR, OTHER_TOKEN)
        self.unlisted = self.sent(unlisted)
        self.plain = self.sent(transfer(CAROL.address, SELLER.address, 5 * DOLLAR))
        use, paid = self.pay(CAROL, SELLER, 5)
        self.apart = self.sent([use, transfer(SELLER.address, STRANGER.address, 1), paid])
        self.nobody = self.sent(self.pay(CAROL, STRANGER, 5))


def index(url, database):
    """Index the chain with its payments."""
    engine = open_database(database)
    chain = ChainSettings((url,), (DEPLOYMENT,), payments=PaymentTerms({TOKEN: 6}))
    settings = IndexSettings((chain,), files=FileSettings(workers=0), analyses=False)
    follow_chains(engine, settings, stop=threading.Event(), until_head=True)
    engine.dispose()


def payments_of(database, buyer, seller=SELLER):
    """Return (transaction, log index) of each payment of a buyer to a seller, the oldest first."""
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    table = payment.c
    query = select(table.transaction_hash, table.log_index).where(
        table.payer == buyer.address, table.payee == seller.address
    )
    with engine.connect() as connection:
        rows = connection.execute(query.order_by(table.block_number, table.log_index)).all()
    engine.dispose()
    return [("0x" + bytes(row.transaction_hash).hex(), row.log_index) for row in rows]


def proof(transaction, buyer, seller=SELLER, **more):
    """Return `proofOfPayment` of a body."""
    addresses = {"fromAddress": buyer.address, "toAddress": seller.address}
    return {"txHash": transaction, **addresses, "chainId": CHAIN, **more}


def signed(kind, body, global_id, signer):
    """Return a body with its signature."""
    model = kind.model_validate({**body, "signature": "0x00"})
    seller = key_of(global_id)
    message = model.message(seller, content_hash(body)) if kind is EnrichmentBody else model.message(seller)
    signable = message.signable(Domain(CHAIN, IDENTITY))
    return {**body, "signature": "0x" + bytes(signer.sign_message(signable).signature).hex()}


def feedback(transaction, *, buyer=ALICE, seller=SELLER, global_id=SELLER_ID, score=90, **proofs):
    """Return the body of feedback, as the specification shows it."""
    return {
        "buyerAddress": buyer.address,
        "sellerGlobalId": global_id,
        "score": score,
        "tags": ["prompt-payment", "clear-requirements"],
        "note": "Great client, clear task description",
        "proofOfPayment": proof(transaction, buyer, seller, **proofs),
    }


def review(transaction, *, buyer=ALICE, seller=SELLER, global_id=SELLER_ID, score=85, **proofs):
    """Return the body of a review."""
    body = {"agentId": global_id, "score": score, "tag1": "quality", "tag2": "", "feedbackNote": "Good work"}
    return {**body, "proofOfPayment": proof(transaction, buyer, seller, **proofs)}


def enrichment(global_id=SELLER_ID, *, issued_at=None, **more):
    """Return the body of a seller's service, as the specification shows it."""
    return {
        "globalId": global_id,
        "serviceName": "Solidity Audit API",
        "serviceCategory": "code-generation",
        "buyerIncentives": {
            "enabled": True,
            "discounts": {"verified": 5, "trusted": 10, "premium": 15},
            "minimumBuyerScore": 50,
            "excludeHighDisputeRate": True,
            "maxDisputeRate": 10,
        },
        "issuedAt": int(time.time()) if issued_at is None else issued_at,
        **more,
    }
