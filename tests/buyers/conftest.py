"""Fixtures of the buyer reputation registry's tests: the registry, a token, a seller, and signed payments."""

from __future__ import annotations

from collections import namedtuple
from itertools import count

import pytest
from eth_account.messages import encode_typed_data
from eth_utils import keccak

from scripts._explorer import use_explorer
from scripts._payments import sign_payment

CENT = 10_000
"""A cent in millionths of a dollar."""

FUNDS = 10**13
"""The money of each buyer: ten million dollars."""

BASE_CHAIN = 8453

TRUSTED = 2
POLICY = keccak(text="brp-1.0")
SCOPE = keccak(text="a place")
PSEUDONYM = keccak(text="a buyer in that place today")
CREDENTIAL_FIELDS = [
    {"name": "holder", "type": "address"},
    {"name": "issuedAt", "type": "uint64"},
    {"name": "validUntil", "type": "uint64"},
    {"name": "policy", "type": "bytes32"},
    {"name": "tier", "type": "uint8"},
    {"name": "scope", "type": "bytes32"},
    {"name": "pseudonym", "type": "bytes32"},
]


def payment_word(buyer, amount, paid_at, position):
    """Pack a payment as `AttestedPayment` draws."""
    return int(buyer.address, 16) << 96 | amount << 40 | paid_at << 8 | position


Settled = namedtuple("Settled", "payments volume first_payment_at last_payment_at minimum_sellers")
Attested = namedtuple(
    "Attested",
    "payments volume first_payment_at last_payment_at reviews review_sum feedback_sellers feedback_sum disputes",
)


def settled_record(registry, buyer):
    return Settled(*registry.recordsOf(buyer)[0])


def attested_record(registry, buyer):
    return Attested(*registry.recordsOf(buyer)[1])


def tx_hash(name):
    return keccak(text=f"transaction {name}")


@pytest.fixture(scope="session", autouse=True)
def _without_explorer(networks):
    """Keep Ape from asking a block explorer about a contract whose constructor reverted."""
    use_explorer(networks.provider.network, None)


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry that only the tests of this folder use."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def facilitator(accounts):
    """Submits payments. It has nothing to do with buyers and sellers."""
    return accounts[12]


@pytest.fixture(scope="session")
def successor(accounts):
    """Gets nominated for a role, where a test does so."""
    return accounts[13]


@pytest.fixture(scope="session")
def seller_id(identity, owner):
    """The agent of the seller, whose wallet is its owner."""
    identity.register(sender=owner)
    return identity.getAgentCount()


@pytest.fixture(scope="session")
def buyers(accounts):
    """Accounts with money."""
    return [accounts[number] for number in (6, 7, 1, 3, 4, 9)]


@pytest.fixture(scope="session")
def funded(deployer, project, buyers, contract_wallet):
    """Deploys a token, and gives buyers money in it."""

    def funded(name, *arguments):
        token = deployer.deploy(getattr(project, name), *arguments)
        for buyer in (*buyers, contract_wallet):
            token.mint(buyer, FUNDS, sender=deployer)
        return token

    return funded


@pytest.fixture(scope="session")
def token(funded):
    return funded("MockPaymentToken")


@pytest.fixture(scope="session")
def registry(deployer, project, identity, token, attestor, anchorer, seller_id):
    return deployer.deploy(project.BuyerReputationRegistry, identity, [token], attestor, anchorer)


@pytest.fixture(scope="session")
def tier_verifier(deployer, project):
    """Semaphore's verifier."""
    return deployer.deploy(project.TierProofVerifier)


@pytest.fixture(scope="session")
def tier_proofs(deployer, project, registry, tier_verifier):
    return deployer.deploy(project.BuyerTierProofs, registry, tier_verifier)


@pytest.fixture(scope="session")
def signed(chain, token, owner):
    """Signs a payment to the seller, each with another nonce."""
    numbers = count(1)

    def signed(buyer, amount=CENT, payee=owner, token=token, **options):
        return sign_payment(token, chain.chain_id, buyer, payee.address, amount, next(numbers), **options)

    return signed


@pytest.fixture
def settle(registry, token, facilitator, signed):
    """Signs and settles a payment, and returns the receipt."""

    def settle(buyer, amount=CENT, *, in_parts=False, registry=registry, **options):
        payment = signed(buyer, amount, **options)
        arguments = payment.settled_in(options.get("token", token), in_parts=in_parts)
        return registry.settle(*arguments, sender=facilitator)

    return settle


@pytest.fixture
def attest(registry, attestor):
    """Records payments of a buyer on the chain of Base, a dollar each, and returns the receipt."""
    numbers = count(1)

    def attest(buyer, number=1, amount=1_000_000, paid_at=1_700_000_000):
        word = payment_word(buyer, amount, paid_at, 0)
        return registry.recordManyPayments(
            BASE_CHAIN, [(tx_hash(next(numbers)), word) for _ in range(number)], sender=attestor
        )

    return attest


@pytest.fixture
def sign(registry, chain):
    """Signs a credential with any key."""

    def sign(signer, credential, domain=None):
        values = dict(zip((field["name"] for field in CREDENTIAL_FIELDS), credential, strict=True))
        own = {
            "name": "BuyerReputationRegistry",
            "version": "1",
            "chainId": chain.chain_id,
            "verifyingContract": registry.address,
        } | (domain or {})
        return signer.sign_message(encode_typed_data(own, {"TierCredential": CREDENTIAL_FIELDS}, values)).encode_rsv()

    return sign
